#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# The screen on recordings, in a terminal of tmux's, at 80x24 and 200x60. What it
# shows is compared with what 'report' says of the same recording, and its
# captures with those in docs/screens (KMT_SCREENS=1 writes these anew).
load lib.bash
load screen.bash

DEMO=$ROOT/tests/golden/kmt/demo.kmt
LAYERS=$ROOT/tests/golden/trace_dat/v7-layers.dat

setup() { need_tmux; }
teardown() { screen_end; }

# --- without a screen -------------------------------------------------------------

@test "no terminal, an unknown one: one line says so" {
	local name
	refused 3 "see --batch" top "$DEMO"
	SCREEN_ENV="TERM=no-such-terminal" screen 80 24 "$DEMO"
	ends_with 3
	grep -q "'no-such-terminal' is not known" "$D/err"
	expect lines "$(wc -l <"$D/err")" = 1
	# ncurses knows these two, but no screen can be made of them
	for name in dumb unknown; do
		screen_end
		rm -f "$STATUS"
		SCREEN_ENV="TERM=$name" screen 80 24 "$DEMO"
		ends_with 3
		expect lines "$(wc -l <"$D/err")" = 1
		grep -q "see --batch" "$D/err" || fail "$(cat "$D/err")"
	done
	for name in "-u TERM" TERM=; do
		screen_end
		rm -f "$STATUS"
		SCREEN_ENV=$name screen 80 24 "$DEMO"
		ends_with 3
		grep -q "TERM is not set" "$D/err" || fail "$(cat "$D/err")"
	done
}

@test "options that belong elsewhere" {
	refused 2 "--iterations belongs to --batch" top -n 3 "$DEMO"
	refused 2 "belong to --batch" top --columns site "$DEMO"
	refused 2 "belong to --batch" top --format json "$DEMO"
	refused 2 "top has no view directory" top --by directory "$DEMO"
	refused 2 "there is no view 'nothing'" top --by nothing "$DEMO"
	refused 2 "standard input has the keys" top -
	refused 4 "no-such-file" top --batch /no-such-file
	refused 2 "a FILE runs no command" top "$DEMO" -- true
	refused 2 "there is no command behind '--'" top --
}

@test "--batch of a recording says what report says" {
	local view
	for view in site cache leaks task cpu node module site,cache waste; do
		"$KMT" report "$DEMO" "$view" --format csv --limit 0 >"$D/report"
		"$KMT" top --batch "$DEMO" --by "$view" --format csv --limit 0 >"$D/top"
		cmp "$D/report" "$D/top" || fail "$view differs"
	done
}

# --- the views -------------------------------------------------------------------------

# rows N COLUMNS...: what the report has as the first rows
first_of() {
	"$KMT" report "$DEMO" "$1" --format json --limit 1 | jq -r ".rows[0].$2"
}

@test "each view's first row is the report's" {
	local site objects
	screen 200 60 "$DEMO"
	wait_for "[1 Sites]"
	site=$(first_of site site)
	objects=$(first_of site live_objects)
	shown | grep -E "^>.* $objects .*vmlinux ${site//+/.}" || fail "$(shown)"
	keys 2
	wait_for "[2 Caches]"
	shown | grep -E "^>.* $(first_of cache live_objects) .*$(first_of cache cache)" || fail "$(shown)"
	keys 5
	wait_for "[5 Task]"
	shown | grep -E "^>.* $(first_of task tgid) $(first_of task task)" || fail "$(shown)"
	keys 6
	wait_for "[6 Modules]"
	shown | grep -E "^>.* $(first_of module sites) vmlinux" || fail "$(shown)"
	keys 9
	wait_for "[9 Stacks]"
	shown | grep -E "^>.* $(first_of stacks allocs) .*\+ $(first_of stacks function)" || fail "$(shown)"
	# the summary is above all of them
	has "live 392.1 KiB  objects 1627"
	keys 4
	wait_for "pages are not traced: start with --tracer page"
	has "live 392.1 KiB  objects 1627"
	keys q
	ends_with 0
}

