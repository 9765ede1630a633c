# SPDX-License-Identifier: GPL-2.0-only
# trace-cmd and perf recording next to kmemtrace, each in a mount namespace of
# its own: run as `unshare -m bash other_tools.bash trace-cmd|perf DIR FILTER
# INSTANCE`. The recording is DIR/trace.dat or DIR/perf.data. When it is on, the
# pid of the command whose end stops it is in DIR/trace-cmd.on or DIR/perf.on.
set -u
tool=$1
dir=$2
filter=$3
instance=$4
T=/sys/kernel/tracing

# The one tracefs they find is the usual one, whatever tests have mounted.
mount --make-rprivate /
awk '$3 == "tracefs" { print $2 }' /proc/mounts | xargs -r umount -l
mount -t tracefs tracefs "$T" || exit 1

# A command for the tool: says that it runs, and can be ended by its pid.
hold="echo \$\$ >'$dir/$tool.on.new'; mv '$dir/$tool.on.new' '$dir/$tool.on'; exec sleep 90"

# Nothing behind the files that a locked-down kernel lets nobody write and
# trace-cmd will not do without; a kallsyms that does not change while it is read.
hide_from_trace_cmd() {
	local d file
	: >"$dir/empty"
	echo 1 >"$dir/one"
	cat /proc/kallsyms >"$dir/kallsyms"
	mount --bind "$dir/kallsyms" /proc/kallsyms
	[ ! -e /proc/sys/kernel/ftrace_enabled ] ||
		mount --bind "$dir/one" /proc/sys/kernel/ftrace_enabled
	for d in "$T" "$T/instances/$instance"; do
		for file in set_ftrace_filter set_ftrace_notrace set_ftrace_pid; do
			[ ! -e "$d/$file" ] || mount --bind "$dir/empty" "$d/$file"
		done
	done
}

args=()
for e in kmalloc kfree kmem_cache_alloc kmem_cache_free; do
	case $tool in
	trace-cmd) args+=(-e "kmem:$e" -f "$filter") ;;
	perf) args+=(-e "kmem:$e" --filter "$filter") ;;
	esac
done
cd "$dir" || exit 1
case $tool in
trace-cmd)
	hide_from_trace_cmd
	exec trace-cmd record -q -o trace.dat -B "$instance" -T "${args[@]}" bash -c "$hold" ;;
perf)
	exec perf record -q --synth=task --no-bpf-event -B -a -g -c 1 -m 4M "${args[@]}" \
		-o perf.data -- bash -c "$hold" ;;
esac
