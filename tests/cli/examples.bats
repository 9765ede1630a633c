#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Every example of the man pages works: those after '$' here, those after '#'
# where this kernel can be traced. Long times are cut short.
load lib.bash

# examples PROMPT: the example lines of all pages, without prompt.
examples() {
	sed -n "/^\\.EX/,/^\\.EE/s/^$1 \\(kmemtrace .*\\)/\\1/p" "$ROOT"/docs/man/*.1 |
		sed -e 's/\\-/-/g' -e 's/\\(aq/'"'"'/g' -e 's/--for [0-9]*s/--for 1s/' \
			-e 's/--interval [0-9]*s/--interval 300ms/' | sort -u
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
		[ -s "$BATS_TEST_TMPDIR/out" ] || [ -s "$BATS_TEST_TMPDIR/err" ] || fail "example '$line' shows nothing"
	done < <(examples "$1")
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
