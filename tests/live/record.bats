#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# What is recorded comes back to the event, and however recording ends, the
# file opens and nothing stays in the kernel. Messages (msgq.c) are the known
# amounts: N of S bytes are N allocations of S + 48 bytes at load_msg().

load lib.bash
bats_require_minimum_version 1.5.0

setup_file() { live_setup_file; }
setup() { live_setup; need_bpf; SITE=$(msg_site); K=$D/a.kmt; }
teardown() {
	live_teardown
	[ -z "${SMALL:-}" ] || umount "$SMALL" 2>/dev/null || true
}

# The books of a recording, every row, into $OUT.
books() {
	"$KMT" stat --from "$K" --format json --limit 0 --by site,cache "$@" >"$OUT" 2>"$D/err.stat"
}

# expect_messages N BYTES LIVE: what the books say of the messages.
expect_messages() {
	expect allocs "$(sum allocs "$SITE")" = "$1"
	expect requested "$(sum bytes_requested "$SITE")" = $(($1 * ($2 + 48)))
	expect frees "$(sum frees "$SITE")" = $(($1 - $3))
	expect live "$(sum live_objects "$SITE")" = "$3"
	expect untraced "$(sum untraced_frees "$SITE")" = 0
}

one_line() {
	expect "lines on standard error" "$(wc -l <"$ERR")" = 1
}

# recording OPTIONS: in the background, events on; pid in TOOL.
recording() {
	background "$KMT" record -o "$K" "$@" 2>"$ERR"
	TOOL=$JOB
	wait_attached "$TOOL"
}

# record [OPTIONS] -- CMD: into $K, with room for what a busy machine does
record() {
	"$KMT" record --buffer 16M -f -o "$K" "$@" 2>"$ERR" || fail "$(cat "$ERR")"
}

# held_by COMMAND...: with the options of a msgq that holds 1000 messages until it ended
held_by() {
	rm -f "$D/go" "$D/phase"
	mkfifo "$D/go"
	"$@" -- "$LOAD/msgq" -n 1000 -s 1000 -d -w "$D/go" -p "$D/phase"
	: >"$D/go"
	until_true 60 grep -q received "$D/phase"
}

# How many events of messages a recording holds, by printing it.
printed() {
	"$KMT" trace --from "$K" 2>"$D/err.trace" | "$MODEL" default "$SITE" >"$D/model"
	expect "$1 printed" "$(value "sites.$SITE.$1" "$D/model")" = "$2"
}

@test "1000 messages, received: exact counts from stat and from trace" {
	lossless record -- "$LOAD/msgq" -n 1000 -s 1000
	one_line
	books
	expect_messages 1000 1000 0
	expect given "$(sum bytes_allocated "$SITE")" = 2048000
	expect lost "$(value quality.lost_ring)" = 0
	printed allocs 1000
	printed bytes_requested 1048000
	# as many as the line at the end says
	expect events "$(value quality.events)" = "$(grep -oE '[0-9]+ events' "$ERR" | cut -d' ' -f1)"
}

@test "1000 messages, held: live objects, the file is ours alone, caches have their names" {
	lossless held_by record
	books
	expect_messages 1000 1000 1000
	expect "live, given" "$(sum live_bytes_allocated "$SITE")" = 2048000
	expect mode "$(stat -c %a "$K")" = 600
	local name
	name=$(jq -r --arg f "$SITE" "$JQ_SITE [.rows[] | select(at(\$f)) | .cache] | unique | join(\",\")" "$OUT")
	[ -d "/sys/kernel/slab/$name" ] || fail "no such cache: '$name'"
	expect "size of $name" "$(cat "/sys/kernel/slab/$name/object_size")" = 2048
	expect kernel "$(value kernel)" = "$(uname -r)"
}

@test "tasks, CPUs, real nodes; nothing of kmemtrace itself" {
	lossless record -- "$LOAD/msgq" -n 200 -s 1000 -c 0 -r 0
	"$KMT" trace --from "$K" --format table --task --real-node >"$D/events" 2>/dev/null
	expect "sent by msgq on CPU 0" "$(grep -c "^ *+ .* $SITE .* msgq-[0-9]* *0\$" "$D/events")" = 200
	# but for the child that became msgq
	local child
	child=$(grep -oE ' msgq-[0-9]+ ' "$D/events" | head -n 1 | tr -dc 0-9)
	expect "of our threads" "$(grep ' kmemtrace-[0-9]* ' "$D/events" | grep -vc -- "-$child ")" = 0
}

