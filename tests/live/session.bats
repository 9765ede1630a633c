#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Sessions that go on without a process, in a BPF file system of the test's own:
# what they count, that they keep apart, that a killed command leaves a whole one
# or none, and that nothing stays when they end.

load lib.bash

setup_file() { live_setup_file; }

setup() {
	live_setup
	need_bpf
	SITE=$(msg_site)
	# a name of its own: messages of others on this machine are none of ours
	ME=mq$$
	cp "$LOAD/msgq" "$D/$ME"
	export KMEMTRACE_BPFFS=$D/bpffs
	PLACE=$KMEMTRACE_BPFFS/kmemtrace
	mkdir -p "$KMEMTRACE_BPFFS"
	mount -t bpf none "$KMEMTRACE_BPFFS" 2>/dev/null || skip "no BPF file system can be mounted"
}

teardown() {
	"$KMT" stop --all >/dev/null 2>&1
	umount "$KMEMTRACE_BPFFS" 2>/dev/null
	live_teardown
}

# start [NAME] [OPTIONS]; mine: only what the test's own messages do.
start() {
	"$KMT" start "$@" >"$D/said" 2>"$ERR" || fail "start: $(cat "$ERR")"
}

mine() {
	start "$@" -f "task=$ME"
}

# session_json NAME [OPTIONS]: every row, into $OUT.
session_json() {
	"$KMT" stat --session "$1" --format json --limit 0 "${@:2}" >"$OUT" 2>"$ERR" ||
		fail "stat --session $1: $(cat "$ERR")"
}

# hold NAME N SIZE: messages that are held until let_go; $D/phase.NAME tells.
hold() {
	mkfifo "$D/go.$1"
	"$D/$ME" -n "$2" -s "$3" -d -w "$D/go.$1" -p "$D/phase.$1" 3>&-
}

let_go() {
	: >"$D/go.$1"
	until_true 10 grep -q received "$D/phase.$1"
}

# refused STATUS PATTERN COMMAND...: one line on standard error.
refused() {
	local status=0
	"$KMT" "${@:3}" >"$OUT" 2>"$ERR" || status=$?
	expect "status of $3" "$status" = "$1"
	expect "lines" "$(wc -l <"$ERR")" = 1
	grep -q -- "$2" "$ERR" || fail "$3 said: $(cat "$ERR")"
}

# Ids of what is pinned in a session, without its sixteen smaller maps: "prog 12", "map 7".
ids_of() {
	local pin
	for pin in "$PLACE/$1"/prog_*; do
		bpftool -j prog show pinned "$pin" | jq -r '"prog \(.id)"'
	done
	for pin in "$PLACE/$1"/{description,globals,tables}; do
		bpftool -j map show pinned "$pin" | jq -r '"map \(.id)"'
	done
}

# Of the ids in file $1, which the kernel still has.
still_there() {
	{
		bpftool -j prog show | jq -r '.[] | "prog \(.id)"'
		bpftool -j map show | jq -r '.[] | "map \(.id)"'
	} | sort -u | comm -12 - <(sort -u "$1") | grep .
}

all_gone() {
	! still_there "$1"
}

expect_gone() {
	until_true 20 all_gone "$1" || fail "still there: $(still_there "$1" | tr '\n' ' ')"
}

# --- what is counted ---------------------------------------------------------------

@test "1000 messages of 1000 bytes, held and received: to the byte" {
	mine
	hold a 1000 1000
	session_json default
	expect source "$(value quality.source)" = session
	expect allocs "$(sum allocs "$SITE")" = 1000
	expect live "$(sum live_objects "$SITE")" = 1000
	expect requested "$(sum live_bytes_requested "$SITE")" = 1048000
	expect given "$(sum live_bytes_allocated "$SITE")" = 2048000
	expect peak "$(sum peak_bytes_allocated "$SITE")" = 2048000
	let_go a
	session_json default
	expect allocs "$(sum allocs "$SITE")" = 1000
	expect frees "$(sum frees "$SITE")" = 1000
	expect live "$(sum live_objects "$SITE")" = 0
	# nobody saw them live in this reading
	expect peak "$(sum peak_bytes_allocated "$SITE")" = 0
	grep -q "goes on without a process" "$OUT" || fail "no note on peaks"
}

