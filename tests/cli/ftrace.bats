#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Texts of ftrace, trace-cmd and perf, and the relay files, through the program.
load lib.bash

FTRACE=$ROOT/tests/golden/ftrace
RELAY=$ROOT/tests/golden/relay
TEXTS="trace latency stacks stacks-addr trace_pipe trace-cmd perf-script"
SUMS='allocs frees untraced_frees bytes_requested bytes_allocated live_objects
	live_bytes_requested live_bytes_allocated'

D() {
	echo "$BATS_TEST_TMPDIR/$1"
}

# The same of both sides, one line for each call site: SITE and the sums.
of_model() {
	jq -r --arg keys "$SUMS" '($keys | [splits("\\s+")]) as $k | .sites | to_entries[] |
		[.key, .value[$k[]]] | @tsv' | LC_ALL=C sort
}

of_report() {
	jq -r --arg keys "$SUMS" '($keys | [splits("\\s+")]) as $k | .rows[] |
		[.site, .[$k[]]] | @tsv' | LC_ALL=C sort
}

@test "every text gives the books that the reference model keeps" {
	for name in $TEXTS; do
		python3 "$BATS_TEST_DIRNAME/ftrace_model.py" <"$FTRACE/$name.txt" >"$(D model)"
		"$KMT" stat --from "$FTRACE/$name.txt" --by site --limit 0 --format json >"$(D report)"
		[ "$(jq .totals.events "$(D model)")" -gt 50 ] || fail "$name has no events"
		for key in events null_frees frees_before_start lost_ring; do
			expect "$name: $key" "$(jq .quality.$key "$(D report)")" = \
				"$(jq .totals.$key "$(D model)")"
		done
		diff <(of_report <"$(D report)") <(of_model <"$(D model)") || fail "$name differs"
	done
}

@test "nothing of these texts is unreadable, and all are told apart" {
	for name in $TEXTS; do
		expect "$name" "$("$KMT" stat --from "$FTRACE/$name.txt" --format json |
			jq -r '[.quality.source, .quality.lost_input] | join(" ")')" = "ftrace 0"
	done
	for file in "$SAMPLES"/default-2008.txt "$SAMPLES"/table-2008.txt; do
		expect "$file" "$("$KMT" stat --from "$file" --format json | jq -r .quality.source)" = legacy
	done
	for file in "$RELAY"/?e/cpu?.out; do
		expect "$file" "$("$KMT" stat --from "$file" --format json | jq -r .quality.source)" = relay
	done
}

@test "hashed addresses are said to be hashes, in every format and in trace" {
	for name in trace latency stacks trace_pipe; do
		json=$("$KMT" stat --from "$FTRACE/$name.txt" --format json)
		expect "$name" "$(jq .quality.hashed_addresses <<<"$json")" = 1
		grep -q 'are hashes' <<<"$json" || fail "$name: no note"
		"$KMT" stat --from "$FTRACE/$name.txt" | grep -q 'are hashes'
		"$KMT" trace --from "$FTRACE/$name.txt" 2>&1 >/dev/null | grep -q 'are hashes'
	done
	for name in stacks-addr trace-cmd perf-script; do
		json=$("$KMT" stat --from "$FTRACE/$name.txt" --format json)
		expect "$name" "$(jq .quality.hashed_addresses <<<"$json")" = 0
		[ -z "$("$KMT" trace --from "$FTRACE/$name.txt" 2>&1 >/dev/null)" ]
	done
}

@test "every event has its stack, and each begins at its call site" {
	for name in stacks-addr perf-script; do
		"$KMT" trace --stacks --task --from "$FTRACE/$name.txt" >"$(D out)"
		# the line after an event is its call site, to the byte
		awk '/^type_id/ { if (want != "") bad++; split($0, w, " call_site "); split(w[2], v, " ptr ")
				  want = v[1]; n++; next }
		     want != "" { sub(/^\t=> /, ""); if ($0 != want) bad++; want = "" }
		     END { if (n < 50 || bad > 2) { print n, bad; exit 1 } }' "$(D out)" ||
			fail "$name: $(awk 'NR < 9' "$(D out)")"
	done
	# functions without offsets: all but the call site
	"$KMT" trace --stacks --from "$FTRACE/stacks.txt" 2>/dev/null >"$(D out)"
	grep -A2 -m1 'call_site __alloc_skb\|call_site getname' "$(D out)" >&2 || true
	expect "stacks" "$(grep -c '^type_id' "$(D out)")" = \
		"$(python3 "$BATS_TEST_DIRNAME/ftrace_model.py" <"$FTRACE/stacks.txt" | jq .totals.events)"
	lost=$("$KMT" stat --stacks --from "$FTRACE/stacks.txt" --format json | jq .quality.lost_stacks)
	expect "events without a stack" "$lost" -le 1	# the last may be cut off
}

