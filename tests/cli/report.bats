#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# 'report': the views on a recording. Numbers are counted from the sample's lines.
load lib.bash

D() {
	echo "$BATS_TEST_TMPDIR/$1"
}

# Ten seconds: an object each second, 100 bytes each, freed four seconds later.
timed() {
	local i

	for ((i = 0; i < 10; i++)); do
		echo "type_id 1 call_site 4096 ptr $((65536 + i * 128)) bytes_req 100" \
			"bytes_alloc 128 gfp_flags 208 node -1 time $i.000000000 cpu 0"
		((i < 4)) || echo "type_id 1 call_site 8192 ptr $((65536 + (i - 4) * 128))" \
			"time $i.500000000 cpu 0"
	done
}

# What a view is tried on: only counted books can know cgroups.
recording_for() {
	case $1 in cgroup) echo "$ROOT/tests/golden/kmt/cgroup.kmt" ;; *) echo "$SAMPLE" ;; esac
}

@test "report and stat --from give the same answer" {
	for view in $("$KMT" list --names views); do
		file=$(recording_for "$view")
		one=$("$KMT" report "$file" "$view" --format json | jq -S 'del(.command)')
		two=$("$KMT" stat --from "$file" --by "$view" --format json | jq -S 'del(.command)')
		expect "$view" "$one" = "$two"
		expect command "$("$KMT" report "$file" "$view" --format json | jq -r .command)" = report
	done
}

@test "every view fits 80 columns and names itself" {
	for view in $("$KMT" list --names views); do
		file=$(recording_for "$view")
		"$KMT" report "$file" "$view" --kallsyms "$KALLSYMS" >"$(D out)"
		awk 'length > 80 { print; bad = 1 } END { exit bad }' "$(D out)" || fail "$view is too wide"
		expect view "$("$KMT" report "$file" "$view" --format json | jq -r .view)" = "$view"
	done
}

@test "plural names are the same views" {
	for pair in sites=site caches=cache objects=object tasks=task sites,caches=site,cache; do
		cmp <("$KMT" report "$SAMPLE" "${pair%%=*}") <("$KMT" report "$SAMPLE" "${pair#*=}")
	done
}

@test "the first to blame come without being asked for" {
	expect view "$("$KMT" report "$SAMPLE" --format json | jq -r .view)" = summary
	# of the sample: one of 1304 bytes and three of 240 are live; five of the nine
	# allocations are of one site
	"$KMT" report "$SAMPLE" --kallsyms "$KALLSYMS" --format json >"$(D out)"
	expect live "$(jq -c '[.rows[] | select(.top == "live") | .live_objects]' "$(D out)")" = '[1,3]'
	expect allocs "$(jq -r '.rows[] | select(.top == "allocs" and .rank == 1) | "\(.allocs) \(.site)"' \
		"$(D out)" | cut -d+ -f1)" = "5 getname"
}

@test "FILE and VIEW stand anywhere among the options" {
	"$KMT" report "$SAMPLE" site --format csv >"$(D want)"
	cmp "$(D want)" <("$KMT" report --format csv "$SAMPLE" site)
	cmp "$(D want)" <("$KMT" report "$SAMPLE" --format csv site)
	cmp "$(D want)" <("$KMT" report --format csv -- "$SAMPLE" site)
	cmp "$(D want)" <("$KMT" report -F csv - site <"$SAMPLE")
}

@test "what is asked wrongly: status 2, one line" {
	refused 2 "needs a FILE" report
	refused 2 "no view 'nosuch'" report "$SAMPLE" nosuch
	refused 2 "no argument 'x'" report "$SAMPLE" site x
	refused 2 "no format 'xml'" report "$SAMPLE" --format xml
	refused 2 "report: unknown option '--nosuch'" report "$SAMPLE" --nosuch
	refused 2 "unknown column 'nosuch'" report "$SAMPLE" site --sort nosuch
	refused 2 "later than --since" report "$SAMPLE" --since 2s --until 2s
	refused 2 "--tail must be" report "$SAMPLE" leaks --tail 100%
	refused 2 "exclude each other" report "$SAMPLE" stacks --inverted --callers x
}

