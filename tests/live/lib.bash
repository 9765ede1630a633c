# SPDX-License-Identifier: GPL-2.0-only
# What the live tests share. They run as root on the machine's own kernel and
# compare with known answers: amounts that follow from what a load generator
# does, or what another instrument (tracefs, /proc, /sys) says of the same run.
# Other load on the machine must not make them fail: each looks only at call
# sites that its own load generator drives, or at inequalities.

ROOT=$(cd "${BATS_TEST_DIRNAME:-$(dirname "${BASH_SOURCE[0]}")}/../.." && pwd)
B=${KMT_BUILD:-$ROOT/build}
case $B in /*) ;; *) B=$ROOT/$B ;; esac
KMT=$B/kmemtrace
LOAD=$B/tests/live
MODEL=$ROOT/tests/live/model.py

# --- what must be there, else the test is skipped with the reason -----------

need_root() {
	[ "$(id -u)" = 0 ] || skip "not root"
}

# The kernel is asked by a program that has nothing in common with kmemtrace.
need_bpf() {
	need_root
	local why
	why=$("$B/tests/bench/emptybpf" -t) || skip "$why"
}

need_cpus() {
	[ "$(nproc)" -ge "$1" ] || skip "fewer than $1 CPUs"
}

need_tracefs() {
	need_root
	grep -qw tracefs /proc/filesystems || skip "kernel has no tracefs"
	tracefs_mount 2>/dev/null || skip "tracefs cannot be mounted"
	tracefs_unmount
}

need_function() {
	grep -q " $1\$" /proc/kallsyms || skip "kernel has no function $1"
}

# A cgroup v2 of the test's own in CGROUP; skipped where none can be made.
need_cgroup() {
	need_root
	local mount
	mount=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
	[ -n "$mount" ] || skip "no cgroup v2 is mounted"
	CGROUP=$mount/kmemtrace-test-$$
	mkdir "$CGROUP" 2>/dev/null || skip "no cgroup can be made in $mount"
}

# --- set-up of a file and of a test ------------------------------------------

# Two runs of these tests at once would see each other's messages. The lock is
# held until the process that runs the file ends, and its text says who that is. A
# whole file of another run may take long on a busy machine.
live_setup_file() {
	local lock=${KMT_LIVE_LOCK:-/run/kmemtrace-live-tests.lock} wait=${KMT_LIVE_LOCK_SECONDS:-1200}
	[ "$(id -u)" = 0 ] || return 0
	# what is in it stays until the lock is ours
	exec {LIVE_LOCK}>>"$lock"
	if ! flock -w "$wait" "$LIVE_LOCK"; then
		echo "$lock was held for $wait s by: $(cat "$lock")" >&2
		return 1
	fi
	echo "process $$, ${BATS_TEST_FILENAME:-?}, since $(date +%T)" >"$lock"
}

live_setup() {
	D=$BATS_TEST_TMPDIR
	JOBS=()
	OUT=$D/out.json
	ERR=$D/err
}

# End what the test started and forgot, by pid.
live_teardown() {
	local pid
	for pid in "${JOBS[@]}"; do
		kill -KILL "$pid" 2>/dev/null || true
	done
	for pid in "${JOBS[@]}"; do
		wait "$pid" 2>/dev/null || true
	done
	[ -z "${CGROUP:-}" ] || rmdir "$CGROUP"/*/ "$CGROUP" 2>/dev/null || true
	tracefs_unmount
}

# A fifo in $D/pipe whose reader does not read yet: open for reading as PIPE.
stalled_pipe() {
	local both
	mkfifo "$D/pipe"
	exec {both}<>"$D/pipe"	# so that opening one end does not wait for the other
	exec {PIPE}<"$D/pipe"
	WRITER=$both
}

# Now it reads, to its end, into a file; the writer has opened it before.
read_pipe() {
	exec {WRITER}>&-
	WRITER=
	cat <&"$PIPE" >"$1" 3>&- &
	JOB=$!
	JOBS+=("$JOB")
	exec {PIPE}<&-
	PIPE=
}

