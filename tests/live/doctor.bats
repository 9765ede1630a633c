#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# doctor says what is so: things are hidden from it, one after the other.

load lib.bash

setup_file() { live_setup_file; }
setup() { live_setup; }
teardown() { rm -rf "${PUBLIC:-}"; live_teardown; }

# Run kmemtrace as nobody, from a place where nobody may look.
as_nobody() {
	PUBLIC=$(mktemp -d /tmp/live-nobody.XXXXXX)
	chmod 755 "$PUBLIC"
	install -m 755 "$KMT" "$PUBLIC/kmemtrace"
	(cd / && setpriv --reuid=65534 --clear-groups --inh-caps=-all "$PUBLIC/kmemtrace" "$@")
}

status_of() {
	jq -r --arg c "$1" '.rows[] | select(.check == $c) | .status' "$OUT"
}

# doctor's answer as JSON, after COMMAND in a mount namespace of its own
hidden() {
	unshare -m bash -c "$1"'; exec "$0" doctor --format json' "$KMT" >"$OUT" 2>"$ERR"
}

@test "every line is ok, warn or no, fits 80 columns, and the last names the source" {
	need_bpf
	"$KMT" doctor >"$D/text"
	expect "odd lines" "$(grep -cvE '^(ok  |warn|no  ) |^     |^kmemtrace can trace' "$D/text")" = 0
	expect "long lines" "$(grep -cE '^.{81}' "$D/text")" = 0
	expect "last line" "$(tail -n 1 "$D/text")" = \
		"kmemtrace can trace this kernel: the 'bpf' source will be used"
	expect_nothing_attached
}

@test "the same checks in every format" {
	need_bpf
	local n
	"$KMT" doctor --format json >"$OUT"
	n=$(jq '.rows | length' "$OUT")
	expect "text" "$("$KMT" doctor | grep -cE '^(ok|warn|no) ')" = "$n"
	expect "ndjson" "$("$KMT" doctor --format ndjson | jq -r .check | grep -cv null)" -ge "$n"
	expect "source" "$(value summary.source)" = bpf
}

@test "tracepoints are those that tracefs has" {
	need_bpf
	tracefs_mount
	local e
	"$KMT" doctor --format json >"$OUT"
	for e in kmalloc kmem_cache_alloc kfree kmem_cache_free; do
		[ -d "$TRACEFS/events/kmem/$e" ] || continue
		expect "$e" "$(status_of "$e")" = ok
	done
}

@test "without BTF: tracefs will be used, exit status 0" {
	need_tracefs
	mkdir "$D/empty"
	hidden "mount --bind '$D/empty' /sys/kernel/btf"
	expect BTF "$(status_of 'kernel BTF')" = no
	expect source "$(value summary.source)" = tracefs
}

@test "without addresses in kallsyms" {
	need_bpf
	hidden 'mount --bind /dev/null /proc/kallsyms'
	expect kallsyms "$(status_of kallsyms)" = no
}

@test "without slabinfo, or with an empty one" {
	need_bpf
	hidden 'mount --bind /dev/null /proc/slabinfo'
	expect slabinfo "$(status_of slabinfo)" = warn
	unshare -m sh -c 'mount --bind /dev/null /proc/slabinfo && exec "$@"' - \
		"$KMT" stat --for 50ms --format json >"$OUT"
	jq -r '.notes[]' "$OUT" | grep -q 'slabinfo) cannot be read' || fail "$(jq -c .notes "$OUT")"
	"$KMT" stat --for 50ms --format json >"$OUT"
	! jq -r '.notes[]' "$OUT" | grep 'slabinfo) cannot be read' || fail "said without a cause"
}

@test "caches that cannot be shrunk for --exact are told of" {
	need_bpf
	unshare -m sh -c 'mount -t tmpfs none /sys/kernel/slab && exec "$@"' - \
		"$KMT" stat --exact --for 50ms --format json >"$OUT" 2>"$ERR"
	grep -q -- '--exact: cannot shrink the slab caches: /sys/kernel/slab has none' "$ERR" ||
		fail "$(cat "$ERR")"
}

@test "not root: exit status 3, the reasons, and no source" {
	need_root
	local status=0
	as_nobody doctor >"$D/text" 2>"$ERR" || status=$?
	expect "exit status" "$status" = 3
	grep -q '^no   privilege ' "$D/text"
	expect "long lines" "$(grep -cE '^.{81}' "$D/text")" = 0
	expect "last line" "$(tail -n 1 "$D/text")" = \
		"kmemtrace cannot trace here: no source can be used"
}

@test "memory that is short at the start is told as that, not as missing BTF" {
	need_bpf
	local kb
	for kb in 20000 25000 40000 60000; do
		run bash -c 'ulimit -v "$1"; exec "$0" stat --source bpf --for 50ms' "$KMT" "$kb"
		[ "$status" != 0 ] || continue
		[[ $output == *memory* && $output != *"no BTF"* && $output != *verifier* ]] ||
			fail "$kb KiB: $output"
	done
}