@test "the books begin with the kernel's counts of the start" {
	start
	hold a 1000 1000
	session_json default --by cache
	let_go a
	local cache net
	# the cache of at least these thousand: what the kernel counts rose by as many
	cache=$(jq -c '[.rows[] | select(.object_size == 2048 and .live_objects >= 1000)][0]' "$OUT")
	[ -n "$cache" ] && [ "$cache" != null ] || skip "no cache of 2048 bytes has a size here"
	expect traced "$(jq .balance.traced_net <<<"$cache")" -ge 900
	expect real "$(jq .balance.real_net <<<"$cache")" -ge 500
}

@test "a reader killed while it was awake is not whoever gets its number" {
	local reader tries=200
	[ -w /proc/sys/kernel/ns_last_pid ] || skip "numbers of processes cannot be chosen here"
	mine
	mkfifo "$D/out"
	exec {PIPE}<>"$D/out"
	# nobody reads: it fills the pipe and waits, at work
	background "$KMT" stat --session default --interval 20ms --format ndjson >"$D/out"
	reader=$JOB
	until_true 30 grep -q poll "/proc/$reader/stack" || fail "it does not wait for its output"
	kill -KILL "$reader"
	wait "$reader" || true
	until [ "$JOB" = "$reader" ] && [ "$tries" -lt 200 ]; do
		tries=$((tries - 1))
		[ "$tries" -gt 0 ] || skip "its number was never free"
		echo $((reader - 1)) >/proc/sys/kernel/ns_last_pid
		background "$D/$ME" -n 100 -s 1000
		wait "$JOB"
	done
	session_json default
	expect allocs "$(sum allocs "$SITE")" = $(((200 - tries) * 100))
	expect frees "$(sum frees "$SITE")" = $(((200 - tries) * 100))
}

@test "a session and a recording of the same run agree" {
	mine
	"$KMT" record --filter "task=$ME" -o "$D/r.kmt" -- bash -c "'$D/$ME' -n 2000 -s 1000 && '$D/$ME' -n 700 -s 52" \
		>"$D/record.out" 2>"$ERR"
	session_json default
	# by size: who may say which cache it was differs between streams and tables
	local rows="$JQ_SITE"' [.rows[] | select(at($f) and .allocs > 0)] | group_by(.bytes_allocated / .allocs)
		| map([.[0].bytes_allocated / .[0].allocs, (map(.allocs) | add), (map(.frees) | add),
		       (map(.bytes_requested) | add), (map(.live_objects) | add)])'
	jq -c --arg f "$SITE" "$rows" "$OUT" >"$D/session"
	"$KMT" stat --from "$D/r.kmt" --format json --limit 0 >"$D/recorded.json"
	jq -c --arg f "$SITE" "$rows" "$D/recorded.json" >"$D/recorded"
	# given bytes, allocations, frees, requested bytes, live: 52 + 48 and 1000 + 48
	expect session "$(cat "$D/session")" = "[[128,700,700,70000,0],[2048,2000,2000,2096000,0]]"
	expect recorded "$(cat "$D/recorded")" = "$(cat "$D/session")"
}

@test "two sessions with different filters: each has its part and nothing else" {
	local big small
	mine probe
	hold p 10 1000
	hold q 10 52
	session_json probe
	let_go p
	let_go q
	big=$(jq -r --arg f "$SITE" "$JQ_SITE"' [.rows[] | select(at($f) and .bytes_allocated / .allocs == 2048).cache][0]' "$OUT")
	small=$(jq -r --arg f "$SITE" "$JQ_SITE"' [.rows[] | select(at($f) and .bytes_allocated / .allocs == 128).cache][0]' "$OUT")
	mine big -f "cache=$big"
	mine small --stacks -f "cache=$small"
	hold a 600 1000
	hold b 400 52
	session_json big
	expect "caches of big" "$(jq -r '[.rows[].cache] | unique | join(" ")' "$OUT")" = "$big"
	expect "allocs of big" "$(sum allocs "$SITE")" = 600
	expect "live in big" "$(sum live_objects "$SITE")" = 600
	session_json small
	expect "caches of small" "$(jq -r '[.rows[].cache] | unique | join(" ")' "$OUT")" = "$small"
	expect "allocs of small" "$(sum allocs "$SITE")" = 400
	# and what they are read with: conditions on rows
	session_json probe -f 'allocs>=600' -f "cache=$big"
	expect "least of the rows" "$(jq '[.rows[].allocs] | min' "$OUT")" -ge 600
	"$KMT" stop probe
	let_go a
	let_go b
	session_json big
	expect "frees in big" "$(sum frees "$SITE")" = 600
	session_json small
	expect "frees in small" "$(sum frees "$SITE")" = 400
}

