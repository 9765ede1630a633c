#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Every view in every format on a real kernel, each with one fact that is known.

load lib.bash

setup_file() { live_setup_file; }
setup() { live_setup; need_bpf; SITE=$(msg_site); }
teardown() { live_teardown; }

KEYS_ROW='allocs frees failures bytes_requested bytes_allocated live_objects live_bytes_requested
live_bytes_allocated peak_bytes_allocated waste_bytes cross_cpu_frees temporary untraced_frees
age_min_ns age_p50_ns age_max_ns balance'
KEYS_QUALITY='source events lost_ring lost_sites lost_objects lost_stacks recursion_misses
frees_before_start untraced_frees failed_allocations sample_bytes'

@test "JSON: the keys that scripts rely on are there" {
	stat_json -- "$LOAD/msgq" -n 10
	local key
	for key in schema command view kernel window_ns quality summary rows; do
		expect "top key $key" "$(jq "has(\"$key\")" "$OUT")" = true
	done
	for key in site module type cache aliases $KEYS_ROW; do
		expect "row key $key" "$(jq "[.rows[] | has(\"$key\")] | all" "$OUT")" = true
	done
	for key in $KEYS_QUALITY; do
		expect "quality key $key" "$(jq ".quality | has(\"$key\")" "$OUT")" = true
	done
	for key in traced_net real_net verdict; do
		expect "balance key $key" "$(jq "[.rows[].balance | select(. != null) | has(\"$key\")] | all" "$OUT")" = true
	done
	expect kernel "$(value kernel)" = "$(uname -r)"
}

@test "every view gives rows" {
	local view
	mkfifo "$D/go"
	for view in site cache site,cache object free-site task; do
		# a few are held, or a quiet machine has no live object
		"$KMT" stat --by "$view" --format json -- sh -c "'$LOAD/msgq' -n 200 -s 1000 &&
			'$LOAD/msgq' -n 5 -s 1000 -d -w '$D/go' -p '$D/phase'" >"$OUT"
		: >"$D/go"
		until_true 60 grep -q received "$D/phase"
		rm "$D/phase"
		expect "view" "$(value view)" = "$view"
		expect "rows of $view" "$(jq '.rows | length' "$OUT")" -gt 0
		expect "rows of $view" "$(jq '.rows | length' "$OUT")" -le 20
	done
}

@test "by site: 500 messages are one row" {
	"$KMT" stat --by site --limit 0 --format json -- "$LOAD/msgq" -n 500 -s 1000 >"$OUT"
	expect rows "$(jq --arg f "$SITE" "$JQ_SITE [.rows[] | select(at(\$f))] | length" "$OUT")" = 1
	expect allocs "$(sum allocs "$SITE")" = 500
}

@test "by task: the messages are msgq's" {
	"$KMT" stat --by task --limit 0 --format json --filter "site=$SITE" -- \
		"$LOAD/msgq" -n 500 -s 1000 >"$OUT"
	expect allocs "$(jq '[.rows[] | select(tostring | test("msgq")) | .allocs] | add' "$OUT")" = 500
}

@test "by cgroup: a task's messages under its path, then under a number" {
	need_bpf
	need_cgroup
	mkdir "$CGROUP/in side"
	cat >"$D/load" <<-END
		echo \$\$ >'$CGROUP/in side/cgroup.procs'
		exec '$LOAD/msgq' -n 500 -s 1000
	END
	"$KMT" stat --by cgroup --limit 0 --format json --filter "site=$SITE" -o "$D/c.kmt" -- \
		bash "$D/load" >"$OUT" || true
	rmdir "$CGROUP/in side" "$CGROUP"
	expect allocs "$(jq '[.rows[] | select(.cgroup | test("/in side$")) | .allocs] | add' "$OUT")" = 500
	expect number "$(jq '[.rows[] | select(.cgroup | test("/in side$")) | .cgroup_id > 0] | all' "$OUT")" = true
	# the file has it, too
	"$KMT" report "$D/c.kmt" cgroup --format json --limit 0 >"$D/again"
	expect allocs "$(jq '[.rows[] | select(.cgroup | test("/in side$")) | .allocs] | add' "$D/again")" = 500
}

@test "by cgroup: no other source knows them, and no recording of events" {
	need_tracefs
	run "$KMT" stat --by cgroup --source tracefs --for 100ms
	expect status "$status" = 2
	[[ $output == *"the view cgroup needs the bpf source"* ]]
	run "$KMT" report "$ROOT/tests/golden/kmt/demo.kmt" cgroup
	expect status "$status" = 4
	[[ $output == *"events do not say in which cgroup"* ]]
}

@test "by CPU: what is sent on CPU 1 and received on CPU 0" {
	need_cpus 2
	local source
	for source in bpf tracefs; do
		[ "$source" = tracefs ] || "$B/tests/bench/emptybpf" -t || continue
		"$KMT" stat --source "$source" --by cpu --limit 0 --format json --filter "site=$SITE" -- \
			"$LOAD/msgq" -n 500 -s 1000 -c 1 -r 0 >"$OUT"
		expect "allocs, $source" "$(jq '[.rows[] | select(.cpu == 1) | .allocs] | add' "$OUT")" = 500
		expect "frees, $source" "$(jq '[.rows[] | select(.cpu == 0) | .frees] | add' "$OUT")" = 500
		expect "cross, $source" "$(jq '[.rows[] | select(.cpu == 0) | .cross_cpu_frees] | add' "$OUT")" = 500
		expect "allocs elsewhere, $source" "$(jq '[.rows[] | select(.cpu != 1) | .allocs // 0] | add' "$OUT")" = 0
	done
}

@test "by node: all memory lies where this machine has memory" {
	[ "$(cat /sys/devices/system/node/has_memory 2>/dev/null || echo 0)" = 0 ] || skip "several nodes"
	mkfifo "$D/end"
	"$KMT" stat --by node --limit 0 --format json --filter "site=$SITE" -- \
		"$LOAD/msgq" -n 500 -s 1000 -c 1 -d -w "$D/end" >"$OUT"
	: >"$D/end"
	expect objects "$(jq '[.rows[] | select(.node == 0) | .live_objects] | add' "$OUT")" = 500
	expect allocs "$(jq '[.rows[] | select(.node == 0) | .allocs] | add' "$OUT")" = 500
	expect remote "$(jq '[.rows[] | select(.node == 0) | .remote_bytes] | add' "$OUT")" = 0
}

@test "text: within 80 columns, the site and its numbers in one line, quality below" {
	"$KMT" stat --filter "site=$SITE" -- "$LOAD/msgq" -n 1234 -s 1000 >"$D/text" 2>"$ERR"
	expect "longest line" "$(awk '{ if (length > n) n = length } END { print n + 0 }' "$D/text")" -le 80
	grep -E "$SITE.*1[, ]?234|1[, ]?234.*$SITE" "$D/text" || fail "$(cat "$D/text")"
	grep -qi lost "$D/text" || fail "no word on losses: $(cat "$D/text")"
}

@test "csv: as many fields in each record as in the header, known sum" {
	"$KMT" stat --by site,cache --limit 0 --format csv -- "$LOAD/msgq" -n 321 -s 1000 >"$D/csv" 2>"$ERR"
	python3 - "$D/csv" "$SITE" <<-'END'
		import csv, sys
		rows = [r for r in csv.reader(open(sys.argv[1], newline="")) if r and not r[0].startswith("#")]
		head = rows[0]
		assert all(len(r) == len(head) for r in rows), "ragged"
		n = sum(int(r[head.index("allocs")]) for r in rows[1:]
			if r[head.index("site")].split("+")[0] == sys.argv[2])
		assert n == 321, n
	END
}

@test "ndjson: one object per line, known sum" {
	"$KMT" stat --by site,cache --limit 0 --format ndjson -- "$LOAD/msgq" -n 321 -s 1000 >"$D/nd" 2>"$ERR"
	expect lines "$(wc -l <"$D/nd")" = "$(jq -s length "$D/nd")"
	expect allocs "$(jq -s --arg f "$SITE" "$JQ_SITE [.[] | select(at(\$f)) | .allocs] | add" "$D/nd")" = 321
}

@test "--sort and --limit: the first rows of the sorted table" {
	"$KMT" stat --by site --sort allocs --limit 3 --format json -- "$LOAD/forkstorm" -t 200 >"$OUT"
	expect rows "$(jq '.rows | length' "$OUT")" = 3
	expect "in order" "$(jq '[.rows[].allocs] | . == (sort | reverse)' "$OUT")" = true
	"$KMT" stat --by site --sort allocs:asc --limit 0 --format json -- "$LOAD/forkstorm" -t 200 >"$OUT"
	expect "in order" "$(jq '[.rows[].allocs] | . == sort' "$OUT")" = true
}

@test "--interval: each report counts its own time, what is live is live in all of them" {
	# held until three reports more have come, however long that takes
	mkfifo "$D/go"
	background "$KMT" stat --by site,cache --limit 0 --format json --interval 200ms -- \
		"$LOAD/msgq" -n 100 -s 1000 -w "$D/go" -p "$D/phase" >"$D/many"
	local tool=$JOB n
	until_true 60 grep -q sent "$D/phase"
	n=$(jq -s length "$D/many")
	until_true 60 eval "[ \"\$(jq -s length '$D/many')\" -ge $((n + 3)) ]"
	: >"$D/go"
	wait "$tool"
	local each
	each=$(jq -c --arg f "$SITE" "$JQ_SITE [([.rows[] | select(at(\$f)) | .allocs] | add // 0),
		([.rows[] | select(at(\$f)) | .live_objects] | add // 0)]" "$D/many")
	expect "allocs of all intervals" "$(jq -s '[.[][0]] | add' <<<"$each")" = 100
	# the second of them lies wholly in the time of holding
	expect "allocs while held" "$(jq -s ".[$n + 1][0]" <<<"$each")" = 0
	expect "live while held" "$(jq -s ".[$n + 1][1]" <<<"$each")" = 100
	expect "live, last" "$(jq -s 'last[1]' <<<"$each")" = 0
	# the intervals follow each other without a gap
	expect "sum of windows, ns" "$(jq -s '[.[].window_ns] | add' "$D/many")" -ge $(((n + 2) * 200000000))
}

@test "--no-objects: totals without live objects" {
	stat_json --no-objects -- "$LOAD/msgq" -n 1000 -s 1000
	expect allocs "$(sum allocs "$SITE")" = 1000
	expect requested "$(sum bytes_requested "$SITE")" = 1048000
	expect "live objects are unknown, not 0" \
		"$(jq --arg f "$SITE" "$JQ_SITE [.rows[] | select(at(\$f)) | .live_objects] | all(. == null)" "$OUT")" = true
}

@test "--stacks: the messages under the system call that sent them" {
	"$KMT" stat --stacks --limit 0 --format json --filter "site=$SITE" -- "$LOAD/msgq" -n 50 >"$OUT"
	jq -e --arg f "$SITE" "[.rows[] | tostring | select(test(\$f) and test(\"do_msgsnd\"))] | length > 0" "$OUT" ||
		fail "no stack from do_msgsnd to $SITE: $(head -c 600 "$OUT")"
	expect allocs "$(jq '[.rows[].allocs] | add' "$OUT")" = 50
}

table() {
	"$KMT" trace --buffer 16M --format table --filter "site=$SITE" -- \
		"$LOAD/msgq" -n 50 -s 1000 >"$D/table" 2>"$ERR" || fail "$(cat "$ERR")"
}

@test "trace --format table: the original's columns, the known sizes" {
	lossless table
	local sample=$ROOT/tests/golden/samples/table-header-2008.txt
	head -n "$(wc -l <"$sample")" "$D/table" | diff "$sample" -
	local n
	n=$(grep -Ec "^  \+      K +1048 +2048 +[0-9a-f]{8} +0x[0-9a-f]{16} +-1 +$SITE" "$D/table")
	expect "allocations" "$n" = 50
	expect "frees" "$(grep -Ec '^  -      K +0x[0-9a-f]{16} +free_msg' "$D/table")" = 50
}

@test "doctor says that the main job can run" {
	"$KMT" doctor >"$D/doctor"
	expect lines "$(wc -l <"$D/doctor")" -ge 8
}

@test "memory of the tables is told" {
	stat_json -- true
	expect "table bytes" "$(value quality.table_bytes)" -gt 0
}
