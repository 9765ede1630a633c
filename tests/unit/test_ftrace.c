// SPDX-License-Identifier: GPL-2.0-only
#include "ftrace.h"

/*
 * Lines as TP_printk of the named kernel makes them. Expected values were read
 * off the line by hand. NULL and -1 are "none".
 */
struct want {
	const char *line;
	enum kmt_op op;
	uint8_t type;
	int pid;		/* -1: no task */
	const char *comm;
	uint32_t cpu;
	uint64_t ts_ns;		/* 0: no time */
	const char *site;	/* "0x..." is the number */
	uint64_t addr, req, given;
	const char *gfp;
	int node;
	const char *cache;
	bool is_hashed;
};

#define A KMT_OP_ALLOC
#define F KMT_OP_FREE
#define K KMT_TYPE_KMALLOC
#define C KMT_TYPE_CACHE

static const struct want events[] = {
	/* 2.6.31: no flags column, call_site=%lx, %p is the address */
	{ "            bash-4251  [001]  5082.123456: kmalloc: call_site=ffffffff8118a3c4 "
	  "ptr=ffff88007cad6000 bytes_req=40 bytes_alloc=64 gfp_flags=GFP_KERNEL|GFP_ZERO",
	  A, K, 4251, "bash", 1, 5082123456000, "0xffffffff8118a3c4", 0xffff88007cad6000, 40, 64,
	  "GFP_KERNEL|GFP_ZERO", -1, NULL, false },
	{ "          <idle>-0     [000]  5082.123457: kmem_cache_alloc_node: call_site=c04a1b2c "
	  "ptr=f5a3c0d8 bytes_req=192 bytes_alloc=192 gfp_flags=GFP_NOWAIT node=1",
	  A, C, 0, "swapper/0", 0, 5082123457000, "0xc04a1b2c", 0xf5a3c0d8, 192, 192,
	  "GFP_NOWAIT", 1, NULL, false },
	/* its latency format */
	{ "    bash-4251    1d..2. 5082123us+: kfree: call_site=c0408f36 ptr=(null)",
	  F, K, 4251, "bash", 1, 5082123000, "0xc0408f36", 0, 0, 0, NULL, -1, NULL, false },
	/* 3.10: flags */
	{ "           <...>-12    [003] d.h1 12345.678901: kmalloc_node: call_site=ffffffff815a3f21 "
	  "ptr=ffff880036c4e800 bytes_req=640 bytes_alloc=1024 "
	  "gfp_flags=GFP_KERNEL|GFP_NOWARN|GFP_NORETRY|0x2000000 node=-1",
	  A, K, 12, NULL, 3, 12345678901000, "0xffffffff815a3f21", 0xffff880036c4e800, 640, 1024,
	  "GFP_KERNEL|GFP_NOWARN|GFP_NORETRY|other", -1, NULL, false },
	/* 5.10: %pS and hashes; a module has a word of its own; the name of a task holds anything */
	{ " my - task: x-0-991    [017] ....   100.000001: kmalloc: "
	  "call_site=nf_ct_ext_add+0x6c/0x130 [nf_conntrack] ptr=000000009a1b2c3d bytes_req=128 "
	  "bytes_alloc=128 gfp_flags=GFP_ATOMIC",
	  A, K, 991, "my - task: x-0", 17, 100000001000, "nf_ct_ext_add+0x6c [nf_conntrack]",
	  0x9a1b2c3d, 128, 128, "GFP_ATOMIC", -1, NULL, true },
	{ "            bash-15672   [001] ....   100.000002: kfree: call_site=load_elf_binary+0x1/0x2 "
	  "ptr=          (null)", F, K, 15672, "bash", 1, 100000002000, "load_elf_binary+0x1",
	  0, 0, 0, NULL, -1, NULL, false },
	/* the same kernel on 32 bits: an odd hash gives itself away */
	{ "            bash-15672   [001] ....   100.000003: kfree: call_site=f+0x1/0x2 ptr=9a1b2c3d",
	  F, K, 15672, "bash", 1, 100000003000, "f+0x1", 0x9a1b2c3d, 0, 0, NULL, -1, NULL, true },
	/* 6.1 */
	{ "     ksoftirqd/0-14      [000] ..s1.  1000.000009: kmem_cache_free: "
	  "call_site=rcu_do_batch+0x1b7/0x4f0 ptr=00000000a7b07dcf name=buffer_head",
	  F, C, 14, "ksoftirqd/0", 0, 1000000009000, "rcu_do_batch+0x1b7", 0xa7b07dcf, 0, 0, NULL,
	  -1, "buffer_head", true },
	{ "            bash-15672   [001] .....  1000.000010: kmem_cache_alloc: "
	  "call_site=getname_flags.part.0+0x24/0x1f0 ptr=ffff888100a3c000 bytes_req=4096 "
	  "bytes_alloc=4096 gfp_flags=GFP_NOWAIT|__GFP_NOWARN node=-1 accounted=false",
	  A, C, 15672, "bash", 1, 1000000010000, "getname_flags.part.0+0x24", 0xffff888100a3c000,
	  4096, 4096, "GFP_NOWAIT|__GFP_NOWARN", -1, NULL, false },
	/* 6.18: name in front, tgid column, a blank in the name */
	{ "            bash-15672   (  15600) [001] ..... 14633.841537: kmem_cache_alloc: "
	  "call_site=alloc_empty_file+0x3c/0x110 ptr=0000000081cb068b name=my cache "
	  "bytes_req=184 bytes_alloc=192 gfp_flags=GFP_KERNEL_ACCOUNT|__GFP_ZERO node=0 "
	  "accounted=true",
	  A, C, 15672, "bash", 1, 14633841537000, "alloc_empty_file+0x3c", 0x81cb068b, 184, 192,
	  "GFP_KERNEL_ACCOUNT|__GFP_ZERO", 0, "my cache", true },
	/* ... with the option fields; verbose; without context-info */
	{ "            bash-15672   [001] ..... 14633.841534: kmem_cache_alloc: "
	  "call_site=getname_flags.part.0+0x24/0x1f0 (-2123465228) ptr=0xffff88810087a000 "
	  "(-131387335663616) name=names_cache bytes_req=0x1000 (4096) bytes_alloc=0x2000 (8192) "
	  "gfp_flags=0xcc0 (3264) node=0xffffffff (-1) accounted=(0)",
	  A, C, 15672, "bash", 1, 14633841534000, "getname_flags.part.0+0x24", 0xffff88810087a000,
	  4096, 8192, "0xcc0", -1, "names_cache", false },
	{ "            bash   15672   1 0 00000000 0000000a [3683eb3cf] 14633841.615ms (+0.005ms): "
	  "kmalloc: call_site=lsm_blob_alloc+0x3b/0x60 ptr=0000000029e21b22 bytes_req=11 "
	  "bytes_alloc=16 gfp_flags=none node=-1 accounted=true",
	  A, K, 15672, "bash", 1, 14633841615000, "lsm_blob_alloc+0x3b", 0x29e21b22, 11, 16,
	  "none", -1, NULL, true },
	{ "kfree: call_site=f+0x1/0x2 ptr=fffffffffffffff4", F, K, -1, NULL, 0, 0, "f+0x1",
	  0xfffffffffffffff4, 0, 0, NULL, -1, NULL, false },
	/* a clock that counts no time */
	{ "            bash-15672   [001] ..... 70368744177664: kfree: call_site=f+0x1/0x2 ptr=0",
	  F, K, 15672, "bash", 1, 0, "f+0x1", 0, 0, 0, NULL, -1, NULL, false },
	/* trace-cmd: padded names, nanoseconds with -t */
	{ "            bash-15672 [001] 14633.841490757: kmem_cache_free:      "
	  "call_site=__fput+0x141 ptr=0xffff88811d091b40 name=lsm_file_cache",
	  F, C, 15672, "bash", 1, 14633841490757, "__fput+0x141", 0xffff88811d091b40, 0, 0, NULL,
	  -1, "lsm_file_cache", false },
	{ "            bash-15672 [001] d..1. 14633.841491: kmalloc:              "
	  "call_site=0xffffffff8118a3c4 ptr=0xffff88811d091b40 bytes_req=1 bytes_alloc=8 "
	  "gfp_flags=0xcc0 node=-1 accounted=0",
	  A, K, 15672, "bash", 1, 14633841491000, "0xffffffff8118a3c4", 0xffff88811d091b40, 1, 8,
	  "0xcc0", -1, NULL, false },
	/* ... with its plugin's prefix, in its latency format, from an instance */
	{ "other:               sh-5878  [001] 16620.071025: kmem_cache_free:      "
	  "(do_sys_openat2+0xa2) call_site=do_sys_openat2+0xa2 ptr=0xffff888106b39000 "
	  "name=names_cache",
	  F, C, 5878, "sh", 1, 16620071025000, "do_sys_openat2+0xa2", 0xffff888106b39000, 0, 0,
	  NULL, -1, "names_cache", false },
	{ "    bash-8474    1d.h1. 16656.693422: kfree: (f+0xa2) call_site=f+0xa2 "
	  "ptr=0xffff888106b39000",
	  F, K, 8474, "bash", 1, 16656693422000, "f+0xa2", 0xffff888106b39000, 0, 0, NULL, -1,
	  NULL, false },
	/* perf script: with CPU, with process, without CPU, with a period */
	{ "perf 20445 [000] 14892.894587:          kmem:kmalloc: call_site=sched_setaffinity+0x127 "
	  "ptr=0xffff888102d3d8e0 bytes_req=32 bytes_alloc=32 gfp_flags=GFP_KERNEL node=-1 "
	  "accounted=false",
	  A, K, 20445, "perf", 0, 14892894587000, "sched_setaffinity+0x127", 0xffff888102d3d8e0, 32,
	  32, "GFP_KERNEL", -1, NULL, false },
	{ "       web 1 2 20284/20289 [001] 14892.894726712:            kmem:kfree: call_site=f+0x16b "
	  "ptr=(nil)", F, K, 20289, "web 1 2", 1, 14892894726712, "f+0x16b", 0, 0, 0, NULL, -1,
	  NULL, false },
	{ "hackbench 20284 14892.894726:            kmem:kfree: call_site=f+0x16b ptr=0xffff888105d52c00",
	  F, K, 20284, "hackbench", 0, 14892894726000, "f+0x16b", 0xffff888105d52c00, 0, 0, NULL, -1,
	  NULL, false },
	{ "hackbench 20284 [001] 14892.894726:          1            kmem:kfree: call_site=f+0x16b "
	  "ptr=0xffff888105d52c00",
	  F, K, 20284, "hackbench", 1, 14892894726000, "f+0x16b", 0xffff888105d52c00, 0, 0, NULL, -1,
	  NULL, false },
	/* a task that is called like a prefix */
	{ "a 1 1.000000: b-77    [002] ....   100.000001: kfree: call_site=f+0x1/0x2 ptr=ffff880036c4e800",
	  F, K, 77, "a 1 1.000000: b", 2, 100000001000, "f+0x1", 0xffff880036c4e800, 0, 0, NULL, -1,
	  NULL, false },
};

