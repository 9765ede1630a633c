#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Any recording becomes a .kmt file that says the same.
load lib.bash

setup() { cd "$BATS_TEST_TMPDIR"; }

# What a recording says, without what may differ: its own source and format.
says() {
	"$KMT" stat --from "$1" --by "$2" --limit 0 --format json |
		jq -S 'del(.quality.source, .command)'
}

@test "the original's texts: the books are the same before and after" {
	for form in default table; do
		kmt convert "$SAMPLES/$form-2008.txt" -o "$form.kmt"
		expect "status of $form" "$status" = 0
		expect "lines on standard error" "${#stderr_lines[@]}" = 1
		for view in site,cache free-site object; do
			expect "$view of $form" "$(says "$form.kmt" $view)" = \
				"$(says "$SAMPLES/$form-2008.txt" $view)"
		done
	done
}

@test "the events come back as the text they were" {
	kmt convert "$SAMPLE" -o a.kmt
	expect "events" "$("$KMT" trace --from a.kmt 2>/dev/null)" = \
		"$("$KMT" trace --from "$SAMPLE" 2>/dev/null)"
	# the line at the end counts the lines of the text that are events
	expect told "${stderr_lines[0]%% events*}" = "kmemtrace: $(grep -c '^type_id' "$SAMPLE")"
}

