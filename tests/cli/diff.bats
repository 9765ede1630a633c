#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# 'diff' and 'check' on recordings whose numbers are known because they are made here.
load lib.bash

D() {
	echo "$BATS_TEST_TMPDIR/$1"
}

# objects SITE FIRST COUNT BYTES_REQ BYTES_ALLOC SECONDS: one every so many seconds.
objects() {
	local i

	for ((i = 0; i < $3; i++)); do
		echo "type_id 0 call_site $1 ptr $((1048576 * $2 + i * 4096)) bytes_req $4" \
			"bytes_alloc $5 gfp_flags 208 node -1 time $((1 + i * $6)).000000000 cpu 0"
	done
}

# A: 10 of 128 bytes by 0x1000, 5 of 64 by 0x2000. B: 14 and none, and 2 of 4096 by 0x3000.
setup() {
	{ objects 4096 1 10 100 128 1; objects 8192 2 5 64 64 1; } >"$(D a)"
	{ objects 4096 1 14 100 128 1; objects 12288 3 2 2049 4096 13; } >"$(D b)"
}

json() {
	"$KMT" "$@" --format json
}

@test "diff: new, gone and changed rows, with their differences" {
	json diff "$(D a)" "$(D b)" >"$(D out)"
	expect rows "$(jq -c '.rows[] | [.site, .status, .live_bytes_allocated_a,
		.live_bytes_allocated_b, .live_bytes_allocated_delta, .live_objects_delta]' \
		"$(D out)" | tr '\n' ' ')" = \
'["0x3000","new",0,8192,8192,2] ["0x1000","changed",1280,1792,512,4] ["0x2000","gone",320,0,-320,-5] '
	expect percent "$(jq '.rows[1].live_percent' "$(D out)")" = 40
	expect view "$(jq -r '.command + " " + .view' "$(D out)")" = "diff site"
	expect 'events of A' "$(jq .quality.events_a "$(D out)")" = 15
	expect 'events of B' "$(jq .quality.events_b "$(D out)")" = 16
}

# 9 seconds against 13: only what happens per second compares.
@test "diff: rates where the lengths differ" {
	json diff "$(D a)" "$(D b)" >"$(D out)"
	expect rate "$(jq -c '.rows[1] | [.allocs_per_s_a, .allocs_per_s_b]' "$(D out)")" = '[1,1]'
	expect growth "$(jq -c '.rows[1] | [.growth_bytes_per_s_a, .growth_bytes_per_s_b]' \
		"$(D out)")" = '[142,137]'
	"$KMT" diff "$(D a)" "$(D b)" | grep -q 'ALLOCS/S B-A' || fail "no rates shown"
	"$KMT" diff "$(D a)" "$(D a)" | grep -q 'ALLOCS B-A' || fail "no counts shown"
	! "$KMT" diff "$(D a)" "$(D a)" | grep -q '/S B-A' || fail "rates shown"
}

@test "diff: a recording with itself has no difference" {
	for by in site cache site,cache stack; do
		json diff "$(D a)" "$(D a)" --by "$by" >"$(D out)"
		expect "status by $by" "$(jq -r '[.rows[].status] | unique | join(" ")' "$(D out)")" = same
		expect "sum by $by" "$(jq '[.rows[].live_bytes_allocated_delta] | add' "$(D out)")" = 0
	done
}

@test "diff: filters, sorting, limits, columns, formats, 80 columns" {
	expect filtered "$(json diff "$(D a)" "$(D b)" --filter size=100 | jq -r '.rows[].site')" = 0x1000
	expect rows "$(json diff "$(D a)" "$(D b)" --filter live_objects_delta'<0' |
		jq -r '.rows[].site')" = 0x2000
	expect sorted "$(json diff "$(D a)" "$(D b)" --sort allocs_b --limit 1 |
		jq -r '.rows[].site')" = 0x1000
	expect columns "$("$KMT" diff "$(D a)" "$(D b)" --columns site,status --format csv |
		head -n 2 | tail -n 1 | cut -d, -f1-2)" = 0x3000,new
	expect header "$("$KMT" diff "$(D a)" "$(D b)" --format csv | head -n 1 | tr -d '\r' |
		tr , '\n' | sort | uniq -d)" = ""
	"$KMT" diff "$(D a)" "$(D b)" | awk 'length > 80 { print; bad = 1 } END { exit bad }'
}