static void assert_event(const struct kmt_ftrace_line *l, const struct want *w)
{
	const struct kmt_event *ev = &l->ev;

	assert_int_equal(ev->op, w->op);
	assert_int_equal(ev->type, w->type);
	assert_int_equal(ev->has_task, w->pid >= 0);
	if (w->pid >= 0)
		assert_int_equal(ev->pid, w->pid);
	assert_str(ev->comm, w->comm);
	assert_int_equal(ev->cpu, w->cpu);
	assert_int_equal(ev->has_time, w->ts_ns != 0);
	assert_int_equal(ev->ts_ns, w->ts_ns);
	if (!strncmp(w->site, "0x", 2)) {
		assert_int_equal(ev->call_site, strtoull(w->site, NULL, 16));
		assert_null(ev->call_site_name);
	} else {
		assert_str(ev->call_site_name, w->site);
	}
	assert_int_equal(ev->addr, w->addr);
	assert_int_equal(ev->bytes_req, w->req);
	assert_int_equal(ev->bytes_alloc, w->given);
	assert_int_equal(ev->node, w->node);
	assert_str(ev->cache, w->cache);
	assert_int_equal(l->is_hashed, w->is_hashed);
	if (w->gfp)
		assert_gfp(l, w->gfp);
}

static void formats(void **state)
{
	struct kmt_ftrace_line l = { 0 };

	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		enum kmt_ftrace_kind kind = parse(&l, events[i].line);

		if (kind != KMT_FTRACE_EVENT)
			fail_msg("%s: %s", kind == KMT_FTRACE_BAD ? l.why : "no event",
				 events[i].line);
		assert_event(&l, &events[i]);
	}
}