# Every format, whole and with only the symbols in use: all views say the same.
@test "goldens of every format: the same answers after convert and convert --trim" {
	for file in "$ROOT"/tests/golden/{trace_dat/*.dat,perf_data/*.data,ftrace/*.txt,relay/le/cpu0.out}; do
		"$KMT" convert "$file" -f -o a.kmt 2>/dev/null || fail "$file"
		"$KMT" convert "$file" -f -o b.kmt --trim 2>/dev/null || fail "$file with --trim"
		# a recording names caches that the first reading leaves unknown, and
		# frames that the text gives no offset stand one byte behind the start
		q='(.summary | del(.sites)), (.quality | del(.source)), (.rows | sort_by(.site, .stack)[] |
			[.site, .stack, .allocs, .frees, .live_bytes_requested, .lifetimes_log2])'
		"$KMT" report "$file" site --stacks --limit 0 --format json | jq -S "$q" | sed "s/+0x1\"/\"/" >want
		for made in a.kmt b.kmt; do
			"$KMT" report $made site --stacks --limit 0 --format json | jq -S "$q" | sed "s/+0x1\"/\"/" >is
			diff want is >&2 || fail "$file, $made"
		done
	done
}

@test "--trim: smaller, and not from a pipe" {
	"$KMT" convert "$SAMPLE" -f -o a.kmt --kallsyms /proc/kallsyms 2>/dev/null || skip "no kallsyms"
	"$KMT" convert "$SAMPLE" -f -o b.kmt --kallsyms /proc/kallsyms --trim 2>/dev/null
	expect size "$(stat -c %s b.kmt)" -lt "$(($(stat -c %s a.kmt) / 10))"
	refused 2 "not a pipe" convert - -o c.kmt --trim
}

@test "options before and after IN, and names that look like options" {
	cp "$SAMPLE" ./-in
	kmt convert -o a.kmt -- -in
	expect status "$status" = 0
	kmt convert "$SAMPLE" --force --output a.kmt
	expect status "$status" = 0
	kmt convert --output b.kmt "$SAMPLE"
	expect status "$status" = 0
	expect "the same bytes" "$(cmp a.kmt b.kmt 2>&1)" = ""
}

@test "from standard input, to standard output" {
	"$KMT" convert - -o - <"$SAMPLE" >a.kmt 2>/dev/null
	"$KMT" convert "$SAMPLE" -o b.kmt 2>/dev/null
	cat "$SAMPLE" | "$KMT" convert - -o c.kmt 2>/dev/null
	expect "books" "$(says a.kmt site)" = "$(says b.kmt site)"
	expect "books" "$(says c.kmt site)" = "$(says b.kmt site)"
}

@test "a .kmt into a .kmt: the same again, also its source" {
	"$KMT" convert "$SAMPLE" -o a.kmt 2>/dev/null
	kmt convert a.kmt -o b.kmt
	expect status "$status" = 0
	for view in site,cache free-site object; do
		expect "$view" "$("$KMT" stat --from b.kmt --by $view --limit 0 --format json)" = \
			"$("$KMT" stat --from a.kmt --by $view --limit 0 --format json)"
	done
}

@test "--filter: only what passes" {
	# whoever the first allocation's caller is
	local all some
	"$KMT" convert --filter 'size>=4096' "$SAMPLE" -o a.kmt 2>/dev/null
	some=$("$KMT" stat --from a.kmt --format json | jq .summary.allocs)
	all=$(grep -c bytes_req "$SAMPLE")
	expect "allocations of 4096 bytes and more" "$some" = \
		"$(awk '/bytes_req/ { for (i = 1; i < NF; i++) if ($i == "bytes_req" && $(i + 1) >= 4096) n++ } END { print n + 0 }' "$SAMPLE")"
	expect "which are not all" "$some" -lt "$all"
	"$KMT" convert "$SAMPLE" -o b.kmt 2>/dev/null
	"$KMT" convert --filter 'size>=4096' b.kmt -o c.kmt 2>/dev/null
	expect "from a .kmt" "$("$KMT" stat --from c.kmt --format json | jq .summary.allocs)" = "$some"
	refused 2 "condition on the rows" convert "$SAMPLE" -o d.kmt --filter 'allocs>=1'
	[ ! -e d.kmt ] || fail "a file was left"
}

@test "--kallsyms: names for an input that has none" {
	"$KMT" convert --kallsyms "$KALLSYMS" "$SAMPLE" -o a.kmt 2>/dev/null
	expect "sites" "$("$KMT" stat --from a.kmt --format csv --columns site)" = \
		"$("$KMT" stat --from "$SAMPLE" --kallsyms "$KALLSYMS" --format csv --columns site)"
	refused 4 "cannot open" convert --kallsyms none "$SAMPLE" -o b.kmt
}

@test "losses are carried over; --strict: status 5" {
	{ cat "$SAMPLE"; echo "type_id 0 call_site nonsense ptr"; } >torn.txt
	kmt convert torn.txt -o a.kmt
	expect status "$status" = 0
	expect lost "$("$KMT" stat --from a.kmt --format json | jq .quality.lost_input)" = \
		"$("$KMT" stat --from torn.txt --format json | jq .quality.lost_input)"
	kmt convert --strict --force torn.txt -o a.kmt
	expect status "$status" = 5
}

@test "bad input: status 4, one line, and no file" {
	: >empty
	echo nothing of ours >text
	for in in empty text none .; do
		refused 4 "'$in'" convert "$in" -o a.kmt
		[ ! -e a.kmt ] || fail "a file was left for '$in'"
	done
}

@test "an input that is cut: what can be read is converted" {
	"$KMT" convert "$SAMPLE" -o a.kmt 2>/dev/null
	local size
	size=$(stat -c %s a.kmt)
	head -c $((size - 10)) a.kmt >cut.kmt
	kmt convert cut.kmt -o b.kmt
	expect "events" "$("$KMT" trace --from b.kmt 2>/dev/null | grep -c '^type_id')" = \
		"$("$KMT" trace --from cut.kmt 2>/dev/null | grep -c '^type_id')"
}

@test "outputs that cannot be" {
	echo precious >a.kmt
	refused 3 "exists already" convert "$SAMPLE" -o a.kmt
	expect content "$(cat a.kmt)" = precious
	refused 3 "Is a directory" convert "$SAMPLE" -o .
	refused 3 "No such file" convert "$SAMPLE" -o none/a.kmt
	refused 2 "needs --output" convert "$SAMPLE"
	refused 2 "needs an IN file" convert -o b.kmt
	refused 2 "takes no argument 'more'" convert "$SAMPLE" more -o b.kmt
	"$KMT" convert "$SAMPLE" -o in.kmt 2>/dev/null
	refused 2 "is the input too" convert in.kmt -f -o ./in.kmt
	[ -c /dev/full ] || return 0
	refused 3 "No space left" convert "$SAMPLE" -f -o /dev/full
}

@test "a closed standard output; a reader that went away" {
	run --separate-stderr bash -c '"$0" convert "$1" -o - >&-' "$KMT" "$SAMPLE"
	expect status "$status" = 3
	expect "lines on standard error" "${#stderr_lines[@]}" = 1
	local status_of
	status_of=$("$KMT" convert "$SAMPLE" -o - 2>err | true; echo "${PIPESTATUS[0]}")
	expect "exit status" "$status_of" = 0
}

@test "--max-size: an end like any other" {
	for _ in {1..60}; do cat "$SAMPLE"; done >many.txt
	refused 2 "--max-size must be" convert many.txt -o a.kmt --max-size 1K
	kmt convert many.txt -o a.kmt --max-size 64K
	expect status "$status" = 0
	expect size "$(stat -c %s a.kmt)" -le 65536
}

@test "a limit on the size of files is told, and is not the end by a signal" {
	local i

	for ((i = 0; i < 20000; i++)); do
		echo "type_id 0 call_site $((4096 + i * 7919 % 65536)) ptr $((1048576 + i * 64))" \
			"bytes_req $((i * 31 % 64)) bytes_alloc 64 gfp_flags 208 node -1"
	done >"$BATS_TEST_TMPDIR/many"
	run --separate-stderr bash -c 'ulimit -f 8; "$0" convert "$1" -o "$2"' "$KMT" \
		"$BATS_TEST_TMPDIR/many" "$BATS_TEST_TMPDIR/cut.kmt"
	expect status "$status" = 3
	[[ $stderr == *"File too large"* ]] || fail "said '$stderr'"
}
