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