@test "gfp flags are printed as they came in" {
	grep -o 'gfp_flags=[^ ]*' "$FTRACE/trace.txt" | cut -d= -f2 >"$(D want)"
	"$KMT" trace --gfp --from "$FTRACE/trace.txt" 2>/dev/null | grep -o ' gfp [^ ]*$' |
		cut -d' ' -f3 >"$(D got)"
	cmp "$(D want)" "$(D got)"
	"$KMT" stat --from "$FTRACE/trace.txt" --format json --limit 0 |
		jq -e 'any(.rows[]; .gfp == "GFP_KERNEL") and all(.rows[]; .gfp | test("^(GFP|__GFP|none)"))'
}

@test "a text becomes kmemtrace's own and gives the same books" {
	"$KMT" trace --time --task --cache --from "$FTRACE/trace.txt" 2>/dev/null >"$(D own)"
	one=$("$KMT" stat --by site --limit 0 --from "$FTRACE/trace.txt" --format json | of_report)
	two=$("$KMT" stat --by site --limit 0 --from "$(D own)" --format json | of_report)
	expect books "$one" = "$two"
}

@test "a pipe that is slow, and one that ends anywhere" {
	expect events "$({ head -c 1000 "$FTRACE/trace.txt"; sleep 0.3; tail -c +1001 "$FTRACE/trace.txt"; } |
		"$KMT" stat --from - --format json | jq .quality.events)" = \
		"$("$KMT" stat --from "$FTRACE/trace.txt" --format json | jq .quality.events)"
	for n in 5000 5001 5002 5017 5100 5200; do
		head -c $n "$FTRACE/stacks.txt" | "$KMT" stat --stacks --from - --format json |
			jq -e '.quality.events > 0 and .quality.lost_input <= 1' >/dev/null
	done
}

@test "what cannot be read is one line, or counted with its place" {
	printf '# tracer: nop\n#\nwhat is this\nand this\n' >"$(D bad)"
	"$KMT" stat --from "$(D bad)" --format json >"$(D out)"
	expect lost "$(jq .quality.lost_input "$(D out)")" = 2
	jq -r '.notes[]' "$(D out)" | grep -q 'first line 3: no event'
	refused 4 "no format" stat --from <(head -c 5000 /dev/urandom)
	head -c 100 "$RELAY/le/cpu0.out" >"$(D cpu0)"
	expect cut "$("$KMT" stat --from "$(D cpu0)" --format json |
		jq -c '[.quality.events, .quality.lost_input]')" = "[2,1]"
}

@test "relay files are merged and their gap is counted" {
	# by hand from make.py's table: 2 objects of 10 and 50 bytes stay
	for order in le be; do
		for cpu in 0 1; do
			expect "$order/cpu$cpu" "$("$KMT" stat --from "$RELAY/$order/cpu$cpu.out" --format json |
				jq -c '[.summary.allocs, .summary.frees, .summary.failures,
					.summary.live_objects, .summary.live_bytes_requested,
					.summary.live_bytes_allocated, .quality.lost_ring,
					.quality.null_frees, .quality.frees_before_start]')" = \
				"[4,2,1,2,60,80,1,1,1]"
		done
	done
	python3 "$RELAY/make.py" "$(D relay)"
	diff -r "$(D relay)" "$RELAY" -x make.py -x README.md
	"$KMT" trace --from "$RELAY/be/cpu0.out" --kallsyms "$KALLSYMS" --format table --no-header |
		grep -q '^  +      K     10     16   000000d0   0x1000     -1   file_free_rcu'
}