@test "who: one key, task, cgroup, CPU and node after each other" {
	screen 80 24 "$DEMO"
	wait_for " 5 Who "
	keys 5
	wait_for "[5 Task]"
	shown | grep -E "^>.* $(first_of task tgid) $(first_of task task)" || fail "$(shown)"
	keys 5
	wait_for "[5 Cgroup]"
	wait_for "events do not say in which cgroup"
	keys 5
	wait_for "[5 CPU]"
	shown | grep -E "^>.* $(first_of cpu live_objects) .* - +$(first_of cpu cpu)" || fail "$(shown)"
	keys 5
	wait_for "[5 Node]"
	keys 1 5
	wait_for "[5 Node]"
	keys q
	ends_with 0
	screen_end
	rm -f "$STATUS"
	# counted by cgroup: see tests/golden/kmt/README.md
	screen 80 24 --by cgroup "$ROOT/tests/golden/kmt/cgroup.kmt"
	wait_for "[5 Cgroup]"
	shown | grep -E '^> *70 KiB .* 70 .* /system\.slice/db\.service$' || fail "$(shown)"
	shown | grep -E '^ *0 B .* 0 .* /system\.slice/web\.service$' || fail "$(shown)"
	keys q
	ends_with 0
}

@test "who calls a site, and the tree the other way round" {
	local site
	site=$(first_of site site)
	screen 200 60 "$DEMO"
	wait_for "[1 Sites]"
	keys t
	wait_for "callers of ${site%%+*} (t: all)"
	# the function itself, and who calls it below
	shown | sed -n 7p | grep -E "\+ ${site%%+*}\$|[+ ]  ?${site%%+*}\$" || fail "$(shown)"
	keys t
	wait_gone "callers of"
	shown | sed -n 7p | grep -F entry_SYSCALL_64 || fail "$(shown)"
	keys i
	wait_for "$("$KMT" report "$DEMO" stacks --inverted --format json --limit 1 | jq -r '.rows[0].function')"
	keys q
	ends_with 0
}

@test "sorting, the filter, the cursor and the detail" {
	local want
	screen 80 24 "$DEMO"
	wait_for "[1 Sites]"
	keys '/' epoll Enter
	wait_for "filter: epoll"
	expect rows "$(shown | sed -n '7,23p' | grep -c epoll)" = "$("$KMT" report "$DEMO" site \
		--limit 0 --format json | jq '[.rows[] | select([.. | strings] | any(test("epoll"; "i")))] | length')"
	keys '/' BSpace BSpace BSpace BSpace BSpace Enter
	wait_gone "filter: epoll"
	keys '>' '>'
	wait_for "OBJS▼"
	want=$("$KMT" report "$DEMO" site --sort live_objects --format json --limit 1 | jq -r '.rows[0].site')
	shown | grep -E "^>.*${want:0:15}" || fail "$(shown)"
	keys r
	wait_for "OBJS▲"
	keys r
	wait_for "OBJS▼"
	# shares: what is given and not asked for, of what is given
	keys '/' 'waste%>=12.5' Enter
	wait_for "filter: waste%>=12.5"
	expect rows "$(shown | sed -n 's/.* \([0-9]*\) rows  filter.*/\1/p')" = "$("$KMT" report "$DEMO" \
		site --limit 0 --format json | jq '[.rows[] | select(.bytes_allocated > 0 and
		(.bytes_allocated - .bytes_requested) * 8 >= .bytes_allocated)] | length')"
	keys '>' '>'
	wait_for "TEMP%▼"
	want=$("$KMT" report "$DEMO" site --limit 0 --format json | jq '[.rows[] | select(.bytes_allocated > 0
		and (.bytes_allocated - .bytes_requested) * 8 >= .bytes_allocated) | .temporary / .allocs] |
		max * 1000 | round')
	shown | grep -E "^>.*/s +$((want / 10))\.$((want % 10)) " || fail "$(shown)"
	keys '<' '<' '/' BSpace BSpace BSpace BSpace BSpace BSpace BSpace BSpace BSpace BSpace BSpace \
		BSpace Enter
	wait_gone "filter:"
	wait_for "OBJS▼"
	keys Down Enter
	want=$("$KMT" report "$DEMO" site --sort live_objects --format json --limit 2 | jq -r '.rows[1].site')
	wait_for "site                   $want"
	keys Escape
	wait_for "OBJS▼"
	keys q
	ends_with 0
}