@test "reset: statistics begin at zero, what was live is older then" {
	mine w --sites 2000
	hold a 1000 1000
	session_json w
	expect before "$(sum allocs "$SITE")" = 1000
	ids_of w >"$D/ids"
	"$KMT" reset w >"$D/said" 2>"$ERR"
	expect_gone "$D/ids"
	session_json w
	expect "allocs after reset" "$(sum allocs "$SITE")" = 0
	let_go a
	session_json w
	expect "frees of a row" "$(sum frees "$SITE")" = 0
	expect "frees of older objects" "$(value quality.frees_before_start)" -ge 1000
	"$KMT" status w --format json >"$OUT"
	expect "as it was started" "$(value 'rows[0].sites_size')" = 2048
	value 'rows[0].command_line' | grep -q "start w --sites 2000" || fail "$(cat "$OUT")"
	expect "left over" "$(ls "$PLACE")" = w
}

@test "a snapshot opens elsewhere and says the same" {
	mine
	hold a 1000 1000
	"$KMT" snapshot default -o "$D/s.kmt"
	"$KMT" report "$D/s.kmt" site,cache --format json --limit 0 >"$OUT"
	expect live "$(sum live_objects "$SITE")" = 1000
	expect requested "$(sum live_bytes_requested "$SITE")" = 1048000
	refused 3 "exists already" snapshot default -o "$D/s.kmt"
	let_go a
	"$KMT" snapshot default -o "$D/s.kmt" --force
	"$KMT" report "$D/s.kmt" site,cache --format json --limit 0 >"$OUT"
	expect live "$(sum live_objects "$SITE")" = 0
	expect frees "$(sum frees "$SITE")" = 1000
}

@test "a snapshot that has no room leaves no file; too few descriptors are called so" {
	mine small --sites 1000 --objects 4096
	mkdir "$D/tmpfs"
	mount -t tmpfs -o size=16k none "$D/tmpfs"
	refused 3 "No space left" snapshot small -o "$D/tmpfs/s.kmt"
	expect "left" "$(ls "$D/tmpfs")" = ""
	# what is there already stays, until the new one is whole
	echo "an older one" >"$D/tmpfs/s.kmt"
	refused 3 "No space left" snapshot small --force -o "$D/tmpfs/s.kmt"
	expect "the older one" "$(cat "$D/tmpfs/s.kmt")" = "an older one"
	expect "left" "$(ls "$D/tmpfs")" = s.kmt
	chown nobody "$D/tmpfs/s.kmt"
	chmod 640 "$D/tmpfs/s.kmt"
	ln -s s.kmt "$D/tmpfs/link.kmt"
	mount -o remount,size=16m "$D/tmpfs"
	"$KMT" snapshot small --force -o "$D/tmpfs/link.kmt"
	"$KMT" report "$D/tmpfs/s.kmt" >/dev/null
	expect "whose, and for whom" "$(stat -c "%U %a" "$D/tmpfs/s.kmt")" = "nobody 640"
	expect "left" "$(echo $(ls "$D/tmpfs"))" = "link.kmt s.kmt"
	umount "$D/tmpfs"
	(ulimit -n 16 && refused 3 "too many open files" start more)
}

@test "top shows a session, and leaves it" {
	mine
	hold a 1000 1000
	"$KMT" top --session default --batch -n 2 -i 0.2 --format json --limit 0 >"$OUT"
	let_go a
	expect tables "$(jq -s length "$OUT")" = 2
	expect live "$(jq -s --arg f "$SITE" "$JQ_SITE"' [.[1].rows[] | select(at($f)).live_objects] | add' "$OUT")" = 1000
	session_json default
	expect frees "$(sum frees "$SITE")" = 1000
}