static void tgid(void **state)
{
	struct kmt_ftrace_line l = { 0 };

	parse(&l, "a-5   (   4) [001] .....  1.000001: kfree: call_site=f+0x1/0x2 ptr=0");
	assert_int_equal(l.ev.tgid, 4);
	parse(&l, "a-5   (-------) [001] .....  1.000001: kfree: call_site=f+0x1/0x2 ptr=0");
	assert_int_equal(l.ev.tgid, 0);
	assert_int_equal(l.ev.pid, 5);
	parse(&l, "a 4/5 [001] 1.000001: kmem:kfree: call_site=f+0x1/0x2 ptr=0");
	assert_int_equal(l.ev.tgid, 4);
	assert_int_equal(l.ev.pid, 5);
}

static void other_lines(void **state)
{
	static const struct {
		const char *line;
		enum kmt_ftrace_kind kind;
	} lines[] = {
		{ "", KMT_FTRACE_NOTHING },
		{ "   \t ", KMT_FTRACE_NOTHING },
		{ "# tracer: nop", KMT_FTRACE_HEADER },
		{ "# tracer: kmemtrace", KMT_FTRACE_NOTHING },	/* the original's */
		{ "# entries-in-buffer/entries-written: 12/12   #P:2", KMT_FTRACE_HEADER },
		{ "#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION", KMT_FTRACE_NOTHING },
		{ "##### CPU 1 buffer started ####", KMT_FTRACE_NOTHING },
		{ "cpus=2", KMT_FTRACE_HEADER },
		{ "CPU 1 is empty", KMT_FTRACE_HEADER },
		{ "a-1 [000] ..... 1.000001: sched_switch: prev_comm=x prev_pid=1 ==> next_comm=y",
		  KMT_FTRACE_OTHER },
		{ "a 1 [000] 1.000001: sched:sched_switch: x:1 [120] S ==> y:2 [120]",
		  KMT_FTRACE_OTHER },
		{ "a-1 [000] ..... 1.000001: <stack trace>", KMT_FTRACE_STACK },
		{ "a-1 [000] 1.000001: kernel_stack:         <stack trace >", KMT_FTRACE_STACK },
		{ "<stack trace>", KMT_FTRACE_STACK },
		{ "a-1 [000] ..... 1.000001: type_id 1 call_site 1 ptr 1", KMT_FTRACE_BAD },
		{ "type_id 1 call_site 1 ptr 1", KMT_FTRACE_BAD },
		{ "+ K 1 8 000000d0 0xffff88007cad6000 -1 f", KMT_FTRACE_BAD },
		{ "hello", KMT_FTRACE_BAD },
		{ " (hello)", KMT_FTRACE_BAD },
		{ "\tffffffff81649f33 (hello)", KMT_FTRACE_BAD },
		{ " => ", KMT_FTRACE_NOTHING },
		{ " => (ffffffff81649f33)", KMT_FTRACE_FRAME },
		{ " => +0x1", KMT_FTRACE_BAD },
		{ "15672 1 14633841490757 type: 656", KMT_FTRACE_BAD },	/* option raw */
		{ "a-1 [000] 1.000001: kfree: call_site=f+0x1/0x2", KMT_FTRACE_BAD },
		{ "a-1 [000] 1.000001: kfree: call_site=f+0x1/0x2 ptr=(____ptrval____)",
		  KMT_FTRACE_BAD },
		{ "a-1 [000] 1.000001: kfree: call_site=f+0x ptr=1", KMT_FTRACE_BAD },
		{ "a-1 [000] 1.000001: kmalloc: call_site=f+0x1/0x2 ptr=1 bytes_req=1 "
		  "bytes_alloc=1", KMT_FTRACE_BAD },
		{ "a-1 [000] 1.000001: kmalloc: call_site=f+0x1/0x2 ptr=1 bytes_req=-1 "
		  "bytes_alloc=1 gfp_flags=none", KMT_FTRACE_BAD },
		{ "a-1 [000] 1.000001: kmalloc: call_site=f+0x1/0x2 ptr=1 bytes_req=1 "
		  "bytes_alloc=1 gfp_flags=GFP_KERNEL|", KMT_FTRACE_BAD },
		{ "a-1 [000] 1.000001: kmalloc: call_site=f+0x1/0x2 ptr=1 bytes_req=1 "
		  "bytes_alloc=99999999999999999999 gfp_flags=none", KMT_FTRACE_BAD },
	};
	struct kmt_ftrace_line l = { 0 };

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		l.why = NULL;
		if (parse(&l, lines[i].line) != lines[i].kind)
			fail_msg("kind %d: %s", parse(&l, lines[i].line), lines[i].line);
		if (lines[i].kind == KMT_FTRACE_BAD)
			assert_non_null(l.why);
	}
}

