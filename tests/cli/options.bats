#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Options, exit statuses, messages, help.
load lib.bash

commands() {
	"$KMT" list --names commands
}

@test "without a command, and with an unknown one: status 2" {
	refused 2 "kmemtrace help"
	refused 2 "no command 'nope'" nope
	refused 2 "no command '-x'" -x
}

@test "the version is that of the file VERSION" {
	for word in version --version -V; do
		kmt "$word"
		expect status "$status" = 0
		expect output "$output" = "kmemtrace $(cat "$ROOT/VERSION")"
	done
	refused 2 "takes no argument" version 2
}

@test "help: every command is named, and helped in two ways" {
	kmt help
	expect status "$status" = 0
	for command in $(commands); do
		[[ $output == *"  $command "* ]] || fail "help does not name $command"
		expect "$command" "$("$KMT" help "$command")" = "$("$KMT" "$command" --help)"
		expect "$command -h" "$("$KMT" "$command" -h)" = "$("$KMT" "$command" --help)"
	done
	expect --help "$("$KMT" --help)" = "$("$KMT" help)"
	refused 2 "no command 'nope'" help nope
}

@test "help and the tables name the same options" {
	for command in stat trace record convert doctor list; do
		helped=$("$KMT" help "$command" | grep -oE '^ +(-[a-zA-Z], )?--[a-z-]+' |
			grep -oE -- '--[a-z-]+' | sort)
		expect "$command" "$helped" = "$("$KMT" list --names "options:$command" | sort)"
	done
}

@test "help fits 80 columns" {
	for command in $(commands); do
		"$KMT" help "$command" | awk -v c="$command" 'length > 80 { print c ": " $0; bad = 1 } END { exit bad }'
	done
	"$KMT" help | awk 'length > 80 { print; bad = 1 } END { exit bad }'
}

@test "an unknown option: status 2, one line, and how to get help" {
	for command in stat trace record convert doctor list; do
		refused 2 "unknown option '--nope' (see 'kmemtrace $command --help')" "$command" --nope
		refused 2 "unknown option '-Z'" "$command" -Z
	done
}

@test "each option that takes a value asks for it" {
	for command in stat trace record convert doctor list; do
		for option in $("$KMT" help "$command" | grep -oE -- '--[a-z-]+=' | tr -d =); do
			refused 2 "$option needs an argument" "$command" "$option"
		done
	done
}

@test "each flag refuses a value" {
	for command in stat trace record convert; do
		for option in $("$KMT" help "$command" | grep -oE -- '^ +--[a-z-]+( |$)'); do
			refused 2 "$option takes no argument" "$command" "$option=1"
		done
	done
}

@test "values out of range: the message has the range" {
	refused 2 "--for must be 1ms to 366d, not '0'" stat --for 0
	refused 2 "not '1x'" stat --for 1x
	refused 2 "not ''" stat --for ''
	refused 2 "--interval must be 10ms to 1d, not '1ms'" stat --interval 1ms
	refused 2 "--limit must be 0 to 4294967295, not '-1'" stat --limit -1
	refused 2 "not '1e3'" stat --limit 1e3
	refused 2 "not '99999999999999999999999'" stat --limit 99999999999999999999999
	refused 2 "--sites must be" stat --sites 0
	refused 2 "--sites must be" trace --sites 1000000000
	refused 2 "--objects must be" stat --objects 1
	refused 2 "--objects-kb must be" stat --objects-kb 1
	refused 2 "--buffer must be 4K to 1G, not '3T'" trace --buffer 3T
	refused 2 "--ring must be 4K to 1G, not '12'" trace --ring 12
	refused 2 "--ring must be 4K to 1G, not '12'" stat --ring 12
	refused 2 "--min-age must be" stat --min-age 400d
	refused 2 "--temporary must be" stat --temporary 1d
}

@test "unknown views, formats, sources, tables" {
	refused 2 "no view 'nope'" stat --by nope
	refused 2 "no format 'nope'" stat --format nope
	refused 2 "no format 'json'" trace --format json
	refused 2 "no format 'table'" doctor --format table
	refused 2 "--source must be bpf or tracefs" stat --source nope
	refused 2 "--source must be bpf or tracefs" trace --source legacy
	refused 2 "nothing is called 'nope'" list --names nope
	refused 2 "no command 'nope'" list --names options:nope
}

@test "unknown columns and sort orders are found before anything is traced" {
	refused 2 "unknown column 'nope'" stat --columns nope
	refused 2 "unknown column ''" stat --columns allocs,,frees
	refused 2 "named twice" stat --columns allocs,allocs
	refused 2 "unknown column 'nope'" stat --sort nope
	refused 2 "asc or desc, not 'up'" stat --sort allocs:up
	refused 2 "unknown column 'nope'" stat --filter nope=1
	refused 2 "unknown column 'cpu'" stat --by cache --filter cpu=1
}

@test "bad filters" {
	refused 2 "expected KEY=VALUE" stat --filter cache
	refused 2 "'[' without ']'" stat --filter 'cache=[a'
	refused 2 "empty pattern" stat --filter cache=
	refused 2 "no size is left" stat --filter size=5..1
	refused 2 "no size is left" stat --filter 'size>=10' --filter 'size<=5'
	refused 2 "size=x" stat --filter size=x
	refused 2 "pid=-1" trace --filter pid=-1
	refused 2 "begins with '/'" trace --filter cgroup=user.slice
	refused 2 "only one cgroup" trace --filter cgroup=/a --filter cgroup=/b
	refused 2 "condition on the rows" trace --filter 'allocs>=1'
	many=()
	for i in {1..17}; do many+=(--filter "pid=$i"); done
	refused 2 "more than 16" stat "${many[@]}"
}

