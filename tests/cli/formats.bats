#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# 'stat --from' in every format. The sample is short enough to be counted by
# hand: 9 allocations (getname 5 x 4096, d_alloc 3 x 240, reiserfs_alloc_inode
# 1304 in 1312), 6 frees: one of an object older than the sample, and the five
# of putname, one for each of getname's.
load lib.bash

stat_sample() {
	run --separate-stderr "$KMT" stat --from "$SAMPLE" --kallsyms "$KALLSYMS" "$@"
	expect status "$status" = 0
	[ -z "$stderr" ] || fail "standard error: $stderr"
}

@test "json: what can be counted by hand" {
	stat_sample --format json
	jq -e '.schema == "kmemtrace.report/1" and .command == "stat" and .view == "site,cache"' <<<"$output"
	jq -e '.quality | .source == "legacy" and .events == 15 and .frees_before_start == 1 and
		.lost_total == 0 and .untraced_frees == 0 and .recursion_misses == 0' <<<"$output"
	jq -e '.summary | .allocs == 9 and .frees == 5 and .live_objects == 4 and
		.live_bytes_requested == 3 * 240 + 1304 and
		.live_bytes_allocated == 3 * 240 + 1312 and
		.bytes_requested == 5 * 4096 + 3 * 240 + 1304 and .waste_bytes == 8' <<<"$output"
	jq -e '.rows_total == 3 and (.rows | length) == 3' <<<"$output"
	jq -e '.rows[] | select(.site | startswith("getname+")) |
		.allocs == 5 and .frees == 5 and .live_objects == 0 and .type == "K" and
		.bytes_requested == 20480 and .peak_bytes_allocated == 4096' <<<"$output"
	jq -e '.rows[] | select(.site | startswith("reiserfs_alloc_inode+")) |
		.live_bytes_allocated == 1312 and .live_bytes_requested == 1304 and .waste_bytes == 8' <<<"$output"
}

@test "json: the keys that scripts rely on" {
	stat_sample --format json
	jq -e '.rows[0] | has("site", "module", "type", "cache", "aliases", "allocs", "frees",
		"failures", "bytes_requested", "bytes_allocated", "live_objects",
		"live_bytes_requested", "live_bytes_allocated", "peak_bytes_allocated",
		"waste_bytes", "cross_cpu_frees", "temporary", "untraced_frees", "age_min_ns",
		"age_p50_ns", "age_max_ns", "balance")' <<<"$output"
	jq -e '.rows[0].balance | has("traced_net", "real_net", "verdict")' <<<"$output"
	jq -e '.quality | has("source", "events", "lost_ring", "lost_sites", "lost_objects",
		"lost_stacks", "recursion_misses", "frees_before_start", "untraced_frees",
		"failed_allocations", "sample_bytes")' <<<"$output"
	jq -e 'has("kernel", "window_ns", "quality", "summary", "rows")' <<<"$output"
}

@test "json, ndjson and csv agree, in every view" {
	for view in $("$KMT" list --names views); do
		file=demo
		[ "$view" != cgroup ] || file=cgroup	# which events do not tell
		for format in json ndjson csv; do
			"$KMT" stat --from "$ROOT/tests/golden/kmt/$file.kmt" --by "$view" \
				--format "$format" >"$BATS_TEST_TMPDIR/$format"
		done
		python3 - "$BATS_TEST_TMPDIR" "$view" <<-'PYTHON'
		import csv, json, sys
		directory, view = sys.argv[1:]

		def flat(row):
		    out = {}
		    for key, value in row.items():
		        if isinstance(value, dict):
		            out.update({f"{key}.{k}": v for k, v in value.items()})
		        else:
		            out[key] = value
		    return out

		def text(value):
		    if value is None:
		        return ""
		    if isinstance(value, list):
		        return ";".join(value)
		    if isinstance(value, float):
		        return f"{value:.2f}"
		    return str(value)

		with open(f"{directory}/json") as f:
		    report = json.load(f)
		rows = [flat(r) for r in report["rows"]]
		with open(f"{directory}/ndjson") as f:
		    lines = [json.loads(line) for line in f]
		with open(f"{directory}/csv", newline="") as f:
		    table = list(csv.DictReader(f))
		assert rows or view in ("page", "unload"), "no rows"	# slab events, no module
		assert len(rows) == len(table) == len(lines) - 1, "number of rows"
		head = lines[0]
		assert head["record"] == "summary" and head["view"] == view
		for key, value in report["summary"].items():
		    assert head[key] == value, key
		for key, value in report["quality"].items():
		    assert head[f"quality_{key}"] == value, key
		for row, line, fields in zip(rows, lines[1:], table):
		    assert line["record"] == "row"
		    for key, value in row.items():
		        assert line[key] == value, (key, line[key], value)
		        assert fields[key] == text(value), (key, fields[key], value)
		    for key in "lost_total", "frees_before_start", "untraced_frees":
		        assert fields[f"quality_{key}"] == str(report["quality"][key]), key
		PYTHON
	done
}

