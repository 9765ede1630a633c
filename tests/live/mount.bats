#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# 'kmemtrace mount': how it begins and ends, and the files that wait or refuse; what
# the files say is in tracing_dir.bats.

load lib.bash
load tracing_dir.bash
bats_require_minimum_version 1.5.0

setup_file() { live_setup_file; }

setup() {
	live_setup
	need_bpf
	[ -e /dev/fuse ] || skip "no /dev/fuse"
	SITE=$(msg_site)
	M=$(mktemp -d /tmp/live-mount.XXXXXX)	# where all users get to
}

teardown() {
	umount -l "$M" 2>/dev/null || true
	if [ -n "${KMEMTRACE_BPFFS:-}" ]; then
		"$KMT" stop --all >/dev/null 2>&1 || true
		umount "$KMEMTRACE_BPFFS" 2>/dev/null || true
	fi
	live_teardown
	rmdir "$M"
}

# In the foreground, pid in JOB, until it can be used.
mounted() {
	# what a shell starts in the background ignores ^C
	background env --default-signal=INT "$KMT" mount "$@" "$M" >"$D/said" 2>"$ERR"
	DAEMON=$JOB
	until_true 60 grep -q 'is mounted' "$D/said" || fail "not mounted: $(cat "$ERR")"
}

# What ended, ended with that status.
ended() {
	local status=0
	wait "$1" || status=$?
	expect "exit status" "$status" = "${2:-0}"
}

# N messages of 1000 bytes that stay until let_go.
hold_messages() {
	mkfifo "$D/go"
	"$LOAD/msgq" -n "$1" -s 1000 -d -w "$D/go" -p "$D/phase"
}

let_go() {
	: >"$D/go"
	until_true 60 grep -q received "$D/phase"
}

@test "in the foreground: ^C unmounts and ends the tracer" {
	mounted
	echo kmemtrace > "$M/current_tracer"
	[ "$(n_links "$DAEMON")" -gt 0 ] || fail "it traces without programs"
	kill -INT "$DAEMON"
	ended "$DAEMON"
	run ! mountpoint -q "$M"
}

@test "trace_pipe waits, can be interrupted, and takes what it shows" {
	mounted
	cd "$M"
	run timeout -s INT 2 cat trace_pipe
	expect "waiting, then ^C" "$status" = 124
	run dd if=trace_pipe iflag=nonblock count=1 status=none
	[[ $output == *"Resource temporarily unavailable"* ]] || fail "said: $output"
	echo kmem_minimalistic > trace_options
	echo 32768 > buffer_size_kb
	echo kmemtrace > current_tracer
	background cat trace_pipe >"$D/pipe.out"
	local reader=$JOB
	until_true 60 test -s "$D/pipe.out"
	hold_messages 50
	let_go
	until_true 60 eval '[ "$(grep -c "^  + .* $SITE" "$D/pipe.out")" = 50 ]'
	# it gets the end when the tracer does
	echo nop > current_tracer
	ended "$reader"
	expect "what is kept" "$(grep -c "^  + .* $SITE" trace)" = 50
	cd /
}

@test "an instance with an open file stays" {
	mounted
	cd "$M"
	mkdir instances/web
	echo kmemtrace > instances/web/current_tracer
	expect "the root is at rest" "$(cat current_tracer)" = nop
	exec {held}<instances/web/trace
	run rmdir instances/web
	[[ $output == *"Device or resource busy"* ]] || fail "said: $output"
	exec {held}<&-
	rmdir instances/web
	expect "instances left" "$(find instances -mindepth 1 | wc -l)" = 0
	cd /
}

@test "refused writes: errno and error_log" {
	mounted
	cd "$M"
	local text
	for text in "Invalid argument:function:current_tracer" \
		    "Invalid argument:kmem_nothing:trace_options" \
		    "Invalid argument:2:options/kmem_gfp" \
		    "Invalid argument:4194305:set_event_pid" \
		    "Argument list too long:999999999999:buffer_size_kb"; do
		IFS=: read -r want value file <<<"$text"
		run bash -c "echo $value > $file"
		[[ $output == *"$want"* ]] || fail "$file: $output"
	done
	expect "lines of the log" "$(grep -c 'error: ' error_log)" = 5
	grep -q '^  Command: kmem_nothing$' error_log
	echo > error_log
	expect "lines of the cleared log" "$(wc -l <error_log)" = 0
	cd /
}

@test "in the background; killed, its dead mount is replaced; umount ends it" {
	local pid
	"$KMT" mount --daemon "$M"
	echo kmemtrace > "$M/current_tracer"
	pid=$(pgrep -f "mount --daemon $M\$")
	[ "$(n_links "$pid")" -gt 0 ] || fail "it traces without programs"
	run "$KMT" mount --daemon "$M"
	expect "mounting twice" "$status" = 2
	kill -KILL "$pid"
	until_true 60 eval '! cat "$M/README" 2>/dev/null'
	run cat "$M/README"
	[[ $output == *"not connected"* ]] || fail "not a dead mount: $output"
	run "$KMT" mount --daemon "$M"
	expect "mounting again" "$status" = 0
	expect "what it said" "$output" = \
		"kmemtrace: $M: the mount of a kmemtrace that was killed is replaced"
	expect "a tracer at rest" "$(cat "$M/current_tracer")" = nop
	expect "mounts on it" "$(grep -c " $M " /proc/self/mountinfo)" = 1
	echo kmemtrace > "$M/current_tracer"
	pid=$(pgrep -f "mount --daemon $M\$")
	umount "$M"
	until_true 60 eval "! kill -0 $pid"
}

