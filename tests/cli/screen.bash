# SPDX-License-Identifier: GPL-2.0-only
# kmemtrace top in a terminal of tmux's: keys in, what stands on it out. Each
# has a server and a socket of its own, in the test's directory.

need_tmux() {
	command -v tmux >/dev/null || skip "no tmux"
	D=$BATS_TEST_TMPDIR
	STATUS=$D/status
	SCREENS=0
	rm -f "$STATUS"
}

tm() {
	env -u TMUX tmux -S "$D/tmux$SCREENS" -f /dev/null "$@" 3>&-
}

# screen COLUMNS LINES ARG...: top runs; SCREEN_ENV holds settings for env(1), SCREEN_DIR
# where it runs.
# When it ends, $STATUS has its exit status and $D/stty how it left the terminal.
screen() {
	local columns=$1 lines=$2
	shift 2
	SCREENS=$((SCREENS + 1))	# a server that ends still has its socket
	{
		echo "cd '${SCREEN_DIR:-$D}'"
		echo "env ${SCREEN_ENV:-LC_ALL=C.UTF-8} '$KMT' top ${*@Q} 2>'$D/err'"
		echo "echo \$? >'$STATUS.new'"
		echo "stty -a >'$D/stty'"
		echo "mv '$STATUS.new' '$STATUS'"
		echo "exec sleep 600"
	} >"$D/run"
	tm new-session -d -s top -x "$columns" -y "$lines" "bash '$D/run'"
}

keys() {
	tm send-keys -t top "$@"
}

shown() {
	tm capture-pane -p -t top "$@"
}

has() {
	shown | grep -qF -- "$1"
}

has_not() {
	! has "$1"
}

# wait_for TEXT: until it stands on the screen
wait_for() {
	local i
	for ((i = 0; i < 600; i++)); do
		! has "$1" || return 0
		[ ! -e "$STATUS" ] || break	# it has ended
		sleep 0.1
	done
	fail "'$1' did not come; the screen: $(shown)"
}

wait_gone() {
	local i
	for ((i = 0; i < 600; i++)); do
		has "$1" || return 0
		sleep 0.1
	done
	fail "'$1' stays on the screen: $(shown)"
}

# pid of top
screen_pid() {
	local shell
	shell=$(tm display -p -t top '#{pane_pid}')
	# bash, and below it the program
	cat "/proc/$shell/task/$shell/children" | tr -d ' '
}

# It ends, with that exit status, and leaves the terminal as it was.
ends_with() {
	local i
	for ((i = 0; i < 600; i++)); do
		[ ! -e "$STATUS" ] || break
		sleep 0.1
	done
	expect "exit status" "$(cat "$STATUS")" = "$1"
	expect "alternate screen, cursor, keypad" \
		"$(tm display -p -t top '#{alternate_on}#{cursor_flag}#{keypad_flag}')" = 010
	grep -qE '(^|[; ])icanon' "$D/stty" || fail "not canonical: $(cat "$D/stty")"
	grep -qE '(^|[; ])echo([; ]|$)' "$D/stty" || fail "no echo: $(cat "$D/stty")"
}

screen_end() {
	[ ! -S "$D/tmux$SCREENS" ] || tm kill-server 2>/dev/null || true
}