@test "an option of one view is refused with the others" {
	for option in --inverted=stacks --callers=stacks --callees=stacks --tail=leaks \
		--vmlinux=directory; do
		name=${option%%=*} owner=${option#*=}
		for view in $("$KMT" list --names views); do
			[ "$view" != "$owner" ] || continue
			value=5
			[ "$name" != --inverted ] || value=--bytes
			refused 2 "$name belongs to the view $owner, not to $view" \
				report "$SAMPLE" "$view" "$name" "$value"
		done
	done
	"$KMT" report "$SAMPLE" leaks --tail 5
	"$KMT" report "$SAMPLE" stacks --callers x
}

# A fifo whose other end nobody has: ^C must end the wait.
waits() {
	run timeout -s INT -k 5 1 env --default-signal=INT "$KMT" "$@"
	expect "status of '$*'" "$status" = 124
}

@test "a fifo that nobody else opens can be left with ^C" {
	mkfifo "$(D in)" "$(D out)"
	waits report "$(D in)"
	waits trace --from "$(D in)"
	waits stat --from "$(D in)"
	waits diff "$SAMPLE" "$(D in)"
	waits check --max-live 1M "$(D in)"
	waits convert "$(D in)" -o "$(D new)"
	[ ! -e "$(D new)" ] || fail "an output was made"
	waits convert "$SAMPLE" -f -o "$(D out)"
	# open, but its writer says nothing
	exec 7<>"$(D in)"
	waits convert "$(D in)" -o "$(D new)"
	waits check --max-live 1M "$(D in)"
	exec 7>&-
}

@test "what cannot be read: status 4, one line" {
	: >"$(D empty)"
	refused 4 "No such file" report "$(D none)"
	refused 4 "is empty" report "$(D empty)"
	refused 4 "Is a directory" report "$BATS_TEST_TMPDIR"
}

@test "--since and --until: as if it had begun and ended there" {
	timed >"$(D timed)"
	"$KMT" report "$(D timed)" site --format json >"$(D all)"
	# 10 allocations and 6 frees, so 4 live
	expect all "$(jq -c '.summary | [.allocs, .frees, .live_objects]' "$(D all)")" = '[10,6,4]'
	"$KMT" report "$(D timed)" site --since 2s --until 7s --format json >"$(D part)"
	# allocated at 2, 3, 4, 5, 6; freed at 4.5, 5.5, 6.5: those of 0 and 1, which
	# are older, and that of 2
	expect part "$(jq -c '.summary | [.allocs, .frees, .live_objects, .live_bytes_allocated]' \
		"$(D part)")" = '[5,1,4,512]'
	expect older "$(jq .quality.frees_before_start "$(D part)")" = 2
	expect events "$(jq .quality.events "$(D part)")" = 8
	expect outside "$(jq .quality.filtered "$(D part)")" = 8
	# from the first to the last that counts
	expect window "$(jq .quality.window_ns "$(D part)")" = 4500000000
}

@test "events without a time have no place in a part of the time" {
	kmt report "$SAMPLE" --since 1s --format json
	expect status "$status" = 0
	expect events "$(jq .summary.events <<<"$output")" = 0
	expect outside "$(jq .quality.filtered <<<"$output")" = 15
	[[ $stderr == *"15 events have no time"* ]] || fail "$stderr"
}

@test "peak and end of real recordings agree with a slow model" {
	for name in file kmem stacks; do
		local data=$ROOT/tests/golden/perf_data/$name.data

		"$KMT" trace --from "$data" --time --cache 2>/dev/null |
			python3 "$ROOT/tests/cli/model.py" >"$(D want)"
		"$KMT" report "$data" peak --limit 0 --format json >"$(D out)"
		for key in peak:peak_bytes_allocated peak_at_ns:peak_at_ns live:live_bytes_allocated \
			live_objects:live_objects; do
			expect "$name ${key#*:}" "$(jq ".summary.${key#*:}" "$(D out)")" = \
				"$(jq ".${key%:*}" "$(D want)")"
		done
		expect "$name rows" "$(jq -c '[.rows[].at_peak_bytes_allocated] | sort' "$(D out)")" = \
			"$(jq -c .held "$(D want)")"
		# the timeline's highest slot is the same peak, and it ends with what is live
		"$KMT" report "$data" timeline --format json >"$(D out)"
		expect "$name highest" "$(jq '[.rows[].peak_bytes_allocated] | max' "$(D out)")" = \
			"$(jq .peak "$(D want)")"
		expect "$name last" "$(jq '.rows[-1].live_bytes_allocated' "$(D out)")" = \
			"$(jq .live "$(D want)")"
	done
}

@test "the tree's roots add up to all allocations, with and without stacks" {
	for name in stacks file; do
		"$KMT" report "$ROOT/tests/golden/perf_data/$name.data" stacks --limit 0 --format json \
			>"$(D out)"
		expect "$name allocs" "$(jq '[.rows[] | select(.depth == 0) | .allocs] | add' "$(D out)")" = \
			"$(jq .summary.allocs "$(D out)")"
		expect "$name live" "$(jq '[.rows[].own_live_bytes_allocated] | add' "$(D out)")" = \
			"$(jq .summary.live_bytes_allocated "$(D out)")"
	done
	expect depth "$("$KMT" report "$ROOT/tests/golden/perf_data/stacks.data" stacks --limit 0 \
		--format json | jq '[.rows[].depth] | max')" -gt 3
}

@test "^C ends the reading of a pipe, with a report on what came" {
	mkfifo "$(D fifo)"
	{ cat "$SAMPLE"; : >"$(D written)"; exec sleep 60; } >"$(D fifo)" 3>&- &
	local writer=$! reader i status=0

	env --default-signal=INT "$KMT" report - --format json <"$(D fifo)" >"$(D out)" 2>"$(D err)" 3>&- &
	reader=$!
	# all is written, and it waits for more: it has read it
	for ((i = 0; i < 300; i++)); do
		[ ! -e "$(D written)" ] || ! grep -q '^State:.S' "/proc/$reader/status" || break
		sleep 0.1
	done
	kill -INT "$reader"
	wait "$reader" || status=$?
	kill "$writer"
	expect status "$status" = 130
	expect events "$(jq .quality.events "$(D out)")" = 15
	grep -q "interrupted" "$(D err)" || fail "$(cat "$(D err)")"
}