# Over the whole start, most tries about the moment at which it answers: whoever is told
# of the signal has no mount and no process left, whoever is told of none has a mount.
@test "in the background: a signal before it serves ends all of it" {
	local after job ended=0
	for after in 0 0 0 0.0{05..90..5} 0.0{20..60..3}; do
		"$KMT" mount --daemon "$M" 3>&- &
		job=$!
		JOBS+=("$job")
		sleep "$after"
		kill -TERM "$job" 2>/dev/null || true
		if wait "$job"; then
			[ -r "$M/README" ] || fail "after $after: status 0 and no mount"
			umount "$M"
		else
			ended=$((ended + 1))
		fi
		until_true 60 eval '! pgrep -f "mount --daemon $M\$"' ||
			fail "after $after it goes on: $(pgrep -fa "mount --daemon $M\$")"
		expect "mounts after $after" "$(grep -c " $M " /proc/self/mountinfo)" = 0
	done
	expect "ended in time" "$ended" -ge 1
}

@test "a group may read the statistics and nothing else" {
	mounted --stat-group daemon
	local as=(setpriv --reuid=65534 --regid="$(getent group daemon | cut -d: -f3)" --clear-groups)
	"${as[@]}" cat "$M/trace_stat/call_site" >/dev/null
	run "${as[@]}" cat "$M/trace"
	[[ $output == *"Permission denied"* ]] || fail "trace: $output"
	run "${as[@]}" bash -c "echo 0 > $M/trace_stat/call_site"
	[[ $output == *"Permission denied"* ]] || fail "reset: $output"
	run setpriv --reuid=65534 --regid=65534 --clear-groups cat "$M/trace_stat/call_site"
	[[ $output == *"Permission denied"* ]] || fail "another group: $output"
}

@test "options of mount(8): a limit of reads, none at all, another subtype" {
	local options
	for options in max_read=4096 "" subtype=other,fsname=other; do
		run "$KMT" mount --daemon -o "$options" "$M"
		expect "status with '$options'" "$status" = 0
		expect "lines with '$options'" "$(grep -c 'echo kmemtrace > current_tracer' "$M/README")" = 1
		# by its type a dead one is known as ours
		grep -q " $M fuse.kmemtrace " /proc/mounts || fail "$options: $(grep " $M " /proc/mounts)"
		umount "$M"
	done
}

@test "a directory or a machine that will not do: one line" {
	run "$KMT" mount
	expect "no directory" "$status" = 2
	touch "$M/file"
	run "$KMT" mount "$M"
	expect "status, not empty" "$status" = 2
	expect "not empty" "$output" = "kmemtrace: '$M' is not empty"
	rm "$M/file"
	run "$KMT" mount "$M/nothing"
	expect "not there" "$status" = 2
	run "$KMT" mount --daemon -o nonsense "$M"
	expect "status, options" "$status" = 2
	expect "lines of it" "${#lines[@]}" = 1
	run "$KMT" mount --daemon -o nosuid,x=1,y "$M"
	expect "what is wrong with them" "$output" = \
		"kmemtrace: cannot mount: unknown option(s): \`-o x=1,y'"
	run "$KMT" mount --stat-group no-such-group "$M"
	expect "status, group" "$status" = 2
	run unshare -m bash -c "mount -t tmpfs none /dev && exec '$KMT' mount '$M'"
	expect "status, no /dev/fuse" "$status" = 3
	expect "lines without /dev/fuse" "${#lines[@]}" = 1
	run ! mountpoint -q "$M"
}

# A BPF file system of the test's own, for sessions, and messages under a name of their
# own: those of others on this machine are none of ours.
sessions() {
	export KMEMTRACE_BPFFS=$D/bpffs
	mkdir -p "$KMEMTRACE_BPFFS"
	mount -t bpf none "$KMEMTRACE_BPFFS" 2>/dev/null || skip "no BPF file system can be mounted"
	ME=mq$$
	cp "$LOAD/msgq" "$D/$ME"
}

# hold N SIZE: messages that stay until let_go.
hold() {
	mkfifo "$D/go"
	"$D/$ME" -n "$1" -s "$2" -d -w "$D/go" -p "$D/phase" 3>&-
}

# refused ERRNO-TEXT COMMAND: a shell command in the directory.
refused() {
	run bash -c "cd '$M' && $2"
	[ "$status" != 0 ] || fail "not refused: $2"
	[[ $output == *"$1"* ]] || fail "$2: $output"
}