@test "who reads on is told when a session was stopped, or another took its place" {
	local how said
	mine w --sites 1000 --objects 4096
	for how in reset stop; do
		said=$D/said.$how
		background "$KMT" stat --session w -i 0.2 -t 30 --format ndjson --limit 1 >"$said" 2>"$ERR"
		until_true 30 grep -q "goes on without a process" "$said"
		! grep -q "was stopped or reset" "$said" || fail "told before $how"
		"$KMT" "$how" w 2>/dev/null
		until_true 30 grep -q "session 'w' was stopped or reset while" "$said" ||
			fail "not told after $how"
		kill "$JOB"
		wait "$JOB" || true
	done
	expect "left" "$(ls "$PLACE")" = ""
}

@test "the build with sanitizers reads a session too" {
	[ -x "$ROOT/build/san/kmemtrace" ] || skip "no build with sanitizers (make SAN=1)"
	KMT=$ROOT/build/san/kmemtrace
	mine s --sites 1000 --objects 4096
	hold a 100 1000
	session_json s
	expect allocs "$(sum allocs "$SITE")" = 100
	"$KMT" status s >"$OUT"
	"$KMT" top --session s --batch -n 1 --limit 1 >"$OUT"
	"$KMT" snapshot s -o "$D/s.kmt"
	"$KMT" reset s 2>/dev/null
	let_go a
	session_json s
	expect "frees of older objects" "$(value quality.frees_before_start)" -ge 100
}

@test "--interval: counts of each interval, live memory as it is" {
	mine
	hold a 1000 1000
	"$KMT" stat --session default -i 0.3 -t 0.5 --by site,cache --format json --limit 0 >"$OUT"
	expect "allocs of intervals" "$(jq -s --arg f "$SITE" "$JQ_SITE"' [.[].rows[] | select(at($f)).allocs] | add' "$OUT")" = 0
	expect live "$(jq -s --arg f "$SITE" "$JQ_SITE"' [.[-1].rows[] | select(at($f)).live_objects] | add' "$OUT")" = 1000
	let_go a
}

@test "status: tables as large as was asked, how full, and what they had no room for" {
	start w --sites 1000 --objects-kb 64 -f "task=$ME" -f "site=$SITE"
	hold a 5000 1000
	"$KMT" status w --format json >"$OUT"
	expect sites "$(value 'rows[0].sites_size')" = 1024
	# 65536 bytes: 1024 lines of three objects, or 630 rows of 104 bytes in a hash map
	expect objects "$(value 'rows[0].objects_size')" -le 3072
	expect used "$(value 'rows[0].objects_used')" -le "$(value 'rows[0].objects_size')"
	expect "used at all" "$(value 'rows[0].objects_used')" -ge 300
	expect filters "$(value 'rows[0].filters')" = "task=$ME site=$SITE"
	[[ $(value 'rows[0].since') == 20??-??-??T??:??:??* ]] || fail "since: $(value 'rows[0].since')"
	local lost used
	lost=$(value 'rows[0].lost_objects') used=$(value 'rows[0].objects_used')
	session_json w
	expect allocs "$(sum allocs "$SITE")" = 5000
	# where caches have sheaves, older objects that were given up to RCU have rows as well
	expect "live and lost" $(($(sum live_objects "$SITE") + lost)) = 5000
	expect "used of all" "$used" -ge "$(sum live_objects "$SITE")"
	expect untracked "$(value quality.lost_objects)" = "$("$KMT" status w --format json | jq '.rows[0].lost_objects')"
	! "$KMT" status w | LC_ALL=C.UTF-8 grep -E "^.{81}" || fail "wider than 80 columns"
	let_go a
}

