#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Filters inside the kernel: what they let through is exact, what they reject is absent.

load lib.bash

setup_file() { live_setup_file; }
setup() { live_setup; need_bpf; SITE=$(msg_site); }
teardown() { live_teardown; }

# Sites other than that function, in $OUT.
other_sites() {
	jq --arg f "$1" "$JQ_SITE [.rows[] | select(at(\$f) | not)] | length" "$OUT"
}

# The cache that 1048-byte messages come from.
message_cache() {
	stat_json -- "$LOAD/msgq" -n 10 -s 1000
	jq -r --arg f "$SITE" "$JQ_SITE first(.rows[] | select(at(\$f)) | .cache)" "$OUT"
}

# one_line_error STATUS WORD COMMAND...: fails, with one line that names the cause.
one_line_error() {
	local want=$1 word=$2 status=0
	shift 2
	"$@" >"$D/stdout" 2>"$ERR" || status=$?
	expect "exit status" "$status" = "$want"
	expect "lines on standard error" "$(wc -l <"$ERR")" = 1
	expect "bytes on standard output" "$(wc -c <"$D/stdout")" = 0
	grep -qF -- "$word" "$ERR" || fail "'$word' is not named: $(cat "$ERR")"
}

@test "site=load_msg: nothing else is counted" {
	stat_json --filter "site=$SITE" -- "$LOAD/msgq" -n 400 -s 1000
	expect allocs "$(sum allocs "$SITE")" = 400
	expect frees "$(sum frees "$SITE")" = 400
	expect "rows of other sites" "$(other_sites "$SITE")" = 0
}

@test "cache=GLOB lets one cache through, cache!=GLOB leaves it out" {
	local cache
	cache=$(message_cache)
	stat_json --filter "cache=$cache" -- "$LOAD/msgq" -n 400 -s 1000
	expect allocs "$(sum allocs "$SITE")" = 400
	expect frees "$(sum frees "$SITE")" = 400
	expect "rows of other caches" "$(jq --arg c "$cache" '[.rows[] | select(.cache != $c)] | length' "$OUT")" = 0
	stat_json --filter "cache!=$cache" -- bash -c "'$LOAD/msgq' -n 400 -s 1000; exec '$LOAD/forkstorm' -t 100"
	expect "allocs left out" "$(sum allocs "$SITE")" = 0
	expect "rows of that cache" "$(jq --arg c "$cache" '[.rows[] | select(.cache == $c)] | length' "$OUT")" = 0
	expect "rows of others" "$(jq '.rows | length' "$OUT")" -gt 10
}

@test "a glob with a star matches the family" {
	local cache
	cache=$(message_cache)
	stat_json --filter "cache=${cache%-*}-*" -- bash -c \
		"'$LOAD/msgq' -n 100 -s 1000; '$LOAD/msgq' -n 100 -s 52; '$LOAD/msgq' -n 100 -s 3000"
	expect allocs "$(sum allocs "$SITE")" = 300
}

@test "size: a range lets through what was requested in it" {
	local three="'$LOAD/msgq' -n 100 -s 52; '$LOAD/msgq' -n 200 -s 1000; '$LOAD/msgq' -n 300 -s 3000"
	stat_json --filter size=1048 -- bash -c "$three"
	expect "exactly 1048" "$(sum allocs "$SITE")" = 200
	expect "exactly 1048, bytes" "$(sum bytes_requested "$SITE")" = 209600
	stat_json --filter size=1000..3048 -- bash -c "$three"
	expect "1000..3048" "$(sum allocs "$SITE")" = 500
	stat_json --filter 'size>=1049' -- bash -c "$three"
	expect "from 1049" "$(sum allocs "$SITE")" = 300
	stat_json --filter 'size<=1047' -- bash -c "$three"
	expect "up to 1047" "$(sum allocs "$SITE")" = 100
	expect "bytes of those" "$(sum bytes_requested "$SITE")" = 10000
}

@test "tgid=PID: that process only" {
	mkfifo "$D/start"
	background "$LOAD/msgq" -W "$D/start" -n 100 -s 1000 -p "$D/phase"
	local pid=$JOB
	stat_json --filter "tgid=$pid" -- bash -c ": >'$D/start'
		until grep -q received '$D/phase'; do sleep 0.05; done 2>/dev/null
		'$LOAD/msgq' -n 300 -s 1000"
	expect allocs "$(sum allocs "$SITE")" = 100
	expect frees "$(sum frees "$SITE")" = 100
}

@test "tgid=PID without --follow leaves its children out, with --follow takes them in" {
	local follow
	for follow in "" --follow; do
		rm -f "$D/start" "$D/phase"
		mkfifo "$D/start"
		background bash -c "read -r x <'$D/start'; '$LOAD/msgq' -n 100 -s 1000 -p '$D/phase'; true"
		stat_json --filter "tgid=$JOB" $follow -- bash -c "echo go >'$D/start'
			until grep -q received '$D/phase'; do sleep 0.05; done 2>/dev/null"
		expect "allocs ($follow)" "$(sum allocs "$SITE")" = "$([ -z "$follow" ] && echo 0 || echo 100)"
	done
}