static void losses(void **state)
{
	static const struct {
		const char *line;
		uint32_t cpu;
		uint64_t events;
	} lines[] = {
		{ "CPU:3 [LOST 17 EVENTS]", 3, 17 },
		{ "CPU:0 [LOST EVENTS]", 0, 0 },
		{ "CPU:1 [5 EVENTS DROPPED]", 1, 5 },
		{ "[MISSED EVENTS]", UINT32_MAX, 0 },
		{ "# entries-in-buffer/entries-written: 1596/29553   #P:2", UINT32_MAX, 27957 },
		{ "# latency: 0 us, #443/1000, CPU#0 | (M:PREEMPT(none) VP:0, KP:0)", UINT32_MAX,
		  557 },
		{ "perf 1 [002] 3.000001: PERF_RECORD_LOST lost 44", 2, 44 },
	};
	static const char *const none[] = {
		"CPU:3 [LOST 17 TRAINS]", "CPU:x [LOST 17 EVENTS]", "CPU:1", "[]", "CPU:1 [", "LOST EVENTS",
	};
	struct kmt_ftrace_line l = { 0 };

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		assert_int_equal(parse(&l, lines[i].line), KMT_FTRACE_LOST);
		assert_int_equal(l.lost.reason, KMT_LOSS_RING);
		assert_int_equal(l.lost.cpu, lines[i].cpu);
		assert_int_equal(l.lost.events, lines[i].events);
	}
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_int_not_equal(parse(&l, none[i]), KMT_FTRACE_LOST);
}