@test "tracefs: the same counts" {
	need_tracefs
	lossless record --source tracefs -- "$LOAD/msgq" -n 1000 -s 1000
	books
	expect_messages 1000 1000 0
	expect lost "$(value quality.lost_ring)" = 0
	expect_nothing_attached
}

@test "only what the filter lets through" {
	lossless record --filter "site=$SITE" -- "$LOAD/msgq" -n 500 -s 1000
	books
	expect_messages 500 1000 0
	expect "allocations of others" "$(total allocs)" = 500
}

@test "books of which a part was filtered out are not compared, and the report says so" {
	local kind
	for kind in "" --aggregate; do
		"$KMT" record $kind --filter "site=$SITE" --force -o "$K" -- \
			"$LOAD/msgq" -n 200 -s 1000 2>"$ERR" || fail "$(cat "$ERR")"
		"$KMT" convert --force "$K" -o "$D/again.kmt" --filter "size=1..8192" 2>"$ERR" ||
			[ -n "$kind" ] || fail "$(cat "$ERR")"
		"$KMT" report "$K" --by cache --format json >"$OUT"
		expect "rows" "$(jq '.rows | length' "$OUT")" = 1
		expect "verdict" "$(jq -r '.rows[0].balance.verdict' "$OUT")" = "not comparable (filtered)"
		expect "said" "$(jq -r '.notes[0]' "$OUT")" = \
			"recorded with --filter site=$SITE: what that left out is in no figure"
		expect "notes of books" "$(jq '[.notes[] | select(test("balance|older than"))] | length' "$OUT")" = 0
	done
	"$KMT" report "$D/again.kmt" --format json >"$OUT"
	expect "said" "$(jq -r '.notes[0]' "$OUT")" = \
		"recorded with --filter site=$SITE --filter size=1..8192: what that left out is in no figure"
}

into_pipe() {
	"$KMT" record --buffer 16M -o - -- "$LOAD/msgq" -n 1000 -s 1000 2>"$ERR" | cat >"$K"
}

@test "into a pipe" {
	lossless into_pipe
	books
	expect_messages 1000 1000 0
}

# The reader sleeps until the storm is over, whatever is in the pipe then.
stalled_reader() {
	rm -f "$D/slow"
	mkfifo "$D/slow"
	rm -f "$D/over"
	{ until [ -e "$D/over" ]; do sleep 0.1; done; cat; } <"$D/slow" >"$K" 3>&- &
	local reader=$!
	JOBS+=("$reader")
	background "$KMT" record --buffer 32M -o - >"$D/slow" 2>"$ERR"
	local tool=$JOB
	wait_attached "$tool"
	"$LOAD/forkstorm" -t 1500
	: >"$D/over"
	kill -INT "$tool"
	wait "$tool" "$reader"
}

@test "a reader that sleeps during a storm costs nothing" {
	lossless stalled_reader
	books
	expect lost "$(value quality.lost_ring)" = 0
	expect events "$(value quality.events)" -gt 10000
}

@test "a stalled reader does not keep ^C from ending it" {
	stalled_pipe
	background "$KMT" record -o - >"$D/pipe" 2>"$ERR"
	local tool=$JOB
	wait_attached "$tool"
	kill -INT "$tool"
	until_true 60 eval "! kill -0 $tool" || fail "still there after 10 s"
	expect_nothing_attached
}