@test "what is not seen of bulk calls is said to who asked for them, and stands in status" {
	start
	expect "said, not asked for" "$(cat "$ERR")" = ""
	"$KMT" status default --format json >"$OUT"
	[[ $(value 'rows[0].functions') == *cache_destroy* ]] || fail "$(cat "$OUT")"
	"$KMT" stop default
	start --tracer slab
	expect "said, left out" "$(cat "$ERR")" = ""
	"$KMT" stop default
	# asked for, it is there, or the refusal is one line
	if "$KMT" start --tracer slab,bulk >"$D/said" 2>"$ERR"; then
		"$KMT" status default --format json >"$OUT"
		if [[ $(value 'rows[0].functions') == *"not seen"* ]]; then
			grep -q "not every function is seen: .*not seen: " "$ERR" || fail "$(cat "$ERR")"
		else
			expect "said, all seen" "$(cat "$ERR")" = ""
		fi
	else
		grep -q "tracer 'bulk' needs" "$ERR" || fail "$(cat "$ERR")"
		expect "lines" "$(wc -l <"$ERR")" = 1
	fi
}

@test "kprobes of which the kernel does not tell what they missed are told of" {
	"$KMT" start --tracer slab,bulk:kprobe >"$D/said" 2>"$ERR" || skip "no kprobes here"
	session_json default
	[[ $(value quality.functions) == kprobe:* ]] || skip "no kprobes here"
	# told since Linux 6.7 (docs/SUPPORT.md); a return probe's misses are counted in a map
	local untold=0
	[ "$(printf '6.7\n%s\n' "$(uname -r)" | sort -V | head -n 1)" = 6.7 ] ||
		untold=$(value quality.functions | sed 's/^kprobe: //; s/;.*//' | wc -w)
	expect "kprobes of which it is not told" "$(value quality.misses_untold)" = "$untold"
	"$KMT" stop default
	start --tracer slab,bulk
	session_json default
	[[ $(value quality.functions) != fentry:* ]] ||
		expect "of fentry" "$(value quality.misses_untold)" = 0
}

@test "by process and by stack: each view from a session that counts it" {
	mine t --by task
	mine s --stacks
	"$D/$ME" -n 300 -s 1000
	session_json t
	expect view "$(value view)" = task
	expect allocs "$(jq --arg me "$ME" '[.rows[] | select((.task // "") | startswith($me)).allocs] | add' "$OUT")" -ge 300
	session_json s --by site,cache
	expect allocs "$(sum allocs "$SITE")" = 300
	expect stacks "$(jq -r --arg f "$SITE" "$JQ_SITE"' [.rows[] | select(at($f)).stack | length] | min' "$OUT")" -ge 2
	refused 2 "start --by task" stat --session s --by task
	refused 2 "--stacks" stat --session t --stacks
}

# rows COLUMN PATTERN FIELD...: the fields of the rows where that column matches, summed up.
rows() {
	local fields
	fields=$(printf '([.[].%s // 0] | add // 0),' "${@:3}")
	jq -c --arg p "$2" "[.rows[] | select((.$1 // \"\" | tostring) | test(\$p))] | [${fields%,}]" "$OUT"
}

# hold_as HOW N SIZE NAME: as 'hold', after the shell command HOW; its process number in PID.
hold_as() {
	mkfifo "$D/go.$4"
	bash -c "echo \$\$ >'$D/pid'; $1; exec '$D/$ME' -n $2 -s $3 -d -w '$D/go.$4' -p '$D/phase.$4'" 3>&-
	PID=$(cat "$D/pid")
}

@test "by process: each process has what it sent, and its number" {
	local one two
	mine t --by task -f "site=$SITE"
	"$KMT" status t --format json >"$OUT"
	expect "counts by" "$(value 'rows[0].counts_by')" = task
	hold_as : 300 1000 a; one=$PID
	hold_as : 200 52 b; two=$PID
	session_json t
	# allocations, live objects, and the bytes: 48 more than each message has
	expect one "$(rows tgid "^$one\$" allocs live_objects live_bytes_requested)" = "[300,300,314400]"
	expect two "$(rows tgid "^$two\$" allocs live_objects live_bytes_requested)" = "[200,200,20000]"
	expect all "$(rows task "^$ME" allocs)" = "[500]"
	let_go a
	let_go b
	session_json t
	expect "one in the end" "$(rows tgid "^$one\$" allocs frees live_objects)" = "[300,300,0]"
	"$KMT" top --session t --batch -n 1 -i 0.1 --format json --limit 0 >"$OUT"
	expect "view of top" "$(value view)" = task
	expect "two in top" "$(rows tgid "^$two\$" live_objects)" = "[0]"
}