static void kernel_names(void **state)
{
	struct kmt_ftrace_line l = { 0 };

	parse(&l, "# nop latency trace v1.1.5 on 6.18.44-fc-v782");
	assert_string_equal(l.kernel, "6.18.44-fc-v782");
	parse(&l, "# os release : 5.10.0-8-amd64");
	assert_string_equal(l.kernel, "5.10.0-8-amd64");
	parse(&l, "# os release : \033[31m");
	assert_string_equal(l.kernel, "");
}

static void frames(void **state)
{
	static const struct {
		const char *line;
		uint64_t addr;
		const char *func, *module;
		int off;		/* -1: none */
	} lines[] = {
		{ " => vfs_write", 0, "vfs_write", "", -1 },
		{ " => vfs_write+0x400/0x4c0", 0, "vfs_write", "", 0x400 },
		{ " => vfs_write+0x400/0x4c0 <ffffffff816d68d0>", 0xffffffff816d68d0, "vfs_write", "",
		  0x400 },
		{ " => ext4_map_blocks [ext4] <ffffffffa0001234>", 0xffffffffa0001234,
		  "ext4_map_blocks", "ext4", -1 },
		{ "=> ksys_write (ffffffff816d6bc3)", 0xffffffff816d6bc3, "ksys_write", "", -1 },
		{ " => 0xffffffffa0001234", 0xffffffffa0001234, NULL, NULL, -1 },
		{ "=> ffffffffa0001234", 0xffffffffa0001234, NULL, NULL, -1 },
		{ "\tffffffff81649f33 kmem_cache_free+0x383 ([kernel.kallsyms])", 0xffffffff81649f33,
		  "kmem_cache_free", "", 0x383 },
		{ "        ffffffffa0001234 ext4_map_blocks+0x1 ([ext4])", 0xffffffffa0001234,
		  "ext4_map_blocks", "ext4", 1 },
		{ "\tffffffff81649f33 [unknown] ([kernel.kallsyms])", 0xffffffff81649f33, NULL, NULL,
		  -1 },
		{ "\tffffffff81649f33 kfree (/usr/lib/debug/vmlinux)", 0xffffffff81649f33, "kfree",
		  "", -1 },
	};
	struct kmt_ftrace_line l = { 0 };

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		if (parse(&l, lines[i].line) != KMT_FTRACE_FRAME)
			fail_msg("no frame: %s", lines[i].line);
		assert_int_equal(l.frame_addr, lines[i].addr);
		assert_int_equal(l.has_name, lines[i].func != NULL);
		if (!l.has_name)
			continue;
		assert_string_equal(l.name.func, lines[i].func);
		assert_string_equal(l.name.module, lines[i].module);
		assert_int_equal(l.name.has_off, lines[i].off >= 0);
		if (l.name.has_off)
			assert_int_equal(l.name.off, lines[i].off);
	}
	/* a user stack is none of ours, and ends with the next event or a blank line */
	assert_int_equal(parse(&l, "\t    ee137 setaffinity+0x7 (/lib/libc.so.6)"), KMT_FTRACE_NOTHING);
	assert_int_equal(parse(&l, "\t    ee137 [unknown] ([unknown])"), KMT_FTRACE_NOTHING);
	assert_int_equal(parse(&l, ""), KMT_FTRACE_NOTHING);
	assert_int_equal(parse(&l, "\tffffffff81649f33 kfree+0x1 ([kernel.kallsyms])"),
			 KMT_FTRACE_FRAME);
	assert_int_equal(parse(&l, "a-1 [000] ..... 1.000001: <user stack trace>"),
			 KMT_FTRACE_NOTHING);
	assert_int_equal(parse(&l, " => /lib/libc.so.6[+0x1234]"), KMT_FTRACE_NOTHING);
	assert_int_equal(parse(&l, " =>  <00007f1234567890>"), KMT_FTRACE_NOTHING);
	assert_int_equal(parse(&l, "a-1 [000] ..... 1.000001: <stack trace>"), KMT_FTRACE_STACK);
	assert_int_equal(parse(&l, " => kfree"), KMT_FTRACE_FRAME);
}

