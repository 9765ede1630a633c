# SPDX-License-Identifier: GPL-2.0-only
# What the scripts of the kernel matrix share: where things lie, and the tables.

VM_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$(cd "$VM_DIR/../.." && pwd)

# Kernels stay here between runs; a CI machine may keep the folder elsewhere.
VM=${KMT_VM:-$ROOT/build/vm}
case $VM in /*) ;; *) VM=$ROOT/$VM ;; esac

die() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 2
}

# names TABLE
names() {
	awk '!/^#/ && NF { print $1 }' "$VM_DIR/$1"
}

# row TABLE NAME: the fields behind the name, in FIELDS
row() {
	local found
	found=$(awk -v name="$2" '!/^#/ && $1 == name { $1 = ""; print }' "$VM_DIR/$1")
	[ -n "$found" ] || die "there is no '$2' in tests/vm/$1: $(names "$1" | xargs)"
	read -ra FIELDS <<<"$found"
}

# apt with a world of its own, for one release
apt_of() {
	local apt=$VM/apt/$1 tool=$2
	shift 2
	"$tool" -q \
		-o Dir::Etc::sourcelist="$apt/sources.list" -o Dir::Etc::sourceparts=/dev/null \
		-o Dir::State="$apt/state" -o Dir::State::status=/dev/null \
		-o Dir::Cache="$apt/cache" -o Dir::Log="$apt/log" \
		-o APT::Sandbox::User=root -o Acquire::Languages=none \
		-o Acquire::Retries=2 "$@"
}

# unpack RELEASE DIR PACKAGE...: nothing is installed; the packages stay in DIR.deb
unpack() {
	local release=$1 to=$2 deb
	shift 2
	mkdir -p "$to.deb" && (cd "$to.deb" && apt_of "$release" apt-get download "$@") || return 1
	for deb in "$to.deb"/*.deb; do
		dpkg-deb -x "$deb" "$to" || return 1
	done
}

# depends RELEASE PACKAGE PATTERN: what it depends on, by name
depends() {
	apt_of "$1" apt-cache depends --no-recommends --no-suggests "$2" |
		awk -v re="^$3" '$1 == "Depends:" && $2 ~ re { print $2 }'
}