@test "--session: statistics of a kept session, which goes on" {
	sessions
	"$KMT" start s --sites 1000 --objects-kb 64 -f "task=$ME" >"$D/said" 2>"$ERR"
	hold 500 1000
	mounted --session s
	# 500 messages, 48 bytes more each, of a cache of 2048 bytes
	local file=$M/trace_stat/call_site
	expect live "$(sum_cells "$file" live "$SITE")" = 500
	expect allocs "$(sum_cells "$file" allocs "$SITE")" = 500
	expect "bytes asked for" "$(sum_cells "$file" req_bytes "$SITE")" = 524000
	expect "bytes given" "$(sum_cells "$file" live_bytes "$SITE")" = 1024000
	expect "live objects" "$(cells "$M/trace_stat/object" req_bytes "$SITE" | grep -c '^1048$')" = 500
	let_go
	# read anew
	expect live "$(sum_cells "$file" live "$SITE")" = 0
	expect frees "$(sum_cells "$file" frees "$SITE")" = 500
	local each
	for each in "$M"/trace_stat/*; do
		[ "$(head -n 1 "$each" | wc -w)" -ge 2 ] || fail "$each has no titles"
	done
	expect "no events" "$(grep -vc '^#' "$M/trace")" = 0
	# what status counts by reason, and nothing else besides what was not kept
	"$KMT" status s --format json >"$OUT"
	grep -o '^[a-z_]*' "$M/overruns" | sort >"$D/reasons"
	jq -r '.rows[0] | keys[]' "$OUT" | grep -E "$(paste -sd'|' "$D/reasons")" |
		grep -vE '^(lost)$' | sort >"$D/columns"
	expect reasons "$(grep -v lost_unknown "$D/reasons" | paste -sd' ')" = "$(paste -sd' ' "$D/columns")"
	expect untold "$(grep -c '^misses_untold: ' "$M/overruns")" = 1
	kill -INT "$DAEMON"
	ended "$DAEMON"
	"$KMT" stat --session s --format json --limit 0 >"$OUT"
	expect "goes on" "$(sum allocs "$SITE")" = 500
}

@test "--session: settings are those it was started with, and nothing can be written" {
	sessions
	"$KMT" start s --sites 1000 --objects-kb 64 --stacks -f tgid=1 -f pid=$$ -f 'cache=kmalloc-*' \
		-f cache=dentry -f 'cache!=kmalloc-rcl-*' >"$D/said" 2>"$ERR"
	mounted --session s
	cd "$M"
	expect tracer "$(cat current_tracer)" = kmemtrace
	expect on "$(cat tracing_on)" = 1
	expect pids "$(paste -sd' ' set_event_pid)" = "1 $$"
	expect caches "$(paste -sd' ' cache_filter)" = "kmalloc-* dentry"
	expect "caches left out" "$(paste -sd' ' cache_notrace)" = "kmalloc-rcl-*"
	# the next power of two
	expect sites "$(cat call_site_table)" = 1024
	# 64 KiB, or what is left of it for whole rows
	expect objects "$(cat object_table_kb)" -ge 60
	expect objects "$(cat object_table_kb)" -le 64
	expect stacks "$(cat options/stacktrace)" = 1
	expect "kept events" "$(cat buffer_size_kb) $(cat buffer_total_size_kb)" = "0 0"
	local file
	for file in "nop >current_tracer" "0 >tracing_on" "1 >set_event_pid" "1 >>set_event_pid" \
		    "x >cache_filter" "x >cache_notrace" "64 >object_table_kb" \
		    "1000 >call_site_table" "64 >buffer_size_kb" "0 >options/stacktrace" \
		    "1 >options/kmem_gfp" "nokmem_time >trace_options" ">trace" \
		    "0 >trace_stat/call_site" "0 >trace_stat/overflow"; do
		refused "Read-only file system" "echo $file"
	done
	refused "Operation not permitted" "mkdir instances/x"
	expect "as before" "$(cat call_site_table) $(cat options/stacktrace)" = "1024 1"
	# when it is gone the directory says so
	"$KMT" stop s
	expect "tracer, stopped" "$(cat current_tracer)" = nop
	expect "on, stopped" "$(cat tracing_on)" = 0
	refused "No such file or directory" "cat trace_stat/call_site"
	refused "No such file or directory" "cat call_site_table"
	cd /
	expect "said on standard error" "$(cat "$ERR")" = ""
}

@test "--session: rows by process are no call sites; no such session" {
	sessions
	"$KMT" start t --by task -f "task=$ME" >"$D/said" 2>"$ERR"
	mounted --session t
	hold 100 1000
	refused "not supported" "cat trace_stat/call_site"
	# by which it is counted is all the same to this one
	expect live "$(awk 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		{ n += $(at["live"]) } END { print n }' "$M/trace_stat/slab_cache")" -ge 100
	let_go
	cd /
	expect "said on standard error" "$(cat "$ERR")" = ""
	umount "$M"
	ended "$DAEMON"
	run "$KMT" mount --session nothing "$M"
	expect status "$status" = 4
	[[ $output == *"no session 'nothing', but: t" && ${#lines[@]} = 1 ]] || fail "$output"
}