@test "by cgroup: each group has what its tasks sent, also after a reset" {
	need_cgroup
	local id
	mkdir "$CGROUP/a" "$CGROUP/b c"
	# what the kernel calls it: the number of its directory
	id=$(stat -c %i "$CGROUP/a")
	start g --by cgroup -f "task=$ME" -f "site=$SITE"
	"$KMT" status g --format json >"$OUT"
	expect "counts by" "$(value 'rows[0].counts_by')" = cgroup
	hold_as "echo \$\$ >'$CGROUP/a/cgroup.procs'" 500 1000 a
	hold_as "echo \$\$ >'$CGROUP/b c/cgroup.procs'" 70 52 b
	hold_as : 30 52 c
	session_json g
	expect view "$(value view)" = cgroup
	# allocations, live objects, and the bytes that 500 * (1000 + 48) are
	expect a "$(rows cgroup '/a$' allocs live_objects live_bytes_requested)" = "[500,500,524000]"
	expect b "$(rows cgroup '/b c$' allocs live_objects live_bytes_requested)" = "[70,70,7000]"
	expect all "$(rows cgroup '' allocs live_objects live_bytes_requested)" = "[600,600,534000]"
	expect id "$(jq "[.rows[] | select(.cgroup_id == $id).allocs] | add" "$OUT")" = 500
	# by which it is counted is all the same to these
	session_json g --by cache
	expect "by cache" "$(total allocs)" = 600
	session_json g --by cpu
	expect "by CPU" "$(total allocs)" = 600
	refused 2 "counts by cgroup: the view site needs one that counts by site" stat --session g --by site
	refused 2 "start --by task" stat --session g --by task
	refused 2 "start --stacks" stat --session g --stacks
	"$KMT" top --session g --batch -n 1 -i 0.1 --format json --limit 0 >"$OUT"
	expect "view of top" "$(value view)" = cgroup
	expect "b in top" "$(rows cgroup '/b c$' live_objects)" = "[70]"
	"$KMT" snapshot g -o "$D/g.kmt"
	"$KMT" report "$D/g.kmt" cgroup --format json --limit 0 >"$OUT"
	expect "a in the snapshot" "$(rows cgroup '/a$' allocs live_objects)" = "[500,500]"
	"$KMT" reset g
	let_go a
	let_go b
	let_go c
	hold_as "echo \$\$ >'$CGROUP/a/cgroup.procs'" 40 1000 d
	session_json g
	expect "view after reset" "$(value view)" = cgroup
	expect "a after reset" "$(rows cgroup '/a$' allocs live_objects)" = "[40,40]"
	let_go d
	until_true 10 rmdir "$CGROUP/a" "$CGROUP/b c" "$CGROUP"
}

@test "by CPU, node and module: counted by call site, and each view is right" {
	need_cpus 2
	mine c --by cpu -f "site=$SITE"
	"$KMT" status c --format json >"$OUT"
	expect "counts by" "$(value 'rows[0].counts_by')" = site
	"$D/$ME" -n 500 -s 1000 -c 1 -r 0
	session_json c --by cpu
	expect "CPU 1" "$(rows cpu '^1$' allocs frees)" = "[500,0]"
	expect "CPU 0" "$(rows cpu '^0$' allocs frees cross_cpu_frees)" = "[0,500,500]"
	session_json c --by node
	expect nodes "$(total allocs)" = 500
	session_json c --by module
	expect modules "$(total allocs)" = 500
	session_json c
	expect allocs "$(sum allocs "$SITE")" = 500
	refused 2 "start --by cgroup" stat --session c --by cgroup
}

# --- whole or none -------------------------------------------------------------------

# Kill a command: the first ones at some time, the others while it pins or takes down.
kill_at() {
	local i=$1 tries=20000
	shift
	"$KMT" "$@" >/dev/null 2>&1 3>&- &
	JOB=$!
	if [ $((i % 2)) = 0 ]; then
		sleep "$(printf '0.%03d' $((RANDOM % 900)))"
	else
		while [ $((tries--)) -gt 0 ] && [ ! -d "$PLACE/~new" ] && [ ! -d "$PLACE/~old" ] &&
			[ -d "/proc/$JOB" ]; do :; done
	fi
	kill -KILL "$JOB" 2>/dev/null || true
	wait "$JOB" 2>/dev/null || true
}

