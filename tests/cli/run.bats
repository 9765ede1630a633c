#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# 'make run' where nothing can be traced: report on a real kernel's recording.
load lib.bash

@test "without privilege a recording is shown" {
	local as=() dir n
	[ "$(id -u)" != 0 ] || as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	# the tree may be where nobody else can look
	dir=$(mktemp -d /tmp/kmt-run.XXXXXX)
	mkdir -p "$dir/tests/golden"
	cp -r "$ROOT/scripts" "$KMT" "$dir/"
	cp -r "$ROOT/tests/golden/kmt" "$dir/tests/golden/"
	chmod -R a+rX "$dir"
	run --separate-stderr "${as[@]}" "$dir/scripts/run" "$dir/kmemtrace"
	rm -r "$dir"
	expect status "$status" = 0
	[ -z "$stderr" ] || fail "said: $stderr"
	# counted by the independent decoder
	n=$(python3 "$ROOT/tests/store/decode.py" "$ROOT/tests/golden/kmt/demo.kmt" | grep -c '^event ')
	[[ $output == *"events              $n "* ]] || fail "not $n events: $output"
	[[ $output == *"__sys_socketpair"* ]] || fail "no stacks: $output"
}
