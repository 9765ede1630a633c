#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Every example of the man pages works: those after '$' here, those after '#'
# where this kernel can be traced. Long times are cut short.
load lib.bash

# page_examples PROMPT FILE...: the example lines of pages, without prompt.
page_examples() {
	local prompt=$1
	shift
	sed -n "/^\\.EX/,/^\\.EE/s/^$prompt \\(kmemtrace .*\\)/\\1/p" "$@" |
		sed -e 's/\\-/-/g' -e 's/\\(aq/'"'"'/g' -e 's/--for [0-9]*s/--for 1s/' \
			-e 's/--interval [0-9]*s/--interval 300ms/'
}

# Those of all pages that stand for themselves. Sessions have a test of their own
# here, the tracing directory has tests/live/mount.bats.
examples() {
	page_examples "$1" "$ROOT"/docs/man/*.1 | sort -u |
		grep -vE '^kmemtrace (start|status|stop|snapshot|reset|mount)|--session|monday'
}

# The pages of sessions, as one would read them; what ends them all comes last.
session_examples() {
	local lines
	lines=$(page_examples "$1" "$ROOT"/docs/man/kmemtrace-{start,status,snapshot,reset,stop}.1)
	grep -v '^kmemtrace stop --all' <<<"$lines"
	echo "kmemtrace stop --all"
}

run_examples() {
	local n=0 line
	# what they write is ours, what they read is the tree's
	mkdir -p "$BATS_TEST_TMPDIR/tree"
	ln -s "$ROOT/tests" "$BATS_TEST_TMPDIR/tree/tests"
	cd "$BATS_TEST_TMPDIR/tree" || return
	mkdir -p "$BATS_TEST_TMPDIR/bin"
	ln -s "$KMT" "$BATS_TEST_TMPDIR/bin/kmemtrace"
	while read -r line; do
		# this kernel was not booted for it; tests/vm/boot.bats runs one that was
		[[ $line != *boot.kmt* ]] || continue
		n=$((n + 1))
		PATH=$BATS_TEST_TMPDIR/bin:$PATH timeout 60 bash -o pipefail -c "$line" \
			>"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" </dev/null ||
			fail "example '$line': status $?, $(head -n 3 "$BATS_TEST_TMPDIR/err")"
		[ -s "$BATS_TEST_TMPDIR/out" ] || [ -s "$BATS_TEST_TMPDIR/err" ] ||
			[[ $line == "kmemtrace stop "* ]] ||
			[[ $line == *" -o "* && -s ${line##*" -o "} ]] || fail "example '$line' shows nothing"
	done < <("${2:-examples}" "$1")
	[ "$n" -ge 5 ] || fail "only $n examples were found"
}

@test "examples that need no privilege" {
	run_examples '\$'
}

@test "examples that trace this kernel" {
	[ "$(id -u)" = 0 ] || skip "not root"
	"$KMT" doctor >/dev/null || skip "this kernel cannot be traced: see kmemtrace doctor"
	run_examples '#'
}

teardown() {
	[ -z "$KMEMTRACE_BPFFS" ] || ! mountpoint -q "$KMEMTRACE_BPFFS" ||
		{ "$KMT" stop --all; umount "$KMEMTRACE_BPFFS"; } >/dev/null 2>&1
}

@test "examples of sessions, one after the other" {
	[ "$(id -u)" = 0 ] || skip "not root"
	"$KMT" doctor >/dev/null || skip "this kernel cannot be traced: see kmemtrace doctor"
	# a BPF file system of our own, with no session of somebody else's
	export KMEMTRACE_BPFFS=$BATS_TEST_TMPDIR/bpffs
	mkdir "$KMEMTRACE_BPFFS"
	mount -t bpf none "$KMEMTRACE_BPFFS" || skip "no BPF file system can be mounted"
	run_examples '#' session_examples
	expect "sessions left" "$("$KMT" list --names sessions)" = ""
	umount "$KMEMTRACE_BPFFS"
}
