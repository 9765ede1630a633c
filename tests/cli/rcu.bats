#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# What is given up to RCU, from a stream written by hand (see its README): three
# objects of 64 bytes are given up at 2 s; one is freed at 3 s, the address of one is
# handed out again at 4 s, of one nothing is heard. Another's free fires no event.

load lib

RCU=$SAMPLES/rcu.txt

setup() {
	T=$BATS_TEST_TMPDIR
	head -n 10 "$RCU" >"$T/five_s.txt"	# until 5 s: the third still waits
}

# answer FILE FILTER: of the sites' JSON
answer() {
	"$KMT" stat --from "$1" --by site --format json 2>"$T/err" >"$T/json" ||
		fail "stat --from $1: $(cat "$T/err")"
	jq -r "$2" "$T/json"
}

SUMMARY='.summary | "\(.allocs) \(.frees) \(.live_objects) \(.awaiting_rcu) \(.bytes_awaiting_rcu)"'

@test "the books of a stream written by hand" {
	expect "at 5 s" "$(answer "$T/five_s.txt" "$SUMMARY")" = "6 3 2 1 64"
	expect "at 42 s, no longer" "$(answer "$RCU" "$SUMMARY")" = "6 4 1 0 0"
	expect "untraced" "$(answer "$RCU" '.quality | "\(.untraced_frees) \(.frees_before_start)"')" \
		= "1 0"
	expect "rows" "$(answer "$T/five_s.txt" \
		'[.rows[] | "\(.live_objects) \(.awaiting_rcu) \(.frees) \(.untraced_frees)"] |
		 join(", ")')" = "1 0 0 1, 1 1 3 0"
}

@test "a recording of it says the same, and gives the text back to the byte" {
	"$KMT" convert -o "$T/rcu.kmt" "$RCU"
	"$KMT" convert -o "$T/five_s.kmt" "$T/five_s.txt"
	expect "at 5 s" "$(answer "$T/five_s.kmt" "$SUMMARY")" = "6 3 2 1 64"
	expect "at 42 s" "$(answer "$T/rcu.kmt" "$SUMMARY")" = "6 4 1 0 0"
	"$KMT" trace --from "$T/rcu.kmt" --time --cache 2>/dev/null >"$T/back.txt"
	# a cache is known of every object there, so frees have one too
	sed 's/ cache [^ ]*//' "$T/back.txt" >"$T/back"
	sed 's/ cache [^ ]*//' "$RCU" | cmp - "$T/back"
	# and through the table, whose third sign is ~
	"$KMT" trace --from "$T/rcu.kmt" --format table --time --cache 2>/dev/null >"$T/table.txt"
	expect "lines with ~" "$(grep -c '^  ~  ' "$T/table.txt")" = 3
	expect "from the table" "$(answer "$T/table.txt" "$SUMMARY")" = "6 4 1 0 0"
}

@test "a recording that was made when this was new" {
	local kmt=$ROOT/tests/golden/kmt/rcu.kmt

	expect "books" "$(answer "$kmt" "$SUMMARY")" = "6 4 1 0 0"
	[ -z "$(type -P python3)" ] ||
		expect "by another reader" \
			"$(python3 "$ROOT/tests/store/decode.py" "$kmt" | grep -c '^event give_up ')" = 3
}

@test "every format tells it, text only where there is something" {
	kmt stat --from "$T/five_s.txt" --by cache
	expect status "$status" = 0
	[[ $output == *"awaiting RCU         1 "* ]] || fail "$output"
	[[ $output == *" RCU "*UNTRACED* ]] || fail "$output"
	while IFS= read -r line; do
		expect "width of '$line'" "${#line}" -le 80
	done <<<"$output"
	kmt stat --from "$RCU" --by cache
	[[ $output != *RCU* ]] || fail "$output"
	kmt stat --from "$RCU" --by cache --format csv
	[[ ${lines[0]} == *awaiting_rcu,bytes_awaiting_rcu* ]] || fail "$output"
	[[ ${lines[0]} == *untraced_frees* ]] || fail "$output"
	"$KMT" stat --from "$T/five_s.txt" --by cache --format ndjson |
		jq -se '[.[] | select(.record != "summary").awaiting_rcu] == [0, 1]'
}

@test "a filter takes what is given up with its object" {
	"$KMT" trace --from "$RCU" --filter cache=kmalloc-64 --time 2>/dev/null >"$T/some.txt"
	expect "given up" "$(grep -c 'given_up rcu' "$T/some.txt")" = 3
	expect "frees" "$(grep -vc 'given_up\|bytes_req' "$T/some.txt")" = 2
	expect "books" "$(answer "$T/some.txt" "$SUMMARY")" = "4 4 0 0 0"
	"$KMT" trace --from "$RCU" --filter cache=maple_node 2>/dev/null >"$T/other.txt"
	expect "of the others" "$(grep -c 'given_up' "$T/other.txt" || true)" = 0
}

@test "check holds it to a limit" {
	kmt check --max-awaiting-rcu 64 --max-untraced 1 "$T/five_s.txt"
	expect status "$status" = 0
	kmt check --max-awaiting-rcu 63 "$T/five_s.txt"
	expect status "$status" = 1
	kmt check --max-awaiting-rcu 0 "$RCU"
	expect status "$status" = 0
}