@test "diff: what is wrong with either recording is told" {
	head -c 20 /dev/urandom >"$(D garbage)"
	refused 4 garbage diff "$(D a)" "$(D garbage)"
	refused 4 garbage diff "$(D garbage)" "$(D a)"
	refused 4 nosuch diff "$(D a)" "$(D nosuch)"
	refused 2 "two recordings" diff "$(D a)"
	refused 2 "no argument" diff "$(D a)" "$(D a)" "$(D a)"
	refused 2 "standard input" diff - -
	refused 2 "--by must be" diff "$(D a)" "$(D a)" --by nope
	refused 2 "unknown column" diff "$(D a)" "$(D b)" --sort nope
	expect stdin "$(json diff - "$(D b)" <"$(D a)" | jq '.rows | length')" = 3
}

# Of A: 15 objects, 1280 + 320 bytes live of which 280 + 0 are waste: 17.5 %; nine
# seconds; older than 6.5 s at the end: three of each site, 3 * 128 + 3 * 64 bytes.
@test "check: limits that hold and limits that do not" {
	kmt check "$(D a)" --max-live 1600 --max-waste 17.5% --max-peak 1600 --max-growth 177 \
		--max-surviving 1M --max-failures 0 --max-lost 0 --max-untraced 0
	expect status "$status" = 0
	[ -z "$stderr" ] || fail "said: $stderr"
	for limit in live=1599 waste=17.4 peak=1599 growth=176 surviving=575; do
		kmt check "$(D a)" --min-age 6.5s "--max-$limit" --max-lost 0
		expect "status of $limit" "$status" = 1
		expect "lines of $limit" "${#stderr_lines[@]}" = 1
		[[ $stderr == *"(--max-${limit%=*})"* ]] || fail "said: $stderr"
	done
	kmt check "$(D a)" --min-age 6.5s --max-surviving 576
	expect survivors "$status" = 0
}

@test "check: the answer as JSON, and who it was" {
	run --separate-stderr "$KMT" check "$(D a)" --max-live 1K --max-failures 0 --format json
	expect status "$status" = 1
	expect rows "$(jq -c '.rows[] | [.check, .verdict, .value, .limit, .unit]' <<<"$output" |
		tr '\n' ' ')" = '["live","broken",1600,1024,"bytes"] ["failures","ok",0,0,"count"] '
	[[ $(jq -r '.notes[]' <<<"$output") == "live, most of it: 0x1000 1.3 KiB, 0x2000 320 B" ]]
	kmt check "$(D a)" --max-live 1K --quiet
	[ -z "$output" ] || fail "printed: $output"
}

@test "check: what cannot be" {
	refused 2 "needs a limit" check "$(D a)"
	refused 2 "--max-live" check "$(D a)" --max-live much
	refused 2 "needs a FILE" check --max-live 1
	refused 2 "not both" check "$(D a)" --live --max-live 1
	refused 2 "only with --live" check "$(D a)" --max-live 1 -- true
	refused 2 "condition on the rows" check "$(D a)" --max-live 1 --filter 'allocs>1'
	refused 4 "nosuch" check "$(D nosuch)" --max-live 1
	{ cat "$(D a)"; echo "type_id 0 nonsense"; } >"$(D bad)"
	kmt check "$(D bad)" --max-live 1G --max-lost 0
	expect 'status of a damaged file' "$status" = 1
	[[ $stderr == *"lost 1 is more than 0"* ]] || fail "said: $stderr"
}

@test "diff: of one layer, and a full output is no fault of the input" {
	refused 2 "there is no tracer 'nosuch'" diff --tracer nosuch "$(D a)" "$(D b)"
	refused 2 "are several" diff --tracer slab,page "$(D a)" "$(D b)"
	# the type of a page event is 2: eight of them, four in the other
	{ objects 4096 1 8 4096 4096 1 | sed 's/type_id 0/type_id 2/'; cat "$(D a)"; } >"$(D pa)"
	{ objects 4096 1 4 4096 4096 1 | sed 's/type_id 0/type_id 2/'; cat "$(D a)"; } >"$(D pb)"
	expect pages "$("$KMT" diff --tracer page "$(D pa)" "$(D pb)" --format json 2>/dev/null |
		jq -c '[.rows[].live_objects_delta]')" = '[-4]'
	run --separate-stderr bash -c '"$0" diff "$1" "$1" >/dev/full' "$KMT" "$(D a)"
	expect status "$status" = 3
	[[ $stderr == *"No space left"* ]] || fail "said '$stderr'"
}
