#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# A kernel that shows little (tests/vm/bare.sh): no BTF, no slabinfo, no addresses
# in kallsyms, cgroup v1. What is missing is said, and nothing crashes.

load ../live/lib.bash

setup_file() { live_setup_file; }

setup() {
	live_setup
	need_root
	[ "${KMT_VM_FLAVOUR:-}" = bare ] || skip "not in a virtual machine of flavour 'bare'"
	SHOWN=()
}

teardown() {
	echo 2 >/proc/sys/kernel/kptr_restrict
	live_teardown
}

# shown PATH: what the flavour hides there is there for this test's kmemtrace. It
# takes a namespace of its own, since what lies above is taken off.
shown() {
	SHOWN+=("$1")
}

# kmt COMMAND...: kmemtrace, which neither crashes nor says what nobody can read.
kmt() {
	local status=0 off=
	for path in "${SHOWN[@]}"; do off+="umount '$path'; "; done
	unshare -m bash -c "$off"'exec "$@"' - "$KMT" "$@" >"$OUT" 2>"$ERR" || status=$?
	[ "$status" -lt 126 ] || fail "kmemtrace $*: exit status $status: $(cat "$ERR")"
	# one line for each thing that is missing
	expect "lines that are not kmemtrace's" "$(grep -cv '^kmemtrace: ' "$ERR")" = 0
	expect "lines said twice" "$(sort "$ERR" | uniq -d)" = ""
	return "$status"
}

refused() {
	local status=0
	kmt "$@" || status=$?
	expect "exit status of '$*'" "$status" = 2
	expect "bytes on standard output" "$(wc -c <"$OUT")" = 0
}

status_of() {
	jq -r --arg c "$1" '.rows[] | select(.check == $c) | .status' "$OUT"
}

@test "doctor names each of them, and that tracefs will be used" {
	kmt doctor --format json
	expect "kernel BTF" "$(status_of 'kernel BTF')" = no
	expect kallsyms "$(status_of kallsyms)" = no
	expect slabinfo "$(status_of slabinfo)" != ok
	expect source "$(value summary.source)" = tracefs
	# each of them with what it costs and what helps
	expect "without advice" "$(jq '[.rows[] | select((.check | IN("kernel BTF", "kallsyms", "slabinfo")) and
		(.costs == null or .remedy == null))] | length' "$OUT")" = 0
}

@test "known messages are counted all the same, by address" {
	lossless kmt stat --buffer 16M --by site,cache --limit 0 --format json -- \
		"$LOAD/msgq" -n 500 -s 1000
	expect source "$(value quality.source)" = tracefs
	# 1048 bytes each: no other site allocates 500 times just that
	expect "rows of 500 messages" "$(jq '[.rows[] | select(.allocs == 500 and
		.bytes_requested == 524000)] | length' "$OUT")" = 1
	expect "sites with names" "$(jq '[.rows[].site // "" | select(test("load_msg|alloc_msg"))] |
		length' "$OUT")" = 0
}

@test "no books without slabinfo, and the verdict says why" {
	kmt stat --by cache --limit 0 --format json -- "$LOAD/msgq" -n 500 -s 1000
	expect "other verdicts" "$(jq -c '[.rows[].balance.verdict // "none" |
		select(startswith("not comparable") | not)] | unique' "$OUT")" = '[]'
}

@test "the same with BTF: the bpf source without names" {
	shown /sys/kernel/btf
	need_bpf
	kmt stat --by site,cache --limit 0 --format json -- "$LOAD/msgq" -n 500 -s 1000
	expect source "$(value quality.source)" = bpf
	expect "rows of 500 messages" "$(jq '[.rows[] | select(.allocs == 500 and
		.bytes_requested == 524000)] | length' "$OUT")" = 1
	kmt trace --for 200ms
	kmt stat --stacks --for 200ms
	kmt record -f -o "$D/a.kmt" --for 200ms
	kmt report "$D/a.kmt"
}

@test "filters by name are refused in one line where there are no names" {
	refused stat --filter site=load_msg --for 100ms
	grep -q kallsyms "$ERR" || fail "no word on kallsyms: $(cat "$ERR")"
	refused stat --filter module=ext4 --for 100ms
}

@test "a cgroup of version 1 is refused in one line" {
	refused stat --filter cgroup=/tmp/cgroup1 --for 100ms
	grep -qi cgroup "$ERR" || fail "no word on cgroups: $(cat "$ERR")"
	shown /sys/kernel/btf
	refused stat --filter cgroup=/tmp/cgroup1 --for 100ms
}

@test "modules that bring BTF of their own: their sites have their name" {
	local fs=$D/fs
	echo 0 >/proc/sys/kernel/kptr_restrict
	shown /sys/kernel/btf
	grep -q '^ext4 ' /proc/modules || skip "ext4 is not loaded"
	mkdir "$fs"
	kmt stat --by site,cache --limit 0 --format json -- bash -c "
		mount -o loop,ro '$ROOT/files.ext4' '$fs' && find '$fs' -size +1000 >/dev/null; umount '$fs'"
	# each directory and file has its inode, allocated by ext4
	expect "inodes" "$(jq '[.rows[] | select(.module == "ext4" and (.site | test("^ext4_alloc_inode"))) |
		.allocs] | add // 0' "$OUT")" -ge 3030
}

@test "every view of nearly nothing" {
	local view
	for view in $("$KMT" list --names views); do
		kmt stat --by "$view" --format json -- "$LOAD/msgq" -n 20 ||
			grep -qE 'needs|is about|no cgroup v2' "$ERR" || fail "$view: $(cat "$ERR")"
	done
}