/* Every name comes back, alone and with others; or'ed ones are all named. */
static void gfp_names(void **state)
{
	static const char *const texts[] = {
		"none", "GFP_KERNEL", "GFP_KERNEL_ACCOUNT", "GFP_KERNEL|__GFP_ACCOUNT",
		"GFP_ATOMIC|__GFP_NOWARN|__GFP_NOMEMALLOC", "GFP_NOWAIT|__GFP_NOWARN", "GFP_NOWAIT",
		"GFP_HIGHUSER_MOVABLE|__GFP_COMP", "GFP_USER|GFP_DMA32|__GFP_ZERO",
		"GFP_TRANSHUGE_LIGHT|__GFP_NORETRY|__GFP_THISNODE", "GFP_NOFS|__GFP_NOFAIL",
		"GFP_NOIO|__GFP_NORETRY|__GFP_MEMALLOC", "__GFP_HIGH|__GFP_KSWAPD_RECLAIM",
		"GFP_KERNEL|__GFP_NOTRACK", "__GFP_IO|__GFP_FS|__GFP_DIRECT_RECLAIM",
	};
	struct kmt_ftrace_gfp one, two;
	struct kmt_gfp_names *names = NULL;
	struct kmt_buf b = { 0 };

	assert_int_equal(kmt_ftrace_gfp_names(false, &names), 0);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const struct kmt_word w = { texts[i], strlen(texts[i]) };

		assert_true(kmt_ftrace_gfp_parse(w, &one));
		assert_true(one.is_named && !one.is_old);
		kmt_gfp_print(names, one.bits, &b);
		assert_string_equal(kmt_buf_str(&b), texts[i]);
		kmt_buf_clear(&b);
	}
	assert_true(kmt_ftrace_gfp_parse((struct kmt_word){ "GFP_KERNEL", 10 }, &one));
	assert_true(kmt_ftrace_gfp_parse((struct kmt_word){ "GFP_NOWAIT", 10 }, &two));
	kmt_gfp_print(names, one.bits | two.bits, &b);
	assert_string_equal(kmt_buf_str(&b), "GFP_KERNEL|GFP_NOWAIT");
	/* others find the flags they ask for in a composite */
	assert_true(kmt_ftrace_gfp_parse((struct kmt_word){ "GFP_HIGHUSER_MOVABLE", 20 }, &one));
	assert_true(one.bits & kmt_gfp_mask(names, "__GFP_MOVABLE"));
	kmt_buf_done(&b);
	kmt_gfp_names_free(names);
}

/* ---- the source ---- */

static void assert_run(const char *text, bool stacks, const char *want)
{
	struct capture c = { .stacks = stacks };

	assert_int_equal(run_text(text, &c), -ENODATA);
	assert_string_equal(kmt_buf_str(&c.text), want);
	kmt_buf_done(&c.text);
}

static void stacks_find_their_events(void **state)
{
	/* the tracer's frames are cut off, the call site lends its offset */
	assert_run(ALLOC("a-1 [000] .....", "1.000001", "f+0x10/0x20", "ffff888100000010")
		   STACK("a-1 [000] .....", "1.000001")
		   " => trace_event_raw_event_kmalloc\n => __kmalloc\n => f\n => g\n",
		   true, "+ffff888100000010<f+0x10<g ");
	/* an interrupt between the two, and another CPU */
	assert_run(ALLOC("a-1 [000] .....", "1.000001", "f+0x10/0x20", "10010")
		   FREE("a-1 [000] d.h..", "1.000002", "irq+0x1/0x2", "10020")
		   ALLOC("b-2 [001] .....", "1.000002", "h+0x10/0x20", "10030")
		   STACK("a-1 [000] d.h..", "1.000003") " => kfree\n => irq\n => irq_entry\n"
		   STACK("b-2 [001] .....", "1.000003") " => h+0x10/0x20\n => k+0x5/0x9\n"
		   STACK("a-1 [000] .....", "1.000004") " => f+0x10/0x20\n",
		   true, "+10010<f+0x10 -10020<irq+0x1<irq_entry +10030<h+0x10<k+0x5 ");
	/* the stack of another event, and one behind a gap, are nobody's */
	assert_run(ALLOC("a-1 [000] .....", "1.000001", "f+0x10/0x20", "10010")
		   "a-1 [000] ..... 1.000002: sched_switch: x\n"
		   STACK("a-1 [000] .....", "1.000003") " => schedule\n"
		   ALLOC("a-1 [000] .....", "1.000004", "f+0x10/0x20", "10020")
		   "CPU:0 [LOST 3 EVENTS]\n"
		   STACK("a-1 [000] .....", "1.000005") " => f\n",
		   true, "+10010 +10020 !3 ");
	/* perf: frames follow at once, user frames are left out */
	assert_run(ALLOC("a 1 [000]", "1.000001", "f+0x10", "0xffff888100000010")
		   "\tffffffff81000100 __traceiter_kmalloc+0x58 ([kernel.kallsyms])\n"
		   "\tffffffff81000210 f+0x10 ([kernel.kallsyms])\n"
		   "\tffffffffa0000004 m+0x4 ([mod])\n"
		   "\t           ee137 main+0x7 (/usr/bin/x)\n\n",
		   true, "+ffff888100000010<f+0x10<m+0x4 [mod] ");
	/* trace-cmd report -N */
	assert_run(ALLOC("a-1 [000]", "1.000001", "f+0x10", "0xffff888100000010")
		   "a-1 [000] 1.000002: kernel_stack:         \t=> __kmalloc\n\t=> f\n\t=> g\n",
		   true, "+ffff888100000010<f+0x10<g ");
	/* nobody asked for them */
	assert_run(ALLOC("a-1 [000] .....", "1.000001", "f+0x10/0x20", "10010")
		   STACK("a-1 [000] .....", "1.000001") " => f\n", false, "+10010 ");
}