@test "--aggregate: the same books without events" {
	lossless held_by record --aggregate
	books
	expect_messages 1000 1000 1000
	expect "live, requested" "$(sum live_bytes_requested "$SITE")" = 1048000
	expect peak "$(sum peak_bytes_allocated "$SITE")" = 2048000
	expect mode "$(value quality.mode)" = counted
	local n
	n=$("$KMT" stat --from "$K" --by object --limit 0 --format json |
		jq --arg f "$SITE" "$JQ_SITE [.rows[] | select(at(\$f))] | length")
	expect "objects" "$n" = 1000
	expect size "$(stat -c %s "$K")" -lt 2000000
	# what cannot be answered from books is refused, not answered wrongly
	local status=0
	"$KMT" report "$K" --filter "site=$SITE" >"$D/report" 2>"$ERR" || status=$?
	expect "exit status with a filter" "$status" = 4
	grep -q "filters of events come too late" "$ERR" || fail "said: $(cat "$ERR")"
	expect "with a condition on rows" "$("$KMT" report "$K" site --filter "allocs>=1000" \
		--limit 0 --format json | jq --arg f "$SITE" "$JQ_SITE [.rows[] | select(at(\$f))] | length")" -ge 1
}

@test "stat -o: the report, and the same books in a file" {
	mkfifo "$D/go"
	stat_json -o "$K" -- "$LOAD/msgq" -n 1000 -s 1000 -d -w "$D/go" -p "$D/phase"
	: >"$D/go"
	expect_messages 1000 1000 1000
	cp "$OUT" "$D/report"
	books
	expect_messages 1000 1000 1000
	# row by row and loss by loss what the report said; ages are of the same moment
	local keys='[.rows[] | {site, cache, type, allocs, frees, bytes_requested, live_objects,
		live_bytes_allocated, peak_bytes_allocated, temporary, untraced_frees}] | sort_by(tostring)'
	expect rows "$(jq -c "$keys" "$OUT")" = "$(jq -c "$keys" "$D/report")"
	keys='.quality | {events, frees_before_start, untraced_frees, own, null_frees, lost_ring, lost_objects}'
	expect quality "$(jq -c "$keys" "$OUT")" = "$(jq -c "$keys" "$D/report")"
	local status=0
	stat_json -o "$K" --for 1s || status=$?
	expect "exit status for an existing file" "$status" = 3
}

@test "an existing file is refused and left as it is; -f overwrites it" {
	echo precious >"$K"
	local status=0
	"$KMT" record -o "$K" --for 1s 2>"$ERR" || status=$?
	expect "exit status" "$status" = 3
	one_line
	grep -q "exists already" "$ERR" || fail "said: $(cat "$ERR")"
	expect content "$(cat "$K")" = precious
	# refused for another reason: still left as it is
	"$KMT" record -f -o "$K" --source nope --for 1s 2>"$ERR" || true
	expect content "$(cat "$K")" = precious
	lossless record -- "$LOAD/msgq" -n 100
	books
	expect_messages 100 1000 0
}

@test "a file that another one is writing is refused, and left as it is" {
	local status=0 command
	recording --buffer 16M
	for command in "record" "record --aggregate" "stat"; do
		status=0
		"$KMT" $command --force -o "$K" --for 1s >"$D/stdout" 2>"$ERR" || status=$?
		expect "exit status of $command" "$status" = 3
		one_line
		grep -q "is being written by another process" "$ERR" || fail "said: $(cat "$ERR")"
	done
	status=0
	"$KMT" convert -f "$ROOT/tests/golden/samples/default-2008.txt" -o "$K" 2>"$ERR" || status=$?
	expect "exit status of convert" "$status" = 3
	"$LOAD/msgq" -n 100 -s 1000
	kill -INT "$TOOL"
	wait "$TOOL"
	books
	expect allocs "$(sum allocs "$SITE")" = 100
	expect "damaged" "$(value quality.lost_input)" = 0
	# and then it may be
	"$KMT" record -f -o "$K" --for 10ms 2>"$ERR"
}

@test "a directory, a missing directory, a closed standard output: one line, status 3" {
	local status target
	for target in "$D" "$D/none/a.kmt"; do
		status=0
		"$KMT" record -o "$target" --for 1s 2>"$ERR" || status=$?
		expect "exit status for $target" "$status" = 3
		one_line
	done
	status=0
	"$KMT" record -o - --for 1s 2>"$ERR" >&- || status=$?
	expect "exit status for a closed descriptor" "$status" = 3
	one_line
	status=0
	: >"$K"
	echo x >>"$K"
	"$KMT" record -o - --for 1s 2>"$ERR" >>"$K" || status=$?
	expect "exit status for appending" "$status" = 2
	one_line
}

