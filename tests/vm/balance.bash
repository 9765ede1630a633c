# SPDX-License-Identifier: GPL-2.0-only
# For balance.bats and tracepoints.bats: loads that run between two readings of
# /proc/slabinfo (tests/vm/between), and the books of each cache with at least 1000
# traced allocations, checked without kmemtrace's help (tests/vm/books.jq).

VM=$ROOT/tests/vm
LEAST=1000

setup_file() { live_setup_file; }

setup() {
	live_setup
	need_root
	[ -n "${KMT_VM_KERNEL:-}" ] || skip "not in a virtual machine of the kernel matrix"
	[ -r /proc/slabinfo ] || skip "kernel has no slabinfo"
	EXACT=
	! "$KMT" list --names options:stat | grep -qx -- --exact || EXACT=--exact
}

teardown() {
	! grep -q " $D/fs " /proc/mounts || umount "$D/fs"
	live_teardown
}

# Open what shrinks each cache; links are other names of the same one.
open_shrink() {
	local cache fd
	SHRINK=
	for cache in /sys/kernel/slab/*; do
		[ -L "$cache" ] || { exec {fd}>"$cache/shrink" && SHRINK+=" $fd"; }
	done 2>/dev/null
	export SHRINK
}

# Hold open what kmemtrace reads of each cache: its dentries and inodes neither go when
# a load drops the caches of files, nor come again with the reading at the end.
hold_sysfs() {
	local file fd
	ulimit -n 16384
	for file in /sys/kernel/slab/*/{cpu_slabs,partial,sheaf_capacity,reclaim_account}; do
		[ -L "${file%/*}" ] || [ ! -e "$file" ] || exec {fd}<"$file"
	done
}

# measured OPTIONS -- COMMAND: a report in $OUT, its books in $D/books
measured() {
	local options=()
	while [ "$1" != -- ]; do options+=("$1"); shift; done
	shift
	(
		open_shrink
		[ -z "${DROPS-}" ] || hold_sysfs
		exec "$KMT" stat --by cache --limit 0 --format json $EXACT "${options[@]}" -- \
			"$VM/between" "$D" "$@"
	) >"$OUT" 2>"$ERR" || fail "$(cat "$ERR")"
	jq --arg before "$(cat "$D/before")" --arg after "$(cat "$D/after")" --argjson least "$LEAST" \
		-f "$VM/books.jq" "$OUT" >"$D/books"
	[ "$(jq length "$D/books")" -gt 0 ] ||
		fail "no cache in slabinfo has $LEAST allocations: $(jq -c '[.rows[] | [.cache, .aliases, .allocs]] | .[:8]' "$OUT")"
}

# say WORKLOAD: how many balance, and the books of each, for the host to keep
say() {
	local of off
	of=$(jq length "$D/books")
	off=$(jq '[.[] | select(.balanced | not)] | length' "$D/books")
	echo "# balance $1: $((of - off)) of $of caches," \
		"$(value quality.recursion_misses) recursion misses, $(value quality.source); $(tr '\n' ' ' <"$D/times")" >&3
	jq -r --arg w "$1" 'sort_by(.cache) | .[] |
		"# \(if .balanced then "book" elif .skipped then "skipped" else "OFF" end) \($w): \(.cache): \(.allocs) allocations, " +
		"traced net \(.traced), real \(.real), allowed \(.allowed), said \"\(.said)\" " +
		"with \(.said_real)\(if .wrong then ": " + .wrong else "" end)"' "$D/books" >&3
}

# No cache is called balanced that is off, and none off that balances.
expect_marks() {
	expect "wrong marks" "$(jq -c '[.[] | select(.wrong)] | map(.cache + ": " + .wrong)' "$D/books")" = '[]'
}

# The nodes of the areas are given back in bulk, which no tracepoint tells.
expect_off_nodes() {
	! grep -q ' maple_node$' <(awk '{ print " " $1 }' "$D/after") ||
		[ "$(jq '[.[] | select(.balanced | not)] | length' "$D/books")" -gt 0 ] ||
		fail "nothing is off where bulk frees are not seen"
}

# ---- the loads: load_NAME FUNCTION runs FUNCTION NAME COMMAND... ----

load_messages() {
	"$1" messages "$LOAD/msgq" -n 4000 -s 1000
}

load_pipes() {
	"$1" pipes "$LOAD/churn" pipes 2000
}

# No connection stays in TIME_WAIT: after a minute its objects would go at once, within
# a later test before its first reading, out of caches that may be merged with that
# test's (Linux 6.1: tcp_bind2_bucket is anon_vma_chain).
load_tcp() {
	echo 0 >/proc/sys/net/ipv4/tcp_max_tw_buckets
	"$1" tcp "$LOAD/tcp" -n 500
	expect "sockets in TIME_WAIT" "$(awk '/^TCP:/ { print $7 }' /proc/net/sockstat)" = 0
}

load_forks() {
	"$1" forks "$LOAD/churn" forks 500
}

load_mprotect() {
	"$1" mprotect "$LOAD/mprotect"
}

load_find() {
	[ -e "$ROOT/files.ext4" ] || skip "no file system to look through"
	mkdir "$D/fs"
	mount -o loop,ro "$ROOT/files.ext4" "$D/fs" || skip "the file system cannot be mounted"
	echo 3 >/proc/sys/vm/drop_caches
	DROPS=1 "$1" find bash -c "find '$D/fs' -size +1000 >/dev/null
		echo 3 >/proc/sys/vm/drop_caches"
}

# A name of more than 40 characters is an object of its own, which a rename gives to
# kfree_rcu(); new ones come for the new places (copy_name() in fs/dcache.c).
load_renames() {
	local name=a-name-that-is-too-long-to-lie-within-its-own-dentry
	mkdir "$D/from" "$D/to"
	touch "$D/from/$name-"{1..3000}
	"$1" renames sh -c "cd '$D/from' && mv * ../to"
}

load_hackbench() {
	command -v hackbench >/dev/null || skip "no hackbench"
	"$1" hackbench hackbench -g 2 -f 10 -l 50
}
