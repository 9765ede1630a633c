#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Recordings of perf, against what perf itself printed of them.
load lib.bash

GOLDEN=$ROOT/tests/golden/perf_data
RECORDINGS="file pipe stacks compressed kmem lost"

D() {
	echo "$BATS_TEST_TMPDIR/$1"
}

# What perf has no word for: numbers of gfp flags, guessed caches, our lines about losses.
plain() {
	sed -E -e 's/ gfp_flags [0-9]+//' -e '/^type_id 0/s/ cache [^ ]+//' -e '/^# overflow/d'
}

perf_says() {
	python3 "$ROOT/tests/cli/perf_script.py" "$@"
}

traced() {
	"$KMT" trace --from "$1" --time --task --cache --gfp --stacks | plain
}

@test "every event as perf printed it, in the same order" {
	for name in $RECORDINGS; do
		perf_says events "$GOLDEN/$name.txt" >"$(D want)"
		[ "$(wc -l <"$(D want)")" -gt 90 ] || fail "$name: no events to compare with"
		traced "$GOLDEN/$name.data" >"$(D got)"
		diff "$(D want)" "$(D got)" | head -n 20 >&2
		cmp "$(D want)" "$(D got)"
	done
}

@test "the same counts, in sum and by call site" {
	for name in $RECORDINGS; do
		want=$(perf_says counts "$GOLDEN/$name.txt" | jq -cS .)
		got=$("$KMT" stat --from "$GOLDEN/$name.data" --by site --limit 100000 --format json |
			jq -cS '{allocs: .summary.allocs,
				frees: (.summary.frees + .quality.frees_before_start),
				null_frees: .quality.null_frees,
				sites: ([.rows[] | select(.allocs > 0) | {key: .site,
					value: [.allocs, .bytes_requested, .bytes_allocated]}] |
					from_entries)}')
		expect "$name" "$got" = "$want"
	done
}

@test "what the recording says about its machine" {
	kmt stat --from "$GOLDEN/stacks.data" --format json
	jq -e '.quality | .source == "perf_data" and .mode == "streamed" and
		.kernel == "6.18.44-fc-v782" and .lost_total == 0' <<<"$output"
}

@test "losses: all that perf's counters say" {
	# perf report --stats: LOST_SAMPLES of the two events; see README.md
	want=$(sed -n 's/.*lost.data.: \([0-9]*\) lost.*/\1/p' "$GOLDEN/README.md")
	kmt stat --from "$GOLDEN/lost.data" --format json
	expect lost "$(jq .quality.lost_ring <<<"$output")" = "$want"
	kmt trace --from "$GOLDEN/lost.data"
	[[ $output == *"# overflow"* ]] || fail "no word about the loss in its place"
}

@test "pipe mode through a pipe, file mode only from a file" {
	cmp <("$KMT" trace --from - <"$GOLDEN/pipe.data") <("$KMT" trace --from "$GOLDEN/pipe.data")
	# shellcheck disable=SC2002 # a pipe is what is tested
	cmp <(cat "$GOLDEN/pipe.data" | "$KMT" trace --from -) \
		<("$KMT" trace --from "$GOLDEN/pipe.data")
	cmp <("$KMT" trace --from - <"$GOLDEN/file.data") <("$KMT" trace --from "$GOLDEN/file.data")
	mkfifo "$(D fifo)"
	cat "$GOLDEN/file.data" >"$(D fifo)" 2>/dev/null &
	refused 4 "not from a pipe" trace --from "$(D fifo)"
	wait
}

@test "the other byte order" {
	for name in $RECORDINGS; do
		[ "$name" != compressed ] || continue	# what is inside would have to be swapped too
		python3 "$ROOT/tests/cli/perf_swap.py" "$GOLDEN/$name.data" "$(D swapped)"
		cmp <(traced "$(D swapped)") <(traced "$GOLDEN/$name.data")
	done
}

@test "filters, with names from a kallsyms file" {
	site=$(perf_says counts "$GOLDEN/file.txt" | jq -r '.sites | to_entries | max_by(.value[0]).key')
	n=$(perf_says counts "$GOLDEN/file.txt" | jq ".sites[\"$site\"][0]")
	# one function that ends right behind the call site
	printf '%016x T busy\n%016x T other\n' $((site - 16)) $((site + 1)) >"$(D kallsyms)"
	"$KMT" trace --from "$GOLDEN/file.data" --kallsyms "$(D kallsyms)" --filter site=busy >"$(D out)"
	expect allocations "$(grep -c bytes_req "$(D out)")" = "$n"
	refused 4 "need kernel symbols" trace --from "$GOLDEN/file.data" --filter site=busy
	refused 4 "knows no cgroups" trace --from "$GOLDEN/file.data" --filter cgroup=/
	"$KMT" trace --from "$GOLDEN/file.data" --cache --filter cache=filp >"$(D out)"
	expect allocations "$(grep -c bytes_req "$(D out)")" = \
		"$(grep -c 'kmem_cache_alloc.* name=filp ' "$GOLDEN/file.txt")"
	"$KMT" trace --from "$GOLDEN/pipe.data" --filter task=true >"$(D out)"
	expect allocations "$(grep -c bytes_req "$(D out)")" = \
		"$(grep -cE '^ *true .*kmem:(kmalloc|kmem_cache_alloc):' "$GOLDEN/pipe.txt")"
}

# An answer, or one line that says where. test_perf_file cuts at every byte.
@test "a file that ends too early" {
	for name in file pipe; do
		size=$(stat -c %s "$GOLDEN/$name.data")
		for n in 1 15 16 17 100 1000 20000 30001 35001 $((size - 4000)) $((size - 1)); do
			head -c $n "$GOLDEN/$name.data" >"$(D cut)"
			kmt trace --from "$(D cut)"
			case $status in
			0) [[ $output == *"# overflow"* ]] || fail "$name cut at $n: the cut is not told" ;;
			4) [ "${#stderr_lines[@]}" = 1 ] || fail "$name cut at $n: $stderr"
			   [ $n -lt 16 ] || [[ $stderr == *"offset "* ]] || fail "$name cut at $n: $stderr" ;;
			*) fail "$name cut at $n: status $status: $stderr" ;;
			esac
		done
	done
}

@test "damage: said, counted, not fatal" {
	# a record in the middle of pipe mode whose size is 0: the end of what can be read
	at=$(python3 "$ROOT/tests/cli/perf_swap.py" --nth-sample 100 "$GOLDEN/pipe.data")
	cp "$GOLDEN/pipe.data" "$(D damaged)"
	printf '\0\0\0\0\0\0\0\0' | dd of="$(D damaged)" bs=1 conv=notrunc status=none \
		seek="$at"
	kmt stat --from "$(D damaged)" --format json
	expect status "$status" = 0
	jq -e '.quality | .lost_input == 1 and .lost_unknown and .events + .null_frees == 100' <<<"$output"
	kmt stat --from "$(D damaged)" --strict
	expect status "$status" = 5
}

@test "what is no recording of slab events" {
	printf 'PERFILE2\x10\0\0\0\0\0\0\0' >"$(D nothing)"
	refused 4 "no event formats" trace --from "$(D nothing)"
	# killed before its end: the header says that there are no data
	cp "$GOLDEN/file.data" "$(D killed)"
	printf '\0\0\0\0\0\0\0\0' | dd of="$(D killed)" bs=1 seek=48 conv=notrunc status=none
	refused 4 "perf was killed" trace --from "$(D killed)"
	refused 4 "killed'" trace --from "$(D killed)"
}