static void missing_stacks_are_counted(void **state)
{
	struct capture c = { .stacks = true };

	assert_int_equal(run_text(ALLOC("a-1 [000] .....", "1.000001", "f+0x1/0x2", "10010")
				  ALLOC("a-1 [000] .....", "1.000002", "f+0x1/0x2", "10020")
				  STACK("a-1 [000] .....", "1.000003") " => f\n"
				  FREE("a-1 [000] .....", "1.000004", "f+0x1/0x2", "10020"), &c),
			 -ENODATA);
	assert_string_equal(kmt_buf_str(&c.text), "+10010 +10020<f+0x1 -10020 ");
	assert_int_equal(c.q.lost[KMT_LOSS_STACKS], 2);
	kmt_buf_done(&c.text);
}

/* More events in a row than can wait, all with stacks of two contexts. */
static void many_events_with_stacks(void **state)
{
	struct kmt_buf text = { 0 }, want = { 0 };
	struct capture c = { .stacks = true };

	for (int i = 1; i <= 500; i++) {
		kmt_buf_printf(&text, "a-%d [000] ..... 1.000001: kfree: call_site=f+0x1/0x2 "
			       "ptr=%x\n", i % 7, i << 12);
		kmt_buf_printf(&text, "a-%d [000] ..... 1.000001: <stack trace>\n => f\n => s%d\n",
			       i % 7, i);
		kmt_buf_printf(&want, "-%x<f+0x1<s%d ", i << 12, i);
	}
	assert_int_equal(run_text(kmt_buf_str(&text), &c), -ENODATA);
	assert_string_equal(kmt_buf_str(&c.text), kmt_buf_str(&want));
	kmt_buf_done(&c.text);
	kmt_buf_done(&text);
	kmt_buf_done(&want);
}

static void bad_lines_are_counted(void **state)
{
	struct capture c = { 0 };

	assert_int_equal(run_text("garbage\n" FREE("a-1 [000]", "1.000001", "f+0x1", "10010")
				  "\nmore\n" FREE("a-1 [000]", "1.000001", "f+0x1", "x"), &c),
			 -ENODATA);
	assert_int_equal(c.events, 1);
	assert_int_equal(c.lost[KMT_LOSS_INPUT], 3);
	assert_string_equal(c.q.first_bad, "line 1: no event");
	kmt_buf_done(&c.text);
	c = (struct capture){ 0 };
	assert_int_equal(run_text("garbage\n", &c), -EINVAL);
	assert_string_equal(kmt_err_text(), "line 1: no event");
	assert_int_equal(run_text("\n", &c), -EINVAL);
	assert_int_equal(run_path("/nonexistent", &c), -ENOENT);
	assert_int_equal(run_path("/", &c), -EISDIR);
}

static void hashes_are_told(void **state)
{
	struct capture c = { 0 };

	assert_int_equal(run_text(FREE("a-1 [000]", "1.000001", "f+0x1", "ffff888100000010"), &c),
			 -ENODATA);
	assert_false(c.q.hashed_addresses);
	kmt_buf_done(&c.text);
	c = (struct capture){ 0 };
	assert_int_equal(run_text(FREE("a-1 [000]", "1.000001", "f+0x1", "000000008100001d"), &c),
			 -ENODATA);
	assert_true(c.q.hashed_addresses);
	kmt_buf_done(&c.text);
}