@test "not root: status 3, one line, no file" {
	local dir status=0
	dir=$(mktemp -d /tmp/live-nobody.XXXXXX)
	chmod 777 "$dir"
	cp "$KMT" "$dir/kmemtrace"
	chmod 755 "$dir/kmemtrace"
	setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all \
		"$dir/kmemtrace" record -o "$dir/a.kmt" --for 1s 2>"$ERR" || status=$?
	local left=0
	[ ! -e "$dir/a.kmt" ] || left=1
	rm -r "$dir"
	expect "exit status" "$status" = 3
	one_line
	expect "file left" "$left" = 0
}

@test "the command's exit status is passed on; one that does not exist leaves no file" {
	local status=0
	"$KMT" record -o "$K" -- sh -c 'exit 7' 2>"$ERR" || status=$?
	expect "exit status" "$status" = 7
	status=0
	"$KMT" record -o "$D/b.kmt" -- /no/such/command 2>"$ERR" || status=$?
	expect "exit status" "$status" = 2
	one_line
	[ ! -e "$D/b.kmt" ] || fail "a file was left"
}

ended_by() {
	local status=0
	recording -f --buffer 16M
	"$LOAD/msgq" -n 300 -s 1000
	kill -"$1" "$TOOL"
	wait "$TOOL" || status=$?
	expect "exit status after SIG$1" "$status" = 0
}

@test "SIGINT, SIGTERM, SIGHUP: a whole file, status 0" {
	local sig
	for sig in INT TERM HUP; do
		K=$D/$sig.kmt
		lossless ended_by "$sig"
		books
		expect_messages 300 1000 0
		expect lost "$(value quality.lost_input)" = 0
	done
	expect_nothing_attached
}

# Is what was freed last in the file? It grows meanwhile.
in_file() {
	books || true
	[ "$(sum frees "$SITE")" = 300 ] || [ "$(value quality.lost_ring)" != 0 ]
}

# The file says by itself what was lost: nothing else is said.
killed() {
	recording -f --buffer 16M
	"$LOAD/msgq" -n 300 -s 1000
	until_true 60 in_file || fail "not in the file after 20 s: $(cat "$D/err.stat")"
	kill -KILL "$TOOL"
	wait "$TOOL" 2>/dev/null || true
	books || true
}

ring_lossless() { [ "$(value quality.lost_ring)" = 0 ]; }

@test "SIGKILL: what was written is in the file, nothing is left in the kernel" {
	killed
	ring_lossless || killed
	ring_lossless || killed
	ring_lossless || killed
	expect_messages 300 1000 0
	expect_nothing_attached
}

@test "SIGKILL with tracefs: the next start removes what was left" {
	need_tracefs
	background "$KMT" record --source tracefs -o "$K" 2>"$ERR"
	local tool=$JOB
	tracefs_mount
	until_true 60 [ -d "$TRACEFS/instances/kmemtrace-$tool" ]
	kill -KILL "$tool"
	wait "$tool" 2>/dev/null || true
	"$KMT" record --source tracefs -o "$D/b.kmt" --for 100ms 2>"$ERR"
	[ ! -d "$TRACEFS/instances/kmemtrace-$tool" ] || fail "an instance is left"
	"$KMT" stat --from "$K" >/dev/null 2>&1 || true
}

# small_disk BYTES: a file system of that size in SMALL.
small_disk() {
	SMALL=$D/small
	mkdir "$SMALL"
	mount -t tmpfs -o "size=$1" none "$SMALL"
	K=$SMALL/a.kmt
}

@test "a full disk: status 3, one line, the file opens up to its last whole block" {
	small_disk 3m
	local status=0
	"$KMT" record -o "$K" -- "$LOAD/forkstorm" -t 60000 2>"$ERR" || status=$?
	expect "exit status" "$status" = 3
	one_line
	grep -q "cannot write to .*a.kmt.*No space left" "$ERR" || fail "said: $(cat "$ERR")"
	"$KMT" trace --from "$K" >"$D/events" 2>"$D/err.trace" || true
	expect "events that can be read" "$(wc -l <"$D/events")" -gt 65536
	expect_nothing_attached
}