# --- time ------------------------------------------------------------------------------

@test "time keys: what report --until shows" {
	local at low high events
	screen 200 60 "$DEMO"
	wait_for "at 177ms of 177ms"
	keys '{'
	wait_for "at 1ns of 177ms"
	has "no rows"
	keys '}' n
	wait_for "at 177ms of 177ms"
	shown | grep -E "^  events +$("$KMT" report "$DEMO" --format json | jq .quality.events)\$" || fail "$(shown)"
	for _ in {1..20}; do keys '['; done
	# 20 of 50 steps back: 177 * 30 / 50
	wait_for "at 106ms of 177ms"
	low=$("$KMT" report "$DEMO" --until 105.4ms --format json | jq .quality.events)
	high=$("$KMT" report "$DEMO" --until 106.6ms --format json | jq .quality.events)
	for _ in {1..300}; do
		events=$(shown | sed -n 's/^  events  *\([0-9]*\)$/\1/p' | head -n 1)
		[ "${events:-0}" -gt "$high" ] || break
		sleep 0.1
	done
	expect "events" "$events" -ge "$low"
	expect "events" "$events" -le "$high"
	keys q
	ends_with 0
}

# --- the terminal ------------------------------------------------------------------------

@test "every way out leaves the terminal as it was" {
	local how
	for how in q C-c TERM HUP SEGV ABRT; do
		rm -f "$STATUS"
		screen 80 24 "$DEMO"
		wait_for "[1 Sites]"
		expect "alternate screen" "$(tm display -p -t top '#{alternate_on}')" = 1
		case $how in
		q | C-c) keys "$how" ;;
		*) kill "-$how" "$(screen_pid)" ;;
		esac
		case $how in
		SEGV) ends_with 139 ;;
		ABRT) ends_with 134 ;;
		*) ends_with 0 ;;
		esac
		screen_end
	done
}

@test "another size: the screen follows, and says when it is too small" {
	screen 80 24 "$DEMO"
	wait_for "[1 Sites]"
	expect "last line" "$(shown | sed -n 24p | cut -c1-6)" = "? help"
	tm resize-window -t top -x 200 -y 60
	wait_for "UNTRACED MODULE"
	expect "last line" "$(shown | sed -n 60p | cut -c1-6)" = "? help"
	tm resize-window -t top -x 79 -y 24
	wait_for "79x24 is too small: 80x24, or q"
	tm resize-window -t top -x 80 -y 24
	wait_for "[1 Sites]"
	keys q
	ends_with 0
}

@test "colours where the terminal has them and nobody minds" {
	SCREEN_ENV="TERM=screen-256color LC_ALL=C.UTF-8" screen 80 24 "$DEMO"
	wait_for "[1 Sites]"
	# 31 is red, and still reverse; 36 cyan
	shown -e >"$D/sgr"
	grep -qE $'\e\[31m(\e\[[0-9;]*m)*untraced frees 30' "$D/sgr" || fail "$(cat -v "$D/sgr")"
	grep -qE $'\e\[36m(\e\[[0-9;]*m)*\\[1 Sites' "$D/sgr" || fail "$(cat -v "$D/sgr")"
	keys q
	ends_with 0
	screen_end
	rm -f "$STATUS"
	# one without colours
	SCREEN_ENV="TERM=vt100 LC_ALL=C.UTF-8" screen 80 24 "$DEMO"
	wait_for "[1 Sites]"
	shown -e | sed 's/\x1b\[[34]9m//g' >"$D/sgr"
	! grep -qE $'\e\[([0-9;]*;)?[34][0-9]m' "$D/sgr" || fail "$(cat -v "$D/sgr")"
	keys q
	ends_with 0
}