@test "start, killed at any moment, leaves a whole session or none" {
	for i in 1 2 3 4 5 6 7 8; do
		kill_at "$i" start k
		"$KMT" status --format json >"$OUT"
		if [ "$(value 'rows | length')" = 1 ]; then
			expect fault "$(value 'rows[0].fault')" = null
			session_json k
			"$KMT" stop k
		fi
		expect "left over" "$(ls "$PLACE")" = ""
	done
	until_true 20 no_orphans || fail "programs left behind: $(orphan_programs)"
}

@test "stop, killed at any moment, leaves a whole session or none" {
	for i in 1 3 5 7; do
		start k
		ids_of k >"$D/ids"
		kill_at "$i" stop k
		"$KMT" status --format json >"$OUT"
		if [ "$(value 'rows | length')" = 1 ]; then
			session_json k
			"$KMT" stop k
		fi
		expect "left over" "$(ls "$PLACE")" = ""
		expect_gone "$D/ids"
	done
}

@test "reset, killed at any moment, leaves a whole session of that name" {
	start k
	for i in 1 2 3 4 5 6; do
		kill_at "$i" reset k
		"$KMT" status --format json >"$OUT"
		expect sessions "$(value 'rows | length')" = 1
		expect fault "$(value 'rows[0].fault')" = null
		session_json k
		expect "left over" "$(ls "$PLACE")" = k
	done
}

@test "two that start the same name: one of them wins, the other says so" {
	local pids=() won=0 pid
	for i in 1 2 3; do
		"$KMT" start same >/dev/null 2>"$D/err.$i" 3>&- &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		! wait "$pid" || won=$((won + 1))
	done
	expect won "$won" = 1
	expect "said so" "$(cat "$D"/err.* | grep -c 'exists already')" = 2
	expect there "$(ls "$PLACE")" = same
}

@test "starting and stopping leaves no program, map or pin" {
	: >"$D/ids"
	for cycle in $(seq "${KMT_SESSION_CYCLES:-30}"); do
		start c --sites 1000 --objects 4096
		# one program and one map of each
		bpftool -j prog show pinned "$PLACE/c/prog_kmt_whoami" | jq -r '"prog \(.id)"' >>"$D/ids"
		bpftool -j map show pinned "$PLACE/c/tables" | jq -r '"map \(.id)"' >>"$D/ids"
		[ "$cycle" != 1 ] || ids_of c >>"$D/ids"
		"$KMT" stop c
	done
	expect "ids seen" "$(wc -l <"$D/ids")" -ge $((2 * ${KMT_SESSION_CYCLES:-30}))
	expect_gone "$D/ids"
	expect "left over" "$(ls "$PLACE")" = ""
}

# --- read under load --------------------------------------------------------------------

@test "read again and again under load: no torn row, sums that match" {
	[ -x "$B/tests/bench/allocstorm" ] || skip "allocstorm is not there"
	start
	background "$B/tests/bench/allocstorm" -q -n 1000 -k 100000
	for _ in $(seq "${KMT_SESSION_READS:-100}"); do
		session_json default
		jq -e '(.rows | all(.allocs >= .frees and .live_objects >= 0 and
			.allocs >= .frees + .live_objects - .awaiting_rcu - .untraced_frees - .untracked - .failures
			and .bytes_requested <= .bytes_allocated and
			.live_bytes_requested <= .live_bytes_allocated)) and
			([.rows[].allocs] | add) == .summary.allocs and
			([.rows[].live_objects] | add) == .summary.live_objects' "$OUT" >/dev/null ||
			fail "torn: $(jq -c '[.summary, ([.rows[].allocs] | add), ([.rows[].live_objects] | add), (.rows[] | select(.allocs < .frees or .live_objects < 0))]' "$OUT")"
		jq -r '[.rows[].allocs] | add' "$OUT" >>"$D/sums"
	done
	sort -c -n "$D/sums" || fail "the sum of allocations went down"
}

