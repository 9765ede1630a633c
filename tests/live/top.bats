#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# The screen while the kernel is traced: known amounts appear on it, at 80x24 and
# at 200x60, and a cache whose books are off is never a suspect.

load lib.bash
load ../cli/screen.bash

setup_file() { live_setup_file; }
setup() { live_setup; need_bpf; need_tmux; }
teardown() {
	screen_end
	! mountpoint -q "$D/bpffs" || { "$KMT" stop --all >/dev/null 2>&1 && umount "$D/bpffs"; }
	! mountpoint -q "$D/full" || umount -l "$D/full"
	live_teardown
}

cpu_1_has_600() { shown | grep -qE '^[> ] *1\.2 MiB +600 .* 1$'; }

all_received() { ! shown | grep -F 'load_msg+0x' | grep -qv ' 0 B '; }

now() { date +%s.%N; }

# The median age on the pane, in seconds, lies between what it must be at least (with a
# reading of up to two seconds ago) and at most.
age_is_right() {
	local before age
	before=$(now)
	age=$(shown | sed -n 's/.*age_p50_ns  *//p' |
		awk '{ n = split($1, part, "m"); print (n > 1 ? part[1] * 60 + part[2] : part[1] + 0) }')
	[ -n "$age" ] && awk -v age="$age" -v least="$before" -v now="$(now)" -v from="$1" -v to="$2" \
		'BEGIN { exit !(age >= least - to - 2 && age <= now - from && age > 2) }'
}

@test "1000 messages of 1000 bytes under Sites, and in the file that w writes" {
	local from to
	mkfifo "$D/go" "$D/end"
	background "$LOAD/msgq" -n 1000 -s 1000 -W "$D/go" -w "$D/end" -p "$D/phase"
	screen 80 24
	wait_for "[1 Sites]"
	from=$(now)
	: >"$D/go"
	until_true 60 grep -q sent "$D/phase"
	to=$(now)
	keys '/' load_msg Enter
	# 1000 objects of 2048 bytes
	wait_for "2.0 MiB"
	shown | grep -E '^>[ !] *2\.0 MiB .* 1000 .* load_msg\+0x' || fail "$(shown)"
	tm resize-window -t top -x 200 -y 60
	wait_for " MODULE"
	keys B
	wait_for "2048000"
	shown | grep -E '^>[ !] *2048000 .* 1000 .* vmlinux load_msg\+0x' || fail "$(shown)"
	keys Enter
	wait_for "live_objects                     1000"
	wait_for "live_bytes_requested          1048000"
	until_true 60 age_is_right "$from" "$to" || fail "sent from $from to $to, now $(now): $(shown)"
	keys Escape
	keys w
	wait_for "written: kmemtrace-"
	expect "in the file" "$("$KMT" report "$D"/kmemtrace-*.kmt site --format json --limit 0 |
		jq '[.rows[] | select(.site | startswith("load_msg+"))] | map(.live_objects) | add')" = 1000
	keys B
	: >"$D/end"
	# received: the row holds nothing, or is not there once nothing happens any more
	until_true 60 all_received
	keys q
	ends_with 0
}

@test "the display stops, the books do not; a baseline counts from there" {
	mkfifo "$D/go" "$D/end"
	background "$LOAD/msgq" -n 500 -s 1000 -W "$D/go" -w "$D/end" -p "$D/phase"
	screen 200 60
	wait_for "[1 Sites]"
	keys b
	wait_for "counts of the baseline's"
	keys Space
	wait_for "[paused]"
	: >"$D/go"
	until_true 60 grep -q sent "$D/phase"
	keys '/' load_msg Enter
	wait_for "filter: load_msg"
	has_not "load_msg+0x"
	keys Space
	wait_for "load_msg+0x"
	keys Enter
	wait_for "allocs                            500"
	keys q
	ends_with 0
	: >"$D/end"
}

