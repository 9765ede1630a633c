#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# The tracing directory on the machine's own kernel, used as in 2009: echo, cat, head,
# awk. Messages are allocations of load_msg() that nothing else makes.

load lib.bash
bats_require_minimum_version 1.5.0

setup_file() { live_setup_file; }

setup() {
	live_setup
	need_bpf
	[ -e /dev/fuse ] || skip "no /dev/fuse"
	SITE=$(msg_site)
	M=$D/m
	mkdir "$M"
}

teardown() {
	umount -l "$M" 2>/dev/null || true
	live_teardown
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

events() {
	grep -vc '^#' "$1" || true
}

# column FILE TITLE SITE: the sum over the site's rows.
column() {
	awk -v title="$2" -v site="$3" '
		/^#/ { next }
		!at { for (i = 1; i <= NF; i++) if ($i == title) at = i; n = NF; next }
		index($NF, site) == 1 { sum += $at }
		END { print sum + 0 }' "$1"
}

@test "what a user of 2009 would type" {
	mounted
	cd "$M"
	expect tracers "$(cat available_tracers)" = "kmemtrace nop"
	echo 32768 > buffer_size_kb
	echo kmemtrace > current_tracer
	hold_messages 100
	let_go
	echo 0 > tracing_on
	cat trace >"$D/lines"
	echo kmem_minimalistic > trace_options
	cat trace >"$D/table"
	echo nokmem_minimalistic > trace_options
	cat trace >"$D/again"
	echo nop > current_tracer
	expect "overwritten events" "$(sed -n 's/^overwritten: //p' overruns)" = 0
	# each message is allocated once and freed once; the table names the function
	expect allocations "$(grep -c "^  + .* $SITE" "$D/table")" = 100
	cmp "$D/lines" "$D/again"
	# the same events, printed in another way
	expect events "$(events "$D/lines")" = "$(grep -c '^  [-+] ' "$D/table")"
	expect "first line" "$(head -n 1 "$D/lines")" = "# tracer: kmemtrace"
	grep -q '^# ALLOC  TYPE  REQ   GIVEN  FLAGS' "$D/table"
	# any offset and size gives the bytes of one reading
	expect part "$(dd if=trace bs=1000 skip=37 count=1 2>/dev/null | md5sum)" = \
		"$(tail -c +37001 trace | head -c 1000 | md5sum)"
	echo > trace
	expect "events after clearing" "$(events trace)" = 0
	cd /
	kill -INT "$DAEMON"
	ended "$DAEMON"
	run ! mountpoint -q "$M"
}

@test "1000 messages that are held: call_site and object" {
	mounted
	cd "$M"
	echo kmemtrace > current_tracer
	hold_messages 1000
	cat trace_stat/call_site >"$D/sites"
	cat trace_stat/object >"$D/objects"
	expect live "$(column "$D/sites" live "$SITE")" = 1000
	expect "live bytes" "$(column "$D/sites" live_bytes "$SITE")" = 2048000
	expect "requested" "$(column "$D/sites" req_bytes "$SITE")" = 1048000
	expect objects "$(grep -c "$SITE" "$D/objects")" = 1000
	# oldest first
	awk '/^#/ { next } !at { for (i = 1; i <= NF; i++) if ($i == "age_ns") at = i; next }
		NR > 2 && $at > last && last != "" { exit 1 } { last = $at + 0 }' "$D/objects"
	let_go
	expect "live after freeing" "$(column trace_stat/call_site live "$SITE")" = 0
	echo 0 > trace_stat/call_site
	expect "allocs after a reset" "$(column trace_stat/call_site allocs "$SITE")" = 0
	cd /
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

@test "instances: each its own filters, side by side" {
	mounted
	cd "$M"
	mkdir instances/web instances/db
	echo "dentry" > instances/web/cache_filter
	echo "dentry kmalloc-* msg_msg*" > instances/db/cache_notrace
	echo kmemtrace > instances/web/current_tracer
	echo kmemtrace > instances/db/current_tracer
	hold_messages 10
	ls -lR "$ROOT/src" >/dev/null
	let_go
	local caches
	caches=$(awk '/^#/ { next } n++ { print $NF }' instances/web/trace_stat/slab_cache | sort -u)
	[ -z "$caches" ] || expect "caches of web" "$caches" = dentry
	run ! grep -qw dentry instances/db/trace_stat/slab_cache
	expect "messages of db" "$(column instances/db/trace_stat/call_site allocs "$SITE")" = 0
	expect "the root is at rest" "$(cat current_tracer)" = nop
	exec {held}<instances/web/trace
	run rmdir instances/web
	[[ $output == *"Device or resource busy"* ]] || fail "said: $output"
	exec {held}<&-
	rmdir instances/web instances/db
	expect "instances left" "$(ls instances | wc -l)" = 0
	cd /
}

@test "refused writes: errno and error_log" {
	mounted
	cd "$M"
	local text
	for text in "Invalid argument:function:current_tracer" \
		    "Invalid argument:kmem_nothing:trace_options" \
		    "Invalid argument:2:options/kmem_gfp" \
		    "Argument list too long:999999999999:buffer_size_kb"; do
		IFS=: read -r want value file <<<"$text"
		run bash -c "echo $value > $file"
		[[ $output == *"$want"* ]] || fail "$file: $output"
	done
	expect "lines of the log" "$(grep -c 'error: ' error_log)" = 4
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

@test "a group may read the statistics and nothing else" {
	chmod 755 "$D"
	mounted --stat-group daemon
	local as=(setpriv --reuid=65534 --regid="$(getent group daemon | cut -d: -f3)" --clear-groups)
	"${as[@]}" cat "/proc/$DAEMON/root$M/trace_stat/call_site" >/dev/null 2>&1 ||
		"${as[@]}" test -x "$D" || skip "the test's directory is closed to others"
	"${as[@]}" cat "$M/trace_stat/call_site" >/dev/null
	run "${as[@]}" cat "$M/trace"
	[[ $output == *"Permission denied"* ]] || fail "trace: $output"
	run "${as[@]}" bash -c "echo 0 > $M/trace_stat/call_site"
	[[ $output == *"Permission denied"* ]] || fail "reset: $output"
	run setpriv --reuid=65534 --regid=65534 --clear-groups cat "$M/trace_stat/call_site"
	[[ $output == *"Permission denied"* ]] || fail "another group: $output"
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
	run "$KMT" mount --stat-group no-such-group "$M"
	expect "status, group" "$status" = 2
	run unshare -m bash -c "mount -t tmpfs none /dev && exec '$KMT' mount '$M'"
	expect "status, no /dev/fuse" "$status" = 3
	expect "lines without /dev/fuse" "${#lines[@]}" = 1
	run ! mountpoint -q "$M"
}

@test "50 readers and writers at once" {
	mounted
	cd "$M"
	echo kmemtrace > current_tracer
	local i pids=()
	for i in {1..50}; do
		( for n in {1..6}; do
			case $(((i + n) % 6)) in
			0) cat trace_stat/call_site ;;
			1) head -n 100 trace ;;
			2) echo kmem_gfp > trace_options; echo nokmem_gfp > trace_options ;;
			3) timeout 0.3 cat trace_pipe ;;
			4) mkdir "instances/i$i"; cat "instances/i$i/trace"; rmdir "instances/i$i" ;;
			5) cat overruns error_log trace_options; echo x > current_tracer ;;
			esac
		done ) >/dev/null 2>&1 3>&- &
		pids+=("$!")
	done
	for i in "${pids[@]}"; do
		wait "$i" || true
	done
	expect "still answers" "$(cat current_tracer)" = kmemtrace
	expect "instances left" "$(ls instances | wc -l)" = 0
	hold_messages 10
	expect live "$(column trace_stat/call_site live "$SITE")" = 10
	let_go
	echo nop > current_tracer
	cd /
	umount "$M"
	ended "$DAEMON"
}
