#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Recordings of trace-cmd: what 'trace-cmd report' prints of the same file is
# what kmemtrace must have read.
load lib.bash

G=$ROOT/tests/golden/trace_dat
JUDGE=$BATS_TEST_DIRNAME/trace_cmd.py

setup() {
	command -v trace-cmd >/dev/null || skip "trace-cmd is not installed"
	command -v python3 >/dev/null || skip "python3 is not installed"
}

D() {
	echo "$BATS_TEST_TMPDIR/$1"
}

# theirs FILE: trace-cmd's lines; what two instances recorded counts once.
theirs() {
	local twice=
	[[ $1 != *twice* ]] || twice=--twice
	trace-cmd report -R -t -i "$1" >"$(D report)" 2>/dev/null
	python3 "$JUDGE" lines "$(D report)" $twice
}

@test "events, times, order, tasks, caches and sizes are trace-cmd's" {
	for file in "$G"/*.dat; do
		[[ $file != *layers* ]] || continue	# no slabs: see layers.bats
		theirs "$file" >"$(D theirs)"
		[ -s "$(D theirs)" ] || fail "trace-cmd read nothing of $file"
		"$KMT" trace --from "$file" --time --task --cache | grep -v '^# overflow' >"$(D trace)"
		python3 "$JUDGE" ours "$(D trace)" >"$(D ours)"
		diff "$(D theirs)" "$(D ours)" >&2 || fail "$file"
	done
}

@test "stat counts what trace-cmd counts" {
	for file in "$G"/*.dat; do
		[[ $file != *layers* ]] || continue	# no slabs: see layers.bats
		theirs "$file" >"$(D theirs)"
		"$KMT" stat --from "$file" --format json >"$(D json)"
		expect "allocations of $file" "$(jq .summary.allocs "$(D json)")" = \
			"$(grep -c 'alloc ' "$(D theirs)")"
		expect "events of $file" "$(jq .quality.events "$(D json)")" = \
			"$(wc -l <"$(D theirs)")"
		expect "source of $file" "$(jq -r .quality.source "$(D json)")" = trace_dat
		expect "unreadable input of $file" "$(jq .quality.lost_input "$(D json)")" = 0
		expect "requested bytes of $file" "$(jq .summary.bytes_requested "$(D json)")" = \
			"$(awk '/alloc / { n += $7 } END { print n + 0 }' "$(D theirs)")"
	done
}

@test "stacks are trace-cmd's, of -T and of a trigger" {
	# without symbols frames are numbers
	echo "ffffffffffffff00 T nothing" >"$(D nosyms)"
	for file in stacks trigger lost zstd; do
		trace-cmd report -t -i "$G/v7-$file.dat" >"$(D report)" 2>/dev/null
		"$KMT" trace --from "$G/v7-$file.dat" --time --stacks --kallsyms "$(D nosyms)" |
			grep -v '^# overflow' >"$(D trace)"
		n=$(python3 "$JUDGE" stacks "$(D report)" "$(D trace)")
		case $file in
		stacks | lost) want=$(grep -c '^type_id' "$(D trace)") ;;
		trigger) want=$(grep -c kernel_stack "$(D report)") ;;
		zstd) want=0 ;;
		esac
		expect "stacks in $file" "$n" = "$want"
		expect "missing stacks in $file" \
			"$("$KMT" stat --from "$G/v7-$file.dat" --format json | jq .quality.lost_stacks)" = 0
	done
}

@test "lost events are the kernel's own count" {
	lost=$(trace-cmd report -i "$G/v7-lost.dat" 2>/dev/null |
		sed -n 's/^CPU:1 \[\([0-9]*\) EVENTS DROPPED\]/\1/p')
	[ "$lost" -gt 0 ]
	"$KMT" stat --from "$G/v7-lost.dat" --format json >"$(D json)"
	expect lost_ring "$(jq .quality.lost_ring "$(D json)")" = "$lost"
	expect "lost in the stream" "$("$KMT" trace --from "$G/v7-lost.dat" |
		sed -n 's/^# overflow: events lost: \([0-9]*\) .*cpu 1.*/\1/p')" = "$lost"
	kmt trace --from "$G/v7-lost.dat" --strict
	expect "status of --strict" "$status" = 5
}