# --- errors ---------------------------------------------------------------------------------

@test "errors are one line" {
	refused 4 "no session 'x', nor any other" stat --session x
	refused 4 "no session 'x'" stop x
	refused 4 "no session 'x'" status x
	refused 4 "no session 'x'" reset x
	refused 4 "no session 'x'" snapshot x -o "$D/x.kmt"
	refused 4 "no session 'x'" top --session x --batch
	start one
	refused 3 "exists already" start one
	refused 4 "no session 'x', but: one" stop x
	refused 2 "letters, digits" start a/b
	refused 2 "letters, digits" start a.b
	refused 2 "at most 32" start 123456789012345678901234567890123
	refused 2 "needs the NAME" stop
	refused 2 "condition on a column" start two -f 'allocs>=5'
	refused 2 "event stream" start two --by pingpong,cpu
	refused 2 "belong to 'kmemtrace start'" stat --session one --sites 1000
	refused 2 "exclude each other" stat --session one --from /dev/null
	refused 2 "runs no command" stat --session one -- true
	refused 2 "no view" stat --session one --by nope
	start bare --no-objects
	refused 2 "started with --no-objects: it has none for the view object" stat --session bare --by object
	refused 2 "it has none for --min-age" stat --session bare --min-age 1s
	"$KMT" stop bare
	expect "names for the completion" "$("$KMT" list --names sessions)" = one
}

@test "without the privilege, or a BPF file system: one line" {
	KMEMTRACE_BPFFS=$D/nowhere refused 3 "no BPF file system at '$D/nowhere'" start x
	umount "$KMEMTRACE_BPFFS"
	chmod 755 "$D"
	local status=0
	setpriv --reuid 65534 --clear-groups --inh-caps=-all --bounding-set=-all \
		"$KMT" start x >"$OUT" 2>"$ERR" || status=$?
	expect status "$status" = 3
	expect lines "$(wc -l <"$ERR")" = 1
}

@test "a BPF file system that is not mounted is mounted, and said" {
	umount "$KMEMTRACE_BPFFS"
	start
	grep -q "was not mounted: it is now" "$ERR" || fail "$(cat "$ERR")"
	session_json default
}

@test "stop ends all that it can, and nothing but sessions" {
	mkdir -p "$D/usual/kmemtrace/src" "$D/usual/link"
	KMEMTRACE_BPFFS=$D/usual refused 3 "not in a BPF file system" stop --all
	KMEMTRACE_BPFFS=$D/usual refused 3 "not in a BPF file system" status
	expect "left in a usual file system" "$(ls "$D/usual/kmemtrace")" = src
	ln -s "$D/usual" "$PLACE"
	refused 3 "Not a directory" stop --all
	refused 3 "Not a directory" start one
	expect "left behind a link" "$(ls "$D/usual")" = $'kmemtrace\nlink'
	rm "$PLACE"
	mkdir -p "$PLACE"
	chown nobody "$PLACE"
	refused 3 "belongs to another user" start one
	chown root "$PLACE"

	bpftool map create "$PLACE/pin" type array key 4 value 8 entries 1 name pin
	mkdir -p "$PLACE/deep/1/2/3/4/5/6" "$PLACE/two"
	refused 4 "no session 'nope', but: deep, pin, two" stop nope two pin
	expect left "$(ls "$PLACE")" = deep
	start one
	"$KMT" stop --all
	expect left "$(ls "$PLACE")" = ""
}

@test "what another version left: told in one line, and stopped" {
	start good
	mkdir "$PLACE/bad" "$PLACE/empty"
	bpftool map create "$PLACE/bad/description" type array key 4 value 256 entries 1 name bad
	refused 4 "session 'bad'" stat --session bad
	refused 4 "session 'empty'" stat --session empty
	"$KMT" status --format json >"$OUT"
	expect sessions "$(jq -r '[.rows[].session] | join(" ")' "$OUT")" = "bad empty good"
	expect "faults" "$(jq -r '[.rows[] | select(.fault).session] | join(" ")' "$OUT")" = "bad empty"
	refused 4 "session 'bad'" reset bad
	"$KMT" stop bad empty
	expect "left" "$(ls "$PLACE")" = good
}