# Start something in the background, pid in JOB; without bats' own descriptor and
# without the two of the stalled pipe.
background() {
	if [ -n "${WRITER:-}" ]; then
		"$@" 3>&- {PIPE}<&- {WRITER}>&- &
	elif [ -n "${PIPE:-}" ]; then
		"$@" 3>&- {PIPE}<&- &
	else
		"$@" 3>&- &
	fi
	JOB=$!
	JOBS+=("$JOB")
}

# until_true SECONDS COMMAND...: try ten times a second.
until_true() {
	local tries=$(($1 * 10))
	shift
	while ! "$@" >/dev/null 2>&1; do
		tries=$((tries - 1))
		[ "$tries" -gt 0 ] || return 1
		sleep 0.1
	done
}

fail() {
	printf '%s\n' "$*" >&2
	return 1
}

# expect WHAT ACTUAL OP EXPECTED, with OP one of test(1)'s: integers or = for strings.
expect() {
	[ "$2" "$3" "$4" ] || fail "$1: got '$2', expected $3 '$4'"
}

# --- an answer that is known only where nothing was lost ------------------------

# A busy machine may cost events, and to tell of that is right. What is exact is
# measured again then, and compared only once nothing was lost.

# What kmemtrace said was lost in the measurement: in its report in $OUT, or in the
# last line of 'trace' and 'record' in $ERR. Stacks are not among it: ftrace saves
# none on the idle task of a CPU that was off and on again (seen on 6.18), as
# endings.bats leaves one, so to measure again would not bring them.
told_lost() {
	local n
	n=$(jq -s 'map(.quality | (.lost_total? // 0) - (.lost_stacks? // 0)) | add // 0' \
		"$OUT" 2>/dev/null) || n=0
	echo $((${n:-0} + $(grep -oE '[0-9]+ lost \([^s][^)]*' "$ERR" 2>/dev/null |
		awk '{ n += $1 } END { print n + 0 }')))
}

told_misses() {
	local n
	n=$(jq -s 'map(.quality.recursion_misses? // 0) | add // 0' "$OUT" 2>/dev/null) || n=0
	echo $((${n:-0} + $(grep -oE '[0-9]+ recursion misses' "$ERR" 2>/dev/null |
		awk '{ n += $1 } END { print n + 0 }')))
}

# Events that have no stack, as it says in $OUT.
told_stacks() {
	jq -s 'map(.quality.lost_stacks? // 0) | add // 0' "$OUT"
}

# lossless [-i] COMMAND...: the measurement, again while it lost something; at most
# four times. COMMAND can be run again and leaves $OUT or $ERR. With -i what is
# counted happens in interrupts, which may miss a run of a program as well.
lossless() {
	local try lost interrupts=
	[ "$1" != -i ] || { interrupts=1; shift; }
	for try in 1 2 3 4; do
		: >"$OUT"
		: >"$ERR"
		"$@"
		lost=$(told_lost)
		[ -z "$interrupts" ] || lost=$((lost + $(told_misses)))
		[ "$lost" != 0 ] || return 0
		echo "run $try lost $lost events: $(tail -n 1 "$ERR")" >&2
	done
	fail "events were lost in each of $try runs"
}

# --- kmemtrace -----------------------------------------------------------------

# stat_json [OPTIONS] [-- CMD]: every row, by site and cache, into $OUT.
stat_json() {
	"$KMT" stat --format json --limit 0 --by site,cache "$@" >"$OUT" 2>"$ERR"
}