@test "call sites and flags have the recorded kernel's names" {
	trace-cmd report -R -i "$G/v7-zstd.dat" 2>/dev/null |
		grep -oP '(kmalloc|kmem_cache_alloc): .*call_site=\K[a-z]\S+' | sort -u >"$(D theirs)"
	[ "$(wc -l <"$(D theirs)")" -gt 3 ]
	"$KMT" stat --from "$G/v7-zstd.dat" --by site --format json |
		jq -r '.rows[] | select(.allocs > 0).site' | grep -v '^0x' | sort -u >"$(D ours)"
	# a kallsyms with holes: trace-cmd gives up on an address sooner
	expect "sites that only trace-cmd names" "$(comm -23 "$(D theirs)" "$(D ours)")" = ""
	# by trace-cmd: names of the first allocation's flags
	want=$(trace-cmd report -i "$G/v7-zstd.dat" 2>/dev/null | grep -oP 'gfp_flags=\K\S+' | head -n 1)
	got=$("$KMT" trace --from "$G/v7-zstd.dat" --gfp | grep -oP 'node -?\d+ gfp \K\S+' | head -n 1)
	expect "gfp names" "$got" = "$want"
	expect kernel "$("$KMT" stat --from "$G/v7-zstd.dat" --format json | jq -r .kernel)" = \
		"$(trace-cmd dump --options -i "$G/v7-zstd.dat" | grep -oP 'Linux \S+ \K\S+(?= x86_64)')"
}

@test "filters choose by the recording's own names" {
	f=$G/v7-zstd.dat
	theirs "$f" >"$(D theirs)"
	task=$(awk '{ sub(/-[0-9]*$/, "", $2); print $2 }' "$(D theirs)" | sort | uniq -c | sort -n |
		awk 'NR == 1 { print $2 }')
	n=$("$KMT" trace --from "$f" --filter task="$task" | grep -c bytes_req)
	expect "allocations of $task" "$n" = "$(grep " $task-" "$(D theirs)" | grep -c 'alloc ')"
	pid=$(awk '{ print $2; exit }' "$(D theirs)" | grep -o '[0-9]*$')
	n=$("$KMT" trace --from "$f" --filter pid="$pid" | grep -c bytes_req)
	expect "allocations of $pid" "$n" = "$(grep -- "-$pid " "$(D theirs)" | grep -c 'alloc ')"
	n=$("$KMT" trace --from "$f" --filter cache=filp | grep -c bytes_req)
	expect "allocations of filp" "$n" = "$(grep -c 'kmem_cache_alloc .* filp ' "$(D theirs)")"
	n=$("$KMT" trace --from "$f" --filter 'site=getname*' | grep -c bytes_req)
	expect "allocations by getname" "$n" = \
		"$(trace-cmd report -R -i "$f" 2>/dev/null | grep -c 'alloc: .*call_site=getname')"
	refused 4 "knows no processes" trace --from "$f" --filter tgid=1
	refused 4 "knows no processes" stat --from "$f" --filter cgroup=/a
}

@test "standard input is read if it is a file" {
	cmp <("$KMT" trace --from - <"$G/v6.dat") <("$KMT" trace --from "$G/v6.dat")
	# shellcheck disable=SC2002 # a pipe is what is tested
	cat "$G/v6.dat" | refused 4 "not from a pipe" trace --from -
}

@test "a file cut anywhere gives what is left of it, or one line" {
	for file in v6 v7-stacks; do
		size=$(stat -c %s "$G/$file.dat")
		"$KMT" trace --from "$G/$file.dat" >"$(D whole)"
		for part in $(seq 1 63); do
			head -c $((size * part / 64)) "$G/$file.dat" >"$(D cut)"
			status=0
			timeout 60 "$KMT" trace --from "$(D cut)" >"$(D out)" 2>"$(D err)" || status=$?
			case $status in
			0)
				# what is cut off the end of the last page may be empty
				grep -q '^# overflow.*unreadable input' "$(D out)" ||
					cmp "$(D out)" "$(D whole)"
				[ "$(grep -vc '^#' "$(D out)")" -le "$(wc -l <"$(D whole)")" ]
				;;
			4)
				expect "lines at $part/64 of $file" "$(wc -l <"$(D err)")" = 1
				grep -q "^kmemtrace: '$(D cut)': offset [0-9]*: " "$(D err)" ||
					fail "it said: $(cat "$(D err)")"
				;;
			*) fail "$file at $part/64: status $status, $(cat "$(D err)")" ;;
			esac
		done
	done
}

@test "what is wrong with a file is said with its place" {
	head -c 9 "$G/v6.dat" >"$(D f)"
	refused 4 "in no format" trace --from "$(D f)"
	head -c 12 "$G/v6.dat" >"$(D f)"
	refused 4 "offset 10: the head is cut off" trace --from "$(D f)"
	{ head -c 10 "$G/v6.dat"; printf '9\0'; tail -c +13 "$G/v6.dat"; } >"$(D f)"
	refused 4 "version 9" trace --from "$(D f)"
	{ head -c 12 "$G/v6.dat"; printf '\7'; tail -c +14 "$G/v6.dat"; } >"$(D f)"
	refused 4 "unknown byte order" trace --from "$(D f)"
	{ head -c 18 "$G/v7-zstd.dat"; printf 'what'; tail -c +23 "$G/v7-zstd.dat"; } >"$(D f)"
	refused 4 "compressed in an unknown way" trace --from "$(D f)"
}
