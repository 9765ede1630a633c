#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# make install, the completion, and the scripts behind 'make run' and 'make check'.
load lib.bash

@test "make install honours DESTDIR and PREFIX; uninstall leaves no file" {
	D=$BATS_TEST_TMPDIR/root
	build=${B#"$ROOT/"}
	make -s -C "$ROOT" B="$build" DESTDIR="$D" PREFIX=/opt/kmt install
	expect version "$("$D/opt/kmt/sbin/kmemtrace" version)" = "$("$KMT" version)"
	for command in $("$KMT" list --names commands); do
		[ -s "$D/opt/kmt/share/man/man1/kmemtrace-$command.1" ] || fail "no man page of $command"
	done
	[ -s "$D/opt/kmt/share/man/man1/kmemtrace.1" ] || fail "no man page"
	[ -s "$D/opt/kmt/share/bash-completion/completions/kmemtrace" ] || fail "no completion"
	if command -v man >/dev/null; then
		MANWIDTH=200 man -M "$D/opt/kmt/share/man" kmemtrace-stat | grep -q "what stays" || fail "man does not find it"
	fi
	make -s -C "$ROOT" B="$build" DESTDIR="$D" PREFIX=/opt/kmt uninstall
	expect "files left" "$(find "$D" -type f | wc -l)" = 0
}

# complete WORD...: what the completion offers for the last word, on one line.
complete_words() {
	bash -c '
		source "$1"
		prog=$2
		shift 2
		COMP_WORDS=(kmemtrace "$@")
		COMP_CWORD=$#
		_kmemtrace "$prog"
		echo "${COMPREPLY[*]}"' - "$ROOT/completions/kmemtrace" "$KMT" "$@" 2>/dev/null
}

@test "the completion is registered" {
	bash -c 'source "$1"; complete -p kmemtrace' - "$ROOT/completions/kmemtrace" | grep -q -- '-F _kmemtrace'
}

@test "the completion knows what the tables know" {
	expect commands "$(complete_words '')" = "$("$KMT" list --names commands | xargs)"
	for command in stat trace doctor list; do
		expect "$command" "$(complete_words "$command" '')" = "$("$KMT" list --names "options:$command" | xargs)"
	done
	expect views "$(complete_words stat --by '')" = "$("$KMT" list --names views | xargs)"
	expect formats "$(complete_words stat --format '')" = "$("$KMT" list --names formats | xargs)"
	expect formats "$(complete_words doctor --format '')" = "$("$KMT" list --names formats | xargs)"
	expect "event formats" "$(complete_words trace -F '')" = \
		"$("$KMT" list --names event-formats | xargs) kmem_minimalistic kmem_alternative"
	expect tables "$(complete_words list --names 'options:tr')" = options:trace
}

@test "the completion completes what was begun" {
	expect command "$(complete_words tr)" = trace
	expect commands "$(complete_words st)" = "stat start status stop"
	expect option "$(complete_words stat --st)" = "--stacks --strict"
	expect view "$(complete_words stat --by si)" = "site site,cache site,lifetimes sizes"
	expect "view after =" "$(complete_words stat --by = si)" = "site site,cache site,lifetimes sizes"
	expect source "$(complete_words stat --source '')" = "bpf tracefs"
	expect filter "$(complete_words trace -f ca)" = "cache= cache!="
	expect help "$(complete_words help ver)" = version
	expect CMD "$(complete_words stat -- s)" = ""
	cd "$ROOT"
	expect file "$(complete_words stat --from READM)" = README.md
}

# --- scripts/setup, with false package tools before the real ones in PATH --------

# fake NAME SCRIPT
fake() {
	mkdir -p "$BATS_TEST_TMPDIR/bin"
	printf '#!/bin/sh\n%s\n' "$2" >"$BATS_TEST_TMPDIR/bin/$1"
	chmod +x "$BATS_TEST_TMPDIR/bin/$1"
}

# setup_with USER_ID INSTALLED_UNLESS_MATCHING: run it; what apt-get was asked is in the file 'asked'.
setup_with() {
	local asked=$BATS_TEST_TMPDIR/asked
	: >"$asked"
	fake id "echo $1"
	fake apt-get "echo \"\$*\" >>$asked"
	fake dpkg-query "for last; do :; done; case \$last in $2) exit 1 ;; esac; printf installed"
	shift 2
	run --separate-stderr env PATH="$BATS_TEST_TMPDIR/bin:$PATH" "$ROOT/scripts/setup" "$@"
}

@test "setup: nothing missing, nothing asked of the network" {
	for uid in 0 1000; do
		setup_with $uid none
		expect status "$status" = 0
		[ -z "$output$stderr" ] || fail "it said: $output$stderr"
		[ ! -s "$BATS_TEST_TMPDIR/asked" ] || fail "apt-get $(cat "$BATS_TEST_TMPDIR/asked")"
	done
}

@test "setup: without root it prints the one command and fails" {
	setup_with 1000 'bats | libbpf-dev'
	expect status "$status" = 3
	expect lines "${#stderr_lines[@]}" = 1
	[[ $stderr == *"sudo apt-get install -y --no-install-recommends libbpf-dev bats" ]] || fail "it said: $stderr"
	[ ! -s "$BATS_TEST_TMPDIR/asked" ] || fail "it called apt-get"
}

@test "setup: root gets what is missing, by name, and nothing else" {
	setup_with 0 'bats | libbpf-dev'
	expect status "$status" = 0
	expect asked "$(cat "$BATS_TEST_TMPDIR/asked")" = \
		$'update -q\ninstall -y --no-install-recommends libbpf-dev bats'
	# bench's packages are not asked for unless wanted
	setup_with 0 'bpftrace'
	[ ! -s "$BATS_TEST_TMPDIR/asked" ] || fail "apt-get $(cat "$BATS_TEST_TMPDIR/asked")"
	setup_with 0 'bpftrace' bench
	grep -q 'install .*bpftrace$' "$BATS_TEST_TMPDIR/asked" || fail "bench did not get its package"
	setup_with 0 none nope
	expect status "$status" = 2
}

@test "setup: a package that cannot be had is a failure" {
	setup_with 0 none
	fake apt-get 'exit 100'
	fake dpkg-query 'exit 1'
	run --separate-stderr env PATH="$BATS_TEST_TMPDIR/bin:$PATH" "$ROOT/scripts/setup"
	expect status "$status" = 3
}

# --- scripts/run ---------------------------------------------------------------------

@test "run: where the kernel refuses, it says why and shows a recording" {
	fake id 'echo 0'
	fake kmemtrace "[ \"\$1\" != doctor ] || { echo 'no   privilege   by decree'; exit 3; }; exec $KMT \"\$@\""
	run env -u SUDO_UID PATH="$BATS_TEST_TMPDIR/bin:$PATH" "$ROOT/scripts/run" "$BATS_TEST_TMPDIR/bin/kmemtrace"
	expect status "$status" = 0
	[[ $output == *"by decree"* ]] || fail "it does not say why"
	[[ $output == *"__sock_create"*"source kmt (bpf)"* ]] || fail "it shows no recording"
}

@test "run: where it can be traced it is; without root the one command is told" {
	fake kmemtrace 'echo "called: $*"'
	fake id 'echo 0'
	run env -u SUDO_UID PATH="$BATS_TEST_TMPDIR/bin:$PATH" "$ROOT/scripts/run" "$BATS_TEST_TMPDIR/bin/kmemtrace"
	[[ $output == *"called: stat --for 10s" ]] || fail "it did: $output"
	fake id 'echo 1000'
	run env PATH="$BATS_TEST_TMPDIR/bin:$PATH" "$ROOT/scripts/run" "$BATS_TEST_TMPDIR/bin/kmemtrace"
	expect status "$status" = 0
	[[ $output == *"sudo make run"* ]] || fail "it said: $output"
	[[ $output != *"stat --for"* ]] || fail "it tried to trace"
}

# --- the checks find what they are for ----------------------------------------------------

@test "check-layers refuses an include against the rules" {
	mkdir -p "$BATS_TEST_TMPDIR/src/render" "$BATS_TEST_TMPDIR/src/unknown"
	echo '#include "base/buf.h"' >"$BATS_TEST_TMPDIR/src/render/good.c"
	"$ROOT/scripts/check-layers" "$ROOT/layers" "$BATS_TEST_TMPDIR/src"
	echo '#include "core/session.h"' >"$BATS_TEST_TMPDIR/src/render/bad.c"
	echo '#include <jansson.h>' >"$BATS_TEST_TMPDIR/src/render/library.c"
	echo 'int x;' >"$BATS_TEST_TMPDIR/src/unknown/folder.c"
	run "$ROOT/scripts/check-layers" "$ROOT/layers" "$BATS_TEST_TMPDIR/src"
	[ "$status" != 0 ] || fail "it accepted them"
	[[ $output == *"render may not include core"* ]] || fail "not the layer: $output"
	[[ $output == *"jansson.h may only be included by"* ]] || fail "not the library: $output"
	[[ $output == *"\"unknown\" has no row"* ]] || fail "not the folder: $output"
}