@test "a disk that is full from the start: status 3, one line" {
	small_disk 64k
	local status=0
	"$KMT" record -o "$K" --for 10s 2>"$ERR" || status=$?
	expect "exit status" "$status" = 3
	one_line
	expect_nothing_attached
}

@test "--max-size: an end like any other" {
	local status=0
	"$KMT" record --max-size 2M -o "$K" -- "$LOAD/forkstorm" -t 60000 2>"$ERR" || status=$?
	grep -q "maximum of 2097152" "$ERR" || fail "said: $(cat "$ERR")"
	expect size "$(stat -c %s "$K")" -le 2097152
	expect size "$(stat -c %s "$K")" -gt 1500000
	books
	expect "input lost" "$(value quality.lost_input)" = 0
	expect events "$(value quality.events)" = "$(grep -oE '[0-9]+ events' "$ERR" | cut -d' ' -f1)"
	expect_nothing_attached
}

# A storm until the file has been filled several times over, then messages.
ring_run() {
	recording -f --ring 1M --buffer 32M
	"$LOAD/forkstorm" -t 4000
	"$LOAD/msgq" -n 1000 -s 1000
	kill -INT "$TOOL"
	wait "$TOOL"
}

@test "--ring: the file stays small and holds the last events" {
	lossless ring_run
	expect size "$(stat -c %s "$K")" -lt 2500000
	books
	expect allocs "$(sum allocs "$SITE")" = 1000
	expect frees "$(sum frees "$SITE")" = 1000
	local told
	told=$(grep -oE '[0-9]+ events' "$ERR" | cut -d' ' -f1)
	expect "events that are left" "$("$KMT" trace --from "$K" 2>/dev/null | wc -l)" -lt "$told"
}

@test "losses are in the file; --strict: status 5" {
	local status=0
	"$KMT" record --strict --no-realtime --buffer 4K -o "$K" -- "$LOAD/forkstorm" -t 1500 2>"$ERR" || status=$?
	expect "exit status" "$status" = 5
	books
	local told
	told=$(grep -oE '[0-9]+ lost \(ring' "$ERR" | cut -d' ' -f1)
	expect told "$told" -gt 0
	expect lost "$(value quality.lost_ring)" = "$told"
}

@test "progress on a terminal only" {
	script -qec "'$KMT' record -o '$K' --for 2s" /dev/null >"$D/terminal" </dev/null
	grep -q $'\rkmemtrace: .* events ([0-9]*/s), [0-9]* lost, ' "$D/terminal" ||
		fail "no progress: $(cat -v "$D/terminal")"
	"$KMT" record -f -o "$K" --for 2s 2>"$ERR"
	one_line
	! grep -q $'\r' "$ERR" || fail "progress in a pipe"
	# and no recording onto a terminal
	local status=0
	script -qec "'$KMT' record -o - --for 1s" /dev/null >"$D/terminal" </dev/null || status=$?
	expect "exit status" "$status" = 2
}

@test "a file that may not grow: status 3, one line, no death by a signal" {
	run --separate-stderr bash -c 'ulimit -f 300; "$0" record -o "$1" --for 1s' "$KMT" "$K"
	expect "exit status" "$status" = 3
	[[ $stderr == *"File too large"* ]] || fail "said '$stderr'"
}

@test "--max-size that the symbols alone exceed: refused, and no file" {
	run --separate-stderr "$KMT" record --max-size 64K -o "$K" --for 1s
	expect "exit status" "$status" = 2
	[[ $stderr == *"--max-size is too small"* ]] || fail "said '$stderr'"
	[ ! -e "$K" ] || fail "a file was left"
}

@test "stat -o on a full disk: the report all the same" {
	run --separate-stderr "$KMT" stat --force -o /dev/full --for 1s --format json
	expect "exit status" "$status" = 3
	[[ $stderr == *"No space left"* ]] || fail "said '$stderr'"
	expect view "$(jq -r .view <<<"$output")" = site,cache
}
