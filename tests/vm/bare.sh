# SPDX-License-Identifier: GPL-2.0-only
# Flavour 'bare', before the tests: a kernel that shows as little as it can.
echo 2 >/proc/sys/kernel/kptr_restrict
mkdir -p /tmp/cgroup1
mount -t cgroup -o cpu cg /tmp/cgroup1 || mount -t cgroup -o none,name=kmt cg /tmp/cgroup1
mkdir -p /tmp/empty
mount -o bind /tmp/empty /sys/kernel/btf
mount -o bind /dev/null /proc/slabinfo