# How many BPF links (attached programs) a process holds.
n_links() {
	grep -ls '^link_type' /proc/"$1"/fdinfo/* 2>/dev/null | wc -l
}

n_possible_cpus() {
	echo $(($(sed 's/.*-//' /sys/devices/system/cpu/possible) + 1))
}

# How many slab events this kernel has: four, six before 6.1.
n_slab_events() {
	local n
	n=$(grep -cE ' __traceiter_(kfree|kmem_cache_free|kmalloc(_node)?|kmem_cache_alloc(_node)?)$' \
		/proc/kallsyms)
	echo $((n < 4 ? 4 : n))
}

attached() {
	[ "$(n_links "$1")" -ge "${N_SLAB_EVENTS:=$(n_slab_events)}" ]
}

# Until the slab events of that kmemtrace are on, or it has ended.
wait_attached() {
	until_true 60 eval "attached $1 || ! kill -0 $1"
	attached "$1" || fail "kmemtrace is not attached: $(cat "$ERR" 2>/dev/null)"
	sleep 0.2
}

# Ids of our BPF programs that no process holds: left over by somebody. Programs
# first, holders second: a program that starts in between is not in the list.
orphan_programs() {
	local ours held
	ours=$(bpftool -j prog show | jq -r '.[] | select((.name // "") | startswith("kmt_")) | .id' | sort)
	held=$(cat /proc/[0-9]*/fdinfo/* 2>/dev/null | awk '/^prog_id:/ { print $2 }' | sort -u)
	comm -23 <(printf '%s\n' "$ours") <(printf '%s\n' "$held") | grep .
}

no_orphans() {
	[ -z "$(orphan_programs)" ]
}

# The kernel frees programs a moment after the last descriptor is gone.
expect_nothing_attached() {
	until_true 60 no_orphans || fail "BPF programs left behind: $(orphan_programs)"
	[ "$(grep -cs kmemtrace /proc/mounts)" = 0 ] || fail "a mount was left behind"
}

# --- reading the answer --------------------------------------------------------

# A filter for jq: is this row's site the function $f, with or without offset?
JQ_SITE='def at($f): (.site // "") | test("^" + $f + "($|[+ ])");'

# sum FIELD FUNCTION [FILE]: a number over all rows of that call site.
sum() {
	jq -r --arg f "$2" "$JQ_SITE [.rows[] | select(at(\$f)) | .$1 // 0] | add // 0" "${3:-$OUT}"
}

# value PATH [FILE]: e.g. value quality.lost_ring
value() {
	jq -r ".$1" "${2:-$OUT}"
}

# total FIELD [FILE]: over all rows
total() {
	jq -r "[.rows[].$1 // 0] | add // 0" "${2:-$OUT}"
}

# The function that allocates messages: some compilers leave alloc_msg() on its own.
msg_site() {
	if grep -q ' alloc_msg$' /proc/kallsyms; then echo alloc_msg; else echo load_msg; fi
}

# --- other instruments -----------------------------------------------------------

# A tracefs of our own: mounted in TRACEFS, unmounted by the teardown.
tracefs_mount() {
	TRACEFS=$(mktemp -d /tmp/live-tracefs.XXXXXX)
	mount -t tracefs none "$TRACEFS"
}

tracefs_unmount() {
	local i
	[ -n "${TRACEFS:-}" ] || return 0
	for i in "$TRACEFS"/instances/kmtlive-$$-*; do
		[ -d "$i" ] || continue
		echo 0 >"$i/events/enable" 2>/dev/null
		rmdir "$i"
	done
	umount "$TRACEFS" 2>/dev/null
	rmdir "$TRACEFS" 2>/dev/null
	TRACEFS=
}

# instance NAME KB: a buffer of its own; its path in INSTANCE.
instance() {
	INSTANCE=$TRACEFS/instances/kmtlive-$$-$1
	mkdir "$INSTANCE"
	echo "$2" >"$INSTANCE/buffer_size_kb"
}

# instance_on DIR [EVENT...]: the named ones, else the four (and the two of older
# kernels). kfree(NULL) and kfree(ZERO_SIZE_PTR) are no frees.
instance_on() {
	local dir=$1 e
	shift
	[ $# != 0 ] || set -- kfree kmem_cache_free kmalloc kmem_cache_alloc kmalloc_node kmem_cache_alloc_node
	echo 'ptr != 0 && ptr != 16' >"$dir/events/kmem/kfree/filter"
	for e in "$@"; do
		[ ! -d "$dir/events/kmem/$e" ] || echo 1 >"$dir/events/kmem/$e/enable"
	done
}

instance_off() {
	echo 0 >"$1/events/enable"
}

# Events that came by, kept or overwritten or not.
instance_events() {
	cat "$1"/per_cpu/cpu*/stats |
		awk '/^(entries|overrun|commit overrun|dropped events):/ { n += $NF } END { print n + 0 }'
}

instance_overwritten() {
	cat "$1"/per_cpu/cpu*/stats |
		awk '/^(overrun|commit overrun|dropped events):/ { n += $NF } END { print n + 0 }'
}