@test "csv: RFC 4180 line ends, no header if unwanted" {
	stat_sample --format csv
	"$KMT" stat --from "$SAMPLE" --format csv | awk '!/\r$/ { exit 1 }'
	with=$("$KMT" stat --from "$SAMPLE" --format csv | wc -l)
	without=$("$KMT" stat --from "$SAMPLE" --format csv --no-header | wc -l)
	expect lines "$with" = $((without + 1))
}

@test "text fits 80 columns in every view" {
	for view in $("$KMT" list --names views); do
		for more in "" --bytes "--min-age 1s"; do
			# shellcheck disable=SC2086
			LC_ALL=C.UTF-8 "$KMT" stat --from "$SAMPLE" --by "$view" $more |
				LC_ALL=C.UTF-8 awk -v v="$view" 'length > 80 { print v ": " $0; bad = 1 } END { exit bad }'
		done
	done
}

@test "text: summary, rows and quality are there, also when all is zero" {
	stat_sample
	[[ $output =~ events\ +15\ .*allocations\ +9 ]] || fail "no summary"
	[[ $output == *"d_alloc+"* ]] || fail "no row of d_alloc"
	[[ $output == *"source legacy"*"ring buffer full 0"* ]] || fail "no quality"
	stat_sample --bytes
	[[ $output =~ requested\ +22504 ]] || fail "no exact bytes"
}

@test "nothing is coloured when piped, with NO_COLOR, or on a dumb terminal" {
	# a line that cannot be read is a loss, which is what gets coloured
	{ cat "$SAMPLE"; echo "type_id 0 call_site x"; } >"$BATS_TEST_TMPDIR/lossy"
	command="$KMT stat --from $BATS_TEST_TMPDIR/lossy"
	on_terminal() {
		env "$@" script -qec "$command" /dev/null </dev/null
	}
	on_terminal -u NO_COLOR TERM=xterm | grep -q $'\e' || fail "no colour on a terminal"
	on_terminal TERM=xterm NO_COLOR= | grep -q $'\e' || fail "empty NO_COLOR took the colour"
	! on_terminal TERM=xterm NO_COLOR=1 | grep $'\e' || fail "colour with NO_COLOR"
	! on_terminal -u NO_COLOR TERM=dumb | grep $'\e' || fail "colour on a dumb terminal"
	! TERM=xterm $command | grep $'\e' || fail "colour in a pipe"
}

@test "--limit, --sort, --columns, --filter" {
	stat_sample --format csv --columns site,allocs --sort allocs:asc --no-header
	expect order "$(cut -d, -f2 <<<"$output" | tr '\n' ' ')" = "1 3 5 "
	stat_sample --format csv --columns site,allocs --sort site --no-header
	expect order "$(cut -d, -f2 <<<"$output" | tr '\n' ' ')" = "3 5 1 "
	stat_sample --format json --limit 1
	expect rows "$(jq '.rows | length' <<<"$output")" = 1
	expect total "$(jq .rows_total <<<"$output")" = 3
	expect summary "$(jq .summary.allocs <<<"$output")" = 9
	stat_sample --format json --filter 'live_objects>=3'
	expect site "$(jq -r '.rows[].site' <<<"$output")" = "d_alloc+0x27"
	stat_sample --format json --filter 'site=getname'
	expect allocs "$(jq .summary.allocs <<<"$output")" = 5
	expect frees "$(jq .summary.frees <<<"$output")" = 5
	stat_sample --format json --filter 'size>=1K' --filter 'size<4K'
	expect allocs "$(jq .summary.allocs <<<"$output")" = 1
}

@test "names from a file do not reach the terminal as they are" {
	printf '  +      K    100    128   000000d0   0xffff88007cad6000     -1   ev\033[31mil\n' \
		>"$BATS_TEST_TMPDIR/evil"
	for args in "stat" "stat --format csv" "stat --format json" "trace" "trace --format table"; do
		# shellcheck disable=SC2086
		run "$KMT" $args --from "$BATS_TEST_TMPDIR/evil"
		[[ $output != *$'\e'* ]] || fail "$args let an escape sequence through"
	done
}

@test "--strict: status 5 if input was lost, 0 if not" {
	kmt stat --strict --from "$SAMPLE"
	expect status "$status" = 0
	{ cat "$SAMPLE"; echo "type_id 0 call_site x"; } >"$BATS_TEST_TMPDIR/lossy"
	for command in stat trace; do
		kmt $command --strict --from "$BATS_TEST_TMPDIR/lossy"
		expect "status of $command" "$status" = 5
		kmt $command --from "$BATS_TEST_TMPDIR/lossy"
		expect "status of $command" "$status" = 0
	done
	lost=$("$KMT" stat --format json --from "$BATS_TEST_TMPDIR/lossy" | jq .quality.lost_input)
	expect lost_input "$lost" = 1
}
