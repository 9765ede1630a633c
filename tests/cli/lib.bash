# SPDX-License-Identifier: GPL-2.0-only
# What the tests of the command line share. They need no root and no tracing.
bats_require_minimum_version 1.5.0

ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
B=${KMT_BUILD:-$ROOT/build}
case $B in /*) ;; *) B=$ROOT/$B ;; esac
KMT=$B/kmemtrace
SAMPLES=$ROOT/tests/golden/samples
SAMPLE=$SAMPLES/default-2008.txt
KALLSYMS=$SAMPLES/kallsyms-2008.txt

# kmt ARG...: run kmemtrace; standard output in $output, standard error in $stderr.
# What is accepted by mistake must not trace for ever.
kmt() {
	run --separate-stderr timeout -s INT 60 "$KMT" "$@"
}

fail() {
	printf '%s\n' "$*" >&2
	return 1
}

# expect WHAT ACTUAL OP EXPECTED, with OP one of test(1)'s.
expect() {
	# shellcheck disable=SC1072,SC1073 # the operator is an argument
	[ "$2" "$3" "$4" ] || fail "$1: got '$2', expected $3 '$4'"
}

# refused STATUS TEXT ARG...: that exit status, one line on standard error with
# TEXT in it, nothing on standard output.
refused() {
	local want=$1 text=$2
	shift 2
	kmt "$@"
	expect "status of '$*'" "$status" = "$want"
	[ -z "$output" ] || fail "'$*' wrote to standard output: $output"
	expect "lines on standard error of '$*'" "${#stderr_lines[@]}" = 1
	[[ $stderr == "kmemtrace: "* ]] || fail "'$*' said: $stderr"
	[[ $stderr == *"$text"* ]] || fail "'$*' said '$stderr', not '$text'"
}

# as_nobody ARG...: kmemtrace without any privilege.
as_nobody() {
	if [ "$(id -u)" != 0 ]; then
		run --separate-stderr "$KMT" "$@"
		return
	fi
	# the tree may be where nobody else can look
	local dir
	dir=$(mktemp -d /tmp/kmt-cli.XXXXXX)
	chmod 755 "$dir"
	cp "$KMT" "$dir/"
	run --separate-stderr setpriv --reuid 65534 --regid 65534 --clear-groups \
		--bounding-set=-all --inh-caps=-all "$dir/kmemtrace" "$@"
	rm -r "$dir"
}