@test "no colours; nothing but ASCII where the locale is not UTF-8" {
	SCREEN_ENV="NO_COLOR=1 LC_ALL=C" screen 80 24 "$DEMO"
	wait_for "LIVEv"
	keys Down
	sleep 0.5
	! shown | LC_ALL=C grep -q '[^ -~]' || fail "$(shown)"
	# 39 and 49 are no colour; the rest of 30 to 49 and 90 to 107 are
	shown -e | sed 's/\x1b\[[34]9m//g' >"$D/sgr"
	! grep -qE $'\e\[([0-9;]*;)?([34][0-9]|9[0-7]|10[0-7])(;[0-9;]*)?m' "$D/sgr" || fail "$(cat -v "$D/sgr")"
	# 7 is reverse: the mark of a row, and the frees that were not traced
	grep -qE $'\e\[([0-9;]*;)?7(;[0-9;]*)?m(\e\[[0-9;]*m)*untraced frees 30' "$D/sgr" || fail "$(cat -v "$D/sgr")"
	keys q
	ends_with 0
}

@test "a recording that was cut off: what is there is shown, and that it is not all" {
	head -c 60000 "$DEMO" >"$D/cut.kmt"
	screen 80 24 "$D/cut.kmt"
	wait_for "unreadable input"
	keys q
	ends_with 0
}

@test "a filter leaves the tree of calls whole" {
	local rows
	screen 80 24 "$DEMO"
	wait_for "[1 Sites]"
	keys '/' sock_alloc_inode Enter
	wait_for "filter: sock_alloc_inode"
	keys 9
	wait_for "[9 Stacks]"
	# as many as the program has without a screen
	rows=$("$KMT" report "$DEMO" stacks --format json --limit 0 | jq '.rows | length')
	wait_for "$rows rows"
	shown | tail -n 1 | grep -v filter || fail "$(shown)"
	keys 1
	wait_for "filter: sock_alloc_inode"
	keys q
	ends_with 0
}

# --- what the documentation shows -----------------------------------------------------------

@test "the captures in docs/screens are what is shown" {
	local size view file bad=0
	mkdir -p "$D/screens"
	for size in 80x24 200x60; do
		screen "${size%x*}" "${size#*x}" "$DEMO"
		wait_for "[1 Sites]"
		for view in 1Sites 2Caches 3Suspects 5Task 6Modules 7Both 8Waste 9Stacks; do
			keys "${view:0:1}"
			wait_for "[${view:0:1} ${view:1}]"
			shown >"$D/screens/$size-${view:1}.txt"
		done
		keys 5 5 5
		wait_for "[5 CPU]"
		shown >"$D/screens/$size-CPU.txt"
		keys 1
		wait_for "[1 Sites]"
		keys t
		wait_for "callers of"
		shown >"$D/screens/$size-callers.txt"
		keys t 1
		wait_for "[1 Sites]"
		keys Enter
		wait_for "Esc back"
		shown >"$D/screens/$size-detail.txt"
		keys '?'
		wait_for "next view"
		shown >"$D/screens/$size-help.txt"
		screen_end
		screen "${size%x*}" "${size#*x}" --by cgroup "$ROOT/tests/golden/kmt/cgroup.kmt"
		wait_for "[5 Cgroup]"
		shown >"$D/screens/$size-Cgroup.txt"
		screen_end
		screen "${size%x*}" "${size#*x}" --tracer page --by page "$LAYERS"
		wait_for "[4 Pages]"
		shown >"$D/screens/$size-Pages.txt"
		screen_end
	done
	if [ -n "${KMT_SCREENS-}" ]; then
		mkdir -p "$ROOT/docs/screens"
		rm -f "$ROOT"/docs/screens/*.txt
		cp "$D"/screens/*.txt "$ROOT/docs/screens/"
	fi
	for file in "$D"/screens/*.txt; do
		diff "$ROOT/docs/screens/${file##*/}" "$file" || bad=1
	done
	[ "$bad" = 0 ]
	expect "captures" "$(ls "$ROOT"/docs/screens/*.txt | wc -l)" = "$(ls "$D/screens" | wc -l)"
}