@test "maple_node, freed in bulk without events: marked, and never a suspect" {
	grep -q '^maple_node ' /proc/slabinfo || skip "this kernel has no maple_node"
	background "$LOAD/mprotect" -k 100000
	screen 200 60 --by cache
	wait_for "[2 Caches]"
	keys '/' '^maple_node$' Enter
	wait_for "off by"
	shown | grep -E '^>!.* maple_node$' || fail "$(shown)"
	keys 3
	wait_for "[3 Suspects]"
	# until it has grown for long enough to be one, in all ways to count
	local way
	for way in last c b; do
		[ "$way" = last ] || keys "$way"
		for _ in {1..35}; do
			! shown | grep -E '^.. *suspect .* maple_node$' || fail "$way: $(shown)"
			sleep 0.2
		done
		shown | grep -qE '^.. *surviving .* maple_node$' || fail "$way: no row: $(shown)"
	done
	keys q
	ends_with 0
}

growing_is_suspect() { shown | grep -qE '^> +suspect .* load_msg\+0x'; }

@test "a site that grows is a suspect while the books of its cache balance" {
	[ -d /sys/kernel/slab/msg_msg-2k ] || skip "kernel has no cache of its own for messages"
	screen 200 60 --by leaks
	wait_for "[3 Suspects]"
	keys '/' load_msg Enter
	local i
	for i in {1..40}; do
		background "$LOAD/msgq" -n 200 -s 1000 -t 60000 -p "$D/phase$i"
		until_true 60 grep -q sent "$D/phase$i"
		! growing_is_suspect || break
		sleep 0.5
	done
	until_true 10 growing_is_suspect || fail "$(shown)"
	# all are live: none has been received
	keys Enter
	wait_for "live_objects $(printf %24d $((i * 200)))"
	keys q
	ends_with 0
}

@test "a command: its output is not on the screen, its end is, and what it left" {
	cat >"$D/load" <<-END
		echo this must not be seen
		exec '$LOAD/msgq' -n 400 -s 1000 -d -w '$D/end'
	END
	mkfifo "$D/end"
	screen 80 24 --filter site=load_msg -- sh "$D/load"
	wait_for "[command ended: 0]"
	has_not "this must not be seen"
	# 400 objects of 2048 bytes stay
	wait_for "800 KiB"
	shown | grep -E '^>[ !] *800 KiB .* 400 .* load_msg\+0x' || fail "$(shown)"
	: >"$D/end"
	keys q
	ends_with 0
}

@test "a command: its status is ours; one that cannot run; batch ends with it" {
	screen 80 24 -- sh -c 'exit 7'
	wait_for "[command ended: 7]"
	keys q
	ends_with 7
	screen_end
	rm -f "$STATUS"
	screen 80 24 -- "$D/no-such-command"
	ends_with 2
	grep -q "cannot run '$D/no-such-command'" "$D/err"
	run "$KMT" top --batch --interval 30s --limit 0 --format ndjson -- "$LOAD/msgq" -n 300 -s 1000
	expect status "$status" = 0
	expect tables "$(jq -s '[.[] | select(.record == "summary")] | length' <<<"$output")" = 1
	expect allocs "$(jq -s '[.[] | select((.site // "") | startswith("load_msg+")) | .allocs] | add' <<<"$output")" = 300
}

@test "who: a load on CPU 1 under its CPU, a task under its cgroup" {
	need_cpus 2
	mkfifo "$D/go" "$D/end"
	background "$LOAD/msgq" -n 600 -s 1000 -c 1 -W "$D/go" -w "$D/end" -p "$D/phase"
	screen 80 24 --filter site=load_msg
	wait_for "[1 Sites]"
	keys 5
	wait_for "[5 CPU]"
	: >"$D/go"
	until_true 20 grep -q sent "$D/phase"
	# live, 1200 KiB of 600 objects, and the last column is the CPU
	until_true 20 cpu_1_has_600
	keys q
	ends_with 0
	: >"$D/end"
	screen_end
	rm -f "$STATUS"
	cgroup=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
	[ -n "$cgroup" ] && mkdir "$cgroup/kmemtrace-top" 2>/dev/null || skip "no cgroup v2 can be made"
	screen 80 24 --by cgroup --filter site=load_msg -- \
		sh -c "echo \$\$ >$cgroup/kmemtrace-top/cgroup.procs; exec $LOAD/msgq -n 500 -s 1000 -t 3000"
	until_true 30 has "/kmemtrace-top"
	until_true 30 has "[command ended: 0]"
	keys q
	ends_with 0
	rmdir "$cgroup/kmemtrace-top"
}

