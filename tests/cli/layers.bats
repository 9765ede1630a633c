#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Pages, per-CPU memory and vmalloc areas in other tools' recordings, against what
# perf, trace-cmd and the kernel printed of them, counted by a small model.
load lib.bash

GOLDEN=$ROOT/tests/golden
SYMS=$GOLDEN/perf_data/layers.kallsyms
# what kmemtrace reads, and what the model reads
PAIRS="perf_data/layers.data:perf_data/layers.txt
	perf_data/layers.txt:perf_data/layers.txt
	ftrace/layers.txt:ftrace/layers.txt
	trace_dat/v7-layers.dat:report
	report:report"
TRACERS="2:page 3:percpu 4:vmalloc"

D() {
	echo "$BATS_TEST_TMPDIR/$1"
}

model() {
	python3 "$ROOT/tests/cli/layers_model.py" "$@"
}

setup() {
	trace-cmd report -t -i "$GOLDEN/trace_dat/v7-layers.dat" >"$(D report)" 2>/dev/null
	for name in perf_data ftrace trace_dat; do
		ln -s "$GOLDEN/$name" "$(D $name)"
	done
}

# each COMMAND: COMMAND INPUT TEXT TYPE TRACER for all that there is to compare
each() {
	for pair in $PAIRS; do
		for tracer in $TRACERS; do
			"$1" "$(D "${pair%:*}")" "$(D "${pair#*:}")" "${tracer%:*}" "${tracer#*:}"
		done
	done
}

# The recording's own symbols; perf.data has none.
syms() {
	[[ $1 != *.data ]] || echo "--kallsyms=$SYMS"
}

user() {
	[ "$1" != page ] || echo --user-pages
}

stat() {
	# shellcheck disable=SC2046 # no words is what is meant
	"$KMT" stat --from "$1" --tracer "$2" $(user "$2") $(syms "$1") --by "$3" --limit 0 \
		--format json 2>"$(D err)"
}

same_events() {
	model events "$3" <"$2" >"$(D want)"
	[ "$(wc -l <"$(D want)")" -ge 4 ] || fail "$1: no events of $4"
	# shellcheck disable=SC2046
	"$KMT" trace --from "$1" --tracer "$4" $(user "$4") 2>"$(D err)" | model ours >"$(D got)"
	diff "$(D want)" "$(D got)" >&2 || fail "$1: $4"
	expect "unreadable of $1" "$(stat "$1" "$4" site | jq .quality.lost_input)" = 0
}

@test "every event: address and bytes, in the same order" {
	each same_events
}

same_sites() {
	model sites "$3" <"$2" >"$(D want)"
	stat "$1" "$4" site | jq -r '[.rows[] | select(.allocs > 0) |
		{site: .site | split("+")[0], allocs, bytes_allocated}] | group_by(.site)[] |
		"\(.[0].site) \(map(.allocs) | add) \(map(.bytes_allocated) | add)"' |
		LC_ALL=C sort >"$(D got)"
	diff <(LC_ALL=C sort "$(D want)") "$(D got)" >&2 || fail "$1: $4"
}

@test "call sites, behind the allocator's frames" {
	each same_sites
}

@test "pages by order and migratetype" {
	for pair in $PAIRS; do
		model orders 2 <"$(D "${pair#*:}")" >"$(D want)"
		stat "$(D "${pair%:*}")" page page | jq -r '[.rows[] | select(.allocs > 0)] |
			group_by([.order, .migratetype])[] | "\(.[0].order) \(.[0].migratetype) " +
			"\(map(.allocs) | add) \(map(.bytes_allocated) | add)"' |
			LC_ALL=C sort >"$(D got)"
		diff <(LC_ALL=C sort "$(D want)") "$(D got)" >&2 || fail "${pair%:*}"
	done
}

@test "user pages are what may be moved, and are left out unless asked for" {
	for pair in $PAIRS; do
		text=$(D "${pair#*:}")
		want=$(grep 'mm_page_alloc:' "$text" | grep -vc 'MOVABLE')
		[ "$want" -lt "$(grep -c 'mm_page_alloc:' "$text")" ] || fail "no user pages in $text"
		got=$("$KMT" stat --from "$(D "${pair%:*}")" --tracer page --format json 2>/dev/null |
			jq .summary.allocs)
		expect "${pair%:*}" "$got" = "$want"
	done
}

@test "user pages of a recording: in report, in diff, and in what is made of it" {
	for pair in $PAIRS; do
		file=$(D "${pair%:*}")
		want=$(grep -c 'mm_page_alloc:' "$(D "${pair#*:}")")
		# shellcheck disable=SC2046
		expect report "$("$KMT" report "$file" --tracer page --user-pages $(syms "$file") \
			--format json 2>/dev/null | jq .summary.allocs)" = "$want"
		expect diff "$("$KMT" diff "$file" "$file" --tracer page --user-pages --limit 0 $(syms "$file") \
			--format json 2>/dev/null | jq '[.rows[].allocs_a] | add')" = "$want"
		# shellcheck disable=SC2046
		"$KMT" convert "$file" --tracer page --user-pages -f -o "$(D new.kmt)" $(syms "$file") 2>/dev/null
		expect converted "$("$KMT" report "$(D new.kmt)" --tracer page --format json |
			jq .summary.allocs)" = "$want"
	done
	refused 2 "belongs to --tracer page" report "$file" --user-pages
}

@test "trace of all layers: each allocation as where its layer is named" {
	for pair in $PAIRS; do
		file=$(D "${pair%:*}")
		# shellcheck disable=SC2046
		"$KMT" trace --from "$file" $(syms "$file") --format table --no-header >"$(D all)" 2>/dev/null
		for letter in P:page U:percpu V:vmalloc; do
			# shellcheck disable=SC2046
			"$KMT" trace --from "$file" $(syms "$file") --tracer "${letter#*:}" \
				$(user "${letter#*:}") --format table --no-header 2>/dev/null |
				grep "^  +" >"$(D want)"
			diff "$(D want)" <(grep "^  +  *${letter%:*} " "$(D all)") >&2 || fail "$pair $letter"
		done
	done
}

@test "slab alone: nothing of the other layers, and a word about them" {
	for pair in $PAIRS; do
		kmt stat --from "$(D "${pair%:*}")" --format json
		expect "${pair%:*}" "$(jq .quality.events <<<"$output")" = 0
		[[ $stderr == *"of other layers: see --tracer page,percpu,vmalloc"* ]] ||
			fail "${pair%:*}: $stderr"
	done
}