@test "--follow -- CMD: the command and its children, nobody else" {
	mkfifo "$D/start"
	background "$LOAD/msgq" -W "$D/start" -n 300 -s 1000 -p "$D/phase"
	stat_json --follow -- bash -c ": >'$D/start'
		until grep -q received '$D/phase'; do sleep 0.05; done 2>/dev/null
		'$LOAD/msgq' -n 70 -s 1000; (bash -c \"'$LOAD/msgq' -n 30 -s 1000; true\"); true"
	expect allocs "$(sum allocs "$SITE")" = 100
}

@test "task=GLOB: by name of the task" {
	stat_json --filter 'task=msg*' -- bash -c "'$LOAD/msgq' -n 100 -s 1000; exec '$LOAD/mprotect' -k 5"
	expect allocs "$(sum allocs "$SITE")" = 100
	stat_json --filter 'task=mprot*' -- bash -c "'$LOAD/msgq' -n 100 -s 1000; exec '$LOAD/mprotect' -k 5"
	expect allocs "$(sum allocs "$SITE")" = 0
	expect "rows of mprotect" "$(jq '.rows | length' "$OUT")" -gt 0
}

@test "two filters of different kinds: both must hold" {
	stat_json --filter "site=$SITE" --filter 'size>=2000' -- bash -c \
		"'$LOAD/msgq' -n 100 -s 1000; '$LOAD/msgq' -n 200 -s 3000"
	expect allocs "$(sum allocs "$SITE")" = 200
}

streamed() {
	"$KMT" trace --buffer 16M "$@" >"$D/events" 2>"$ERR" || fail "$(cat "$ERR")"
}

@test "the stream is filtered as the books are" {
	lossless streamed --filter "site=$SITE" -- "$LOAD/msgq" -n 400 -s 1000
	"$MODEL" default "$SITE" <"$D/events" >"$OUT"
	expect allocs "$(value "sites.$SITE.allocs")" = 400
	expect "live at the end" "$(value "sites.$SITE.live_objects")" = 0
	expect "frees of others" "$(value frees_unknown)" = 0
	expect events "$(value events)" = 800
}

@test "kmemtrace's own allocations are left out, and taken in with --own" {
	stat_json --for 1s
	expect "own events" "$(value quality.own)" != null
	# by a name that no other kmemtrace on this machine has
	cp "$KMT" "$D/kmtown.$$"
	KMT=$D/kmtown.$$
	stat_json --filter "task=kmtown.$$" --for 1s
	expect "rows" "$(jq '.rows | length' "$OUT")" = 0
	stat_json --filter "task=kmtown.$$" --own --for 1s --interval 100ms
	[ "$(jq -s '[.[].rows | length] | max' "$OUT")" -gt 0 ] || fail "no own event in a second"
}

@test "unknown names are errors, in one line" {
	one_line_error 2 nosuchmodule "$KMT" stat --filter module=nosuchmodule --for 1s
	one_line_error 2 no_such_function "$KMT" stat --filter site=no_such_function --for 1s
}

@test "bad globs, sizes and numbers are usage errors, in one line" {
	one_line_error 2 '[abc' "$KMT" stat --filter 'cache=[abc' --for 1s
	one_line_error 2 abc "$KMT" stat --filter size=abc --for 1s
	one_line_error 2 10..5 "$KMT" stat --filter size=10..5 --for 1s
	one_line_error 2 -- "$KMT" stat --filter tgid=-1 --for 1s
	one_line_error 2 "" "$KMT" stat --objects 99999999999999 --for 1s
	one_line_error 2 "" "$KMT" trace --buffer 1 --for 1s
}

@test "cgroup=DIR: tasks in the group and below it, nobody else" {
	grep -qw cgroup2 /proc/filesystems || skip "kernel has no cgroup v2"
	CGROOT=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	[ -n "$CGROOT" ] || skip "cgroup v2 is not mounted"
	local group=$CGROOT/kmtlive-$$
	mkdir -p "$group/below" || skip "no cgroup can be made"
	local status=0
	stat_json --filter "cgroup=$group" -- bash -c "'$LOAD/msgq' -n 300 -s 1000
		(echo \$BASHPID >'$group/cgroup.procs'; '$LOAD/msgq' -n 70 -s 1000; true)
		(echo \$BASHPID >'$group/below/cgroup.procs'; '$LOAD/msgq' -n 30 -s 1000; true)" || status=$?
	expect "exit status" "$status" = 0
	expect allocs "$(sum allocs "$SITE")" = 100
	# by its path below the mount, as views have it
	stat_json --filter "cgroup=${group#"$CGROOT"}" -- bash -c "
		(echo \$BASHPID >'$group/cgroup.procs'; '$LOAD/msgq' -n 70 -s 1000; true)" || status=$?
	until_true 5 rmdir "$group/below"
	until_true 5 rmdir "$group"
	expect "exit status" "$status" = 0
	expect source "$(value quality.source)" = bpf
	expect allocs "$(sum allocs "$SITE")" = 70
}