@test "who: a task whose name drives terminals and is no UTF-8" {
	local size
	# ESC [ 2 J, a newline, two bytes that begin nothing, a tab, a bell
	background python3 -c 'import ctypes, select, time
ctypes.CDLL(None).prctl(15, b"\x1b[2J\n\xff\xfe\t\x07z")
keep = []
while True:
    keep.append(select.epoll()) if len(keep) < 50 else select.epoll().close()
    time.sleep(0.02)'
	# rows keep the name that the task had at first
	until_true 60 grep -q 2J "/proc/${JOBS[-1]}/comm"
	for size in "80 24" "200 60"; do
		# shellcheck disable=SC2086 # columns and lines
		screen $size --by task
		wait_for "[5 Task]"
		keys '/' 'task~x1b' Enter
		wait_for '\x1b[2J\x0a\xff\xfe\x09'	# the rest is cut at 80 columns
		has "kmemtrace top: "
		has "[5 Task]"
		keys q
		ends_with 0
		screen_end
		rm -f "$STATUS"
	done
}

@test "w on a full disk: it is said, nothing is left, and the screen goes on" {
	local full=$D/full
	mkdir "$full"
	mount -t tmpfs -o size=64k none "$full"
	dd if=/dev/zero of="$full/fill" bs=1k count=60 2>/dev/null
	SCREEN_DIR=$full screen 80 24
	wait_for "[1 Sites]"
	keys w
	wait_for "No space left"
	expect files "$(ls "$full")" = fill
	keys 2
	wait_for "[2 Caches]"
	keys q
	ends_with 0
	screen_end
}

@test "--batch -n 3: three tables of three intervals; nothing of them is left behind" {
	"$KMT" top --batch -n 3 --interval 300ms --by site --format ndjson >"$OUT"
	expect tables "$(jq -s '[.[] | select(.record == "summary")] | length' "$OUT")" = 3
	# one ends where the next begins
	jq -es '[.[] | select(.record == "summary") | .window_ns] | add >= 900000000' "$OUT" >"$D/all"
}

@test "stat --interval --format ndjson: the same rows, of each interval" {
	mkfifo "$D/go" "$D/end"
	background "$LOAD/msgq" -n 700 -s 1000 -W "$D/go" -w "$D/end" -p "$D/phase"
	background "$KMT" stat --interval 500ms --for 2m --by site --limit 0 --format ndjson -o "$D/x.kmt" >"$OUT"
	local pid=$JOB
	until_true 60 test -s "$OUT"
	: >"$D/go"
	until_true 60 grep -q sent "$D/phase"
	kill -INT "$pid"
	wait "$pid"
	: >"$D/end"
	# allocated in one interval or two, and in no other
	expect allocs "$(jq -s '[.[] | select((.site // "") | startswith("load_msg+")) | .allocs] | add' "$OUT")" = 700
	jq -es '[.[] | select((.site // "") | startswith("load_msg+")) | .net_bytes_per_s] | max > 0' "$OUT" >"$D/net"
}

@test "a session: its name, and that it was stopped, where one looks" {
	export KMEMTRACE_BPFFS=$D/bpffs
	mkdir "$D/bpffs"
	mount -t bpf none "$D/bpffs" 2>/dev/null || skip "no BPF file system can be mounted"
	"$KMT" start watched >/dev/null 2>"$ERR" || fail "$(cat "$ERR")"
	screen 80 24 --session watched
	wait_for "kmemtrace top: watched"
	keys c
	wait_for "counts of all"
	"$KMT" stop watched
	wait_for "[session was stopped or reset]"
	keys q
	ends_with 0
}