static void filters(void **state)
{
	static const char text[] =
		ALLOC("a-1 [000]", "1.000001", "f+0x1/0x2", "10010")
		ALLOC("b-2 [000]", "1.000002", "g+0x1/0x2 [mod]", "10020")
		FREE("b-2 [000]", "1.000003", "h+0x1/0x2", "10010")
		FREE("a-1 [000]", "1.000004", "h+0x1/0x2", "10020");
	const struct kmt_filter site = { .site = { .v = { "f*" }, .n = 1 } };
	const struct kmt_filter module = { .module = { .v = { "mod" }, .n = 1 } };
	const struct kmt_filter task = { .task = { .v = { "a" }, .n = 1 } };
	const struct kmt_filter *const all[] = { &site, &module, &task };
	static const char *const want[] = { "+10010 -10010 ", "+10020 -10020 ", "+10010 -10010 " };

	for (int i = 0; i < 6; i++) {
		struct capture c = { .filter = all[i % 3], .stacks = i > 2 };

		assert_int_equal(run_text(text, &c), -ENODATA);
		assert_string_equal(kmt_buf_str(&c.text), want[i % 3]);
		assert_int_equal(c.q.filtered, 2);
		kmt_buf_done(&c.text);
	}
}

static void assert_found(const char *text, const char *want)
{
	const struct kmt_source_ops *ops = NULL;
	int fd = text_fd(text, strlen(text)), err;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	err = kmt_source_for_file(path, &ops);
	assert_int_equal(err, want ? 0 : -EINVAL);
	if (want)
		assert_string_equal(ops->name, want);
	close(fd);
}

static void found_by_content(void **state)
{
	assert_found("# tracer: nop\n", "ftrace");
	assert_found("# tracer: kmemtrace\n", "legacy");
	assert_found("cpus=2\n", "ftrace");
	assert_found("CPU:3 [LOST 17 EVENTS]\n" FREE("a-1 [000]", "1.000001", "f+0x1", "10010"),
		     "ftrace");
	assert_found("CPU:3 [LOST 17 EVENTS]\ntype_id 1 call_site 1 ptr 1\n", "legacy");
	assert_found("CPU:3 [LOST 17 EVENTS]\n", NULL);
	assert_found("a-1 [000] 1.000001: type_id 1 call_site 1 ptr 1\n => f\n", "legacy");
	assert_found("a-1 [000] 1.000001: sched_switch: x\n", "ftrace");
	assert_found("a 1 [000] 1.000001: sched:sched_switch: x\n", "ftrace");
	assert_found(" => f\n", NULL);
	assert_found("hello: world: this\n", NULL);
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		assert_found(events[i].line, "ftrace");
}

/* Cut anywhere, and with any one byte damaged: an answer or an error, and no more events. */
static void damaged(void **state)
{
	static const char text[] =
		"# tracer: nop\n"
		ALLOC("a-1 [000] .....", "1.000001", "f+0x10/0x20 [mod]", "ffff888100000010")
		STACK("a-1 [000] .....", "1.000001")
		" => trace_event_raw_event_kmalloc\n => f+0x10/0x20 [mod]\n => g <ffffffff81000000>\n"
		"CPU:0 [LOST 3 EVENTS]\n"
		FREE("a 1/2 [000]", "1.000001", "f+0x10", "0xffff888100000010")
		"\tffffffff81000100 __traceiter_kmalloc+0x58 ([kernel.kallsyms])\n";
	static const char bytes[] = { '\0', '\n', ' ', ':', '=', '[', '+', '9', '\xff' };
	char copy[sizeof(text)];

	for (size_t i = 0; i < sizeof(text); i++) {
		struct capture c = { .stacks = true };
		int err = run_text_len(text, i, &c);

		assert_true(err == -ENODATA || (err == -EINVAL && i < 11));
		assert_true(c.events <= 2);
		kmt_buf_done(&c.text);
		for (size_t k = 0; k < sizeof(bytes); k++) {
			memcpy(copy, text, sizeof(text));
			copy[i] = bytes[k];
			c = (struct capture){ .stacks = true };
			assert_int_equal(run_text_len(copy, sizeof(copy), &c), -ENODATA);
			assert_true(c.events <= 2);
			kmt_buf_done(&c.text);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(formats),
		cmocka_unit_test(tgid),
		cmocka_unit_test(other_lines),
		cmocka_unit_test(losses),
		cmocka_unit_test(kernel_names),
		cmocka_unit_test(frames),
		cmocka_unit_test(gfp_names),
		cmocka_unit_test(stacks_find_their_events),
		cmocka_unit_test(missing_stacks_are_counted),
		cmocka_unit_test(many_events_with_stacks),
		cmocka_unit_test(bad_lines_are_counted),
		cmocka_unit_test(hashes_are_told),
		cmocka_unit_test(filters),
		cmocka_unit_test(found_by_content),
		cmocka_unit_test(damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
