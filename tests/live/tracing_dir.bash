# SPDX-License-Identifier: GPL-2.0-only
# A tracing directory of 'kmemtrace mount' at $T, and how a script of 2009 reads it.

need_fuse() {
	[ -e /dev/fuse ] || skip "no /dev/fuse"
	[ -x "$(command -v fusermount3)" ] || skip "no fusermount3"
}

# mount_dir [OPTIONS]: with $KMT, in the foreground, pid in MOUNT.
mount_dir() {
	T=$D/t
	mkdir -p "$T"
	background "$KMT" mount "$@" "$T" >"$D/mount.out" 2>"$D/mount.err"
	MOUNT=$JOB
	until_true 30 [ -e "$T/current_tracer" ] || fail "no tracing directory: $(cat "$D/mount.err")"
}

# Ends by itself, in order, and says nothing but what is in $D/mount.err.
unmount_dir() {
	kill -TERM "$MOUNT"
	wait "$MOUNT" || fail "kmemtrace mount ended with $?: $(cat "$D/mount.err")"
	[ "$(grep -c " $T fuse" /proc/mounts)" = 0 ] || fail "the mount was left behind"
	MOUNT=
}

# For teardown: whatever has happened.
unmount_dir_anyhow() {
	local i
	[ -n "${T:-}" ] || return 0
	[ -z "${MOUNT:-}" ] || kill -TERM "$MOUNT" 2>/dev/null || true
	for ((i = 0; i < 100; i++)); do
		grep -q " $T fuse" /proc/mounts || return 0
		sleep 0.1
	done
	umount -l "$T" 2>/dev/null || true
}

# cells FILE TITLE FUNCTION: what stands under that title in the rows of a call site.
cells() {
	cat "$1" | awk -v title="$2" -v site="$3" '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		index($(at["site"]) "+", site "+") == 1 { print $(at[title]) }'
}

# sum_cells FILE TITLE FUNCTION: a number, 0 if there is no such row.
sum_cells() {
	cells "$@" | awk '{ n += $1 } END { printf "%d\n", n }'
}

# messages N SIZE: allocated and kept until let_messages_go.
messages() {
	mkfifo "$D/go"
	"$LOAD/msgq" -n "$1" -s "$2" -d -w "$D/go" -p "$D/phase" 3>&-
}

let_messages_go() {
	: >"$D/go"
	until_true 30 grep -q received "$D/phase"
	rm -f "$D/go" "$D/phase"
}