@test "options that exclude each other" {
	refused 2 "exclude each other" stat --objects 1000 --objects-kb 100
	refused 2 "exclude each other" stat --stacks --by task
	refused 2 "exclude each other" stat --from "$SAMPLE" --source bpf
	refused 2 "--no-objects leaves no objects" stat --no-objects --min-age 1s
	refused 2 "--no-objects leaves no objects" stat --no-objects --by object
	refused 2 "--follow needs a CMD" stat --follow
	refused 2 "--from runs no command" stat --from "$SAMPLE" -- true
	refused 2 "--from runs no command" trace --from "$SAMPLE" true
	refused 2 "belong to tracing" trace --from "$SAMPLE" --for 1s
	refused 2 "belongs to tracing" stat --from "$SAMPLE" --interval 1s
}

@test "options may be abbreviated as long as they are clear, and given anywhere before CMD" {
	kmt stat --fro "$SAMPLE" --bytes --lim=1
	expect status "$status" = 0
	refused 2 "ambiguous" stat --f "$SAMPLE"
}

@test "messages escape control characters, once" {
	refused 2 "'--\\x1b[31mred'" stat $'--\e[31mred'
	refused 2 "'a\\x0ab'" $'a\nb'
	refused 2 "\\x0d" stat --by $'x\ry'
	refused 4 "cannot open '/nonexistent/" stat --from $'/nonexistent/\e[0m'
	[[ $stderr != *$'\e'* ]] || fail "an escape sequence came through"
}

@test "list: every table has rows, and the whole list names them" {
	kmt list
	expect status "$status" = 0
	all=$output
	for table in tracers sources views formats event-formats; do
		names=$("$KMT" list --names "$table")
		[ -n "$names" ] || fail "no $table"
		for name in $names; do
			[[ $all == *"  $name "* ]] || fail "list does not show $name"
		done
	done
	refused 2 "takes no argument 'x'" list x
}

@test "a closed pipe ends quietly, a full disk does not" {
	for args in list help "stat --from $SAMPLE" "stat --from $SAMPLE --format json" \
			"trace --from $SAMPLE" status "status --format json" "report $SAMPLE" \
			"diff $SAMPLE $SAMPLE" doctor; do
		# the reader is gone before anything is written
		exec 7> >(exec true)
		wait $!
		# shellcheck disable=SC2086
		said=$("$KMT" $args 2>&1 >&7) || [ "$args" = doctor ] || fail "$args: status $?"
		exec 7>&-
		[ -z "$said" ] || fail "$args said: $said"
	done
	for args in list "stat --from $SAMPLE" "trace --from $SAMPLE"; do
		# shellcheck disable=SC2086
		! said=$("$KMT" $args 2>&1 >/dev/full) || fail "$args: status 0 on a full disk"
		[[ $said == *"standard output"* ]] || fail "$args said: $said"
	done
}

@test "closed standard output: an error; closed input or error: no matter" {
	for args in list "stat --from $SAMPLE" "trace --from $SAMPLE"; do
		# shellcheck disable=SC2086
		! said=$(timeout 60 "$KMT" $args 2>&1 >&-) || fail "$args: status 0 without output"
		[[ $said == *"standard output: Bad file descriptor"* ]] || fail "$args said: $said"
		# shellcheck disable=SC2086
		timeout 60 "$KMT" $args <&- 2>&- >"$BATS_TEST_TMPDIR/out" || fail "$args: status $?"
		[ -s "$BATS_TEST_TMPDIR/out" ] || fail "$args: no output"
	done
}

@test "without privilege: status 3, one line; files can be read, lists printed" {
	for args in stat trace "stat --source tracefs" "trace --source bpf" "stat -- true"; do
		# shellcheck disable=SC2086
		as_nobody $args
		expect "status of '$args'" "$status" = 3
		[ -z "$output" ] || fail "'$args' wrote to standard output: $output"
		expect "lines on standard error of '$args'" "${#stderr_lines[@]}" = 1
		[[ $stderr == *"needs root"* ]] || fail "'$args' said: $stderr"
	done
	as_nobody doctor
	expect "status of doctor" "$status" = 3
	[[ $output == *"no   privilege"*"cannot trace here"* ]] || fail "doctor said: $output"
	as_nobody list
	expect "status of list" "$status" = 0
	as_nobody trace --from - <"$SAMPLE"
	expect "status of trace --from" "$status" = 0
	expect "trace --from" "$output" = "$(cat "$SAMPLE")"
}

@test "doctor: the formats agree, the status tells whether the main job can run" {
	run --separate-stderr "$KMT" doctor --format json
	[ "$status" = 0 ] || [ "$status" = 3 ] || fail "status $status"
	json_status=$status
	source=$(jq -r .summary.source <<<"$output")
	[ "$status" = 3 ] || [ "$source" != null ] || fail "status 0 without a source"
	[ "$status" = 0 ] || [ "$source" = null ] || fail "status 3 with source $source"
	checks=$(jq -r '.rows[].check' <<<"$output")
	kmt doctor
	expect status "$status" = "$json_status"
	expect checks "$(sed -nE 's/^(ok  |warn|no  ) (.{22}) .*/\2/p' <<<"$output" | sed 's/ *$//')" = "$checks"
	awk 'length > 80 { print; bad = 1 } END { exit bad }' <<<"$output"
}
