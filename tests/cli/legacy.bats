#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# The original's texts through the program: byte for byte, and into each other.
load lib.bash

D() {
	echo "$BATS_TEST_TMPDIR/$1"
}

# The table as the original printed it: its header, then the lines.
whole_table() {
	cat "$SAMPLES/table-header-2008.txt" "$SAMPLES/table-2008.txt"
}

@test "default text comes out as it went in" {
	"$KMT" trace --from "$SAMPLE" >"$(D out)"
	cmp "$(D out)" "$SAMPLE"
	"$KMT" trace --from "$SAMPLE" --kallsyms "$KALLSYMS" >"$(D out)"
	cmp "$(D out)" "$SAMPLE"
}

@test "the table comes out as it went in, with its header" {
	for name in table kmem_minimalistic kmem_alternative; do
		"$KMT" trace --from "$SAMPLES/table-2008.txt" --format $name >"$(D out)"
		cmp "$(D out)" <(whole_table)
		"$KMT" trace --from <(whole_table) --format $name >"$(D out)"
		cmp "$(D out)" <(whole_table)
	done
	"$KMT" trace --from "$SAMPLES/table-2008.txt" --format table --no-header >"$(D out)"
	cmp "$(D out)" "$SAMPLES/table-2008.txt"
}

@test "default text becomes the table" {
	n=$(wc -l <"$SAMPLE")
	"$KMT" trace --from "$SAMPLE" --kallsyms "$KALLSYMS" --format table --no-header >"$(D out)"
	cmp "$(D out)" <(head -n "$n" "$SAMPLES/table-2008.txt")
}

@test "the table becomes default text and the table again" {
	"$KMT" trace --from "$SAMPLES/table-2008.txt" >"$(D default)"
	"$KMT" trace --from "$(D default)" --format table --no-header >"$(D out)"
	cmp "$(D out)" "$SAMPLES/table-2008.txt"
	"$KMT" trace --from "$SAMPLES/table-2008.txt" --kallsyms "$KALLSYMS" |
		"$KMT" trace --from - --kallsyms "$KALLSYMS" --format table --no-header >"$(D out)"
	cmp "$(D out)" "$SAMPLES/table-2008.txt"
	# but for its call sites, which are only functions in a table, it is the sample
	cmp <(sed 's/call_site [^ ]*//' "$(D default)" | head -n "$(wc -l <"$SAMPLE")") \
		<(sed 's/call_site [^ ]*//' "$SAMPLE")
}

@test "a file and a pipe are the same" {
	cmp <("$KMT" trace --from - <"$SAMPLE") "$SAMPLE"
	# shellcheck disable=SC2002 # a pipe is what is tested
	cmp <(cat "$SAMPLE" | "$KMT" trace --from -) "$SAMPLE"
	cmp <(cat "$SAMPLE" | "$KMT" stat --from - --format json) <("$KMT" stat --from "$SAMPLE" --format json)
	cmp <({ head -c 100 "$SAMPLE"; sleep 0.3; tail -c +101 "$SAMPLE"; } | "$KMT" trace --from -) "$SAMPLE"
}

@test "both forms give the same statistics" {
	"$KMT" trace --from "$SAMPLE" --kallsyms "$KALLSYMS" --format table >"$(D table)"
	one=$("$KMT" stat --from "$SAMPLE" --kallsyms "$KALLSYMS" --format json | jq -S .summary)
	two=$("$KMT" stat --from "$(D table)" --kallsyms "$KALLSYMS" --format json | jq -S .summary)
	expect summary "$one" = "$two"
}

@test "gfp names of 2008 come as the last column" {
	"$KMT" trace --from "$SAMPLE" --gfp >"$(D out)"
	# 0xd0 was __GFP_WAIT | __GFP_IO | __GFP_FS, which is GFP_KERNEL
	expect lines "$(grep -c 'node -1 gfp GFP_KERNEL$' "$(D out)")" = 9
	"$KMT" trace --from "$SAMPLE" --gfp --format table --no-header >"$(D out)"
	expect lines "$(grep -c '   GFP_KERNEL$' "$(D out)")" = 9
	# nothing before it has moved
	cmp <(sed 's/ gfp [A-Z_|]*$//' <("$KMT" trace --from "$SAMPLE" --gfp)) "$SAMPLE"
}

@test "--limit, --filter" {
	cmp <("$KMT" trace --from "$SAMPLE" --limit 4) <(head -n 4 "$SAMPLE")
	# the frees of an object follow its allocation, whoever frees it
	"$KMT" trace --from "$SAMPLE" --kallsyms "$KALLSYMS" --filter site=getname >"$(D out)"
	expect allocations "$(grep -c bytes_req "$(D out)")" = 5
	expect lines "$(wc -l <"$(D out)")" = 10
	"$KMT" trace --from "$SAMPLE" --filter size=1304 >"$(D out)"
	expect lines "$(wc -l <"$(D out)")" = 1
}

@test "what cannot be read at all: status 4, one line" {
	: >"$(D empty)"
	head -c 100000 /dev/urandom >"$(D noise)"
	printf 'hello\nworld\n' >"$(D words)"
	for command in stat trace; do
		refused 4 "No such file" $command --from "$(D none)"
		refused 4 "is empty" $command --from "$(D empty)"
		refused 4 "Is a directory" $command --from "$BATS_TEST_TMPDIR"
		refused 4 "no format" $command --from "$(D noise)"
		refused 4 "no format" $command --from "$(D words)"
		refused 4 "neither a file nor a pipe" $command --from /dev/null
		refused 4 "No such file" $command --from "$SAMPLE" --kallsyms "$(D none)"
	done
}

@test "bad lines in between are counted, not fatal" {
	{ head -n 3 "$SAMPLE"; echo "type_id zero"; head -c 70000 /dev/zero | tr '\0' x; echo; tail -n +4 "$SAMPLE"; } >"$(D mixed)"
	"$KMT" trace --from "$(D mixed)" >"$(D out)" 2>"$(D err)"
	cmp <(grep -v '^#' "$(D out)") "$SAMPLE"
	grep -q '^# overflow: events lost' "$(D out)" || fail "no word about the loss in its place"
}
