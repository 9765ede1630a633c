// SPDX-License-Identifier: GPL-2.0-only
/* .kmt recordings: what is written comes back. */
#include "store.h"

#include "base/buf.h"
#include "core/site.h"
#include "core/snapshot.h"
#include "symbol/gfp.h"
#include "symbol/slabs.h"
#include "symbol/symbols.h"

/* ---- events ---- */

static void round_trip(size_t n, bool few, uint64_t seed)
{
	struct full_event *all = calloc(n ? n : 1, sizeof(*all));
	struct full_event *reused = calloc(1, sizeof(*reused));
	struct result res = { .expect = all };
	uint64_t state = seed;
	struct recording r;

	assert_non_null(all);
	assert_non_null(reused);
	assert_int_equal(recording_new(&r, (struct kmt_writer_opts){ .source = "bpf" }), 0);
	for (size_t i = 0; i < n; i++) {
		random_event(&state, few, &all[i]);
		/* one buffer for all names, as sources have it */
		*reused = all[i];
		reused->ev.comm = reused->ev.comm ? reused->comm : NULL;
		reused->ev.cache = reused->ev.cache ? reused->cache : NULL;
		reused->ev.call_site_name = reused->ev.call_site_name ? reused->site : NULL;
		reused->ev.ips = reused->ev.ips ? reused->ips : NULL;
		assert_int_equal(r.sink.event(r.sink.ctx, &reused->ev), 0);
	}
	recording_end(&r, NULL, NULL);
	assert_int_equal(read_recording(r.path, NULL, &res), -ENODATA);
	assert_int_equal(res.events, n);
	assert_int_equal(res.losts, 0);
	assert_int_equal(res.quality.events, n);
	assert_string_equal(res.quality.source, "kmt (bpf)");
	recording_done(&r);
	free(reused);
	free(all);
}

static void test_round_trip(void **state)
{
	round_trip(0, false, 1);
	round_trip(1, false, 2);
	round_trip(257, false, 3);
	round_trip(20000, false, 4);
	round_trip(140000, true, 5);	/* more than two blocks */
}

/* Many deep stacks: a block ends before it is too large to be read. */
static void test_deep_stacks(void **state)
{
	const struct kmt_writer_opts opts = { .source = "bpf" };
	uint64_t ips[1024] = { 0 };
	struct kmt_event ev = { .ips = ips, .n_ips = 1024, .addr = 64 };
	struct result res = { 0 };
	struct recording r;

	assert_int_equal(recording_new(&r, opts), 0);
	for (uint64_t i = 0; i < 3000; i++) {
		for (size_t k = 0; k < 1024; k++)
			ips[k] = random64(&i) - i;
		assert_int_equal(r.sink.event(r.sink.ctx, &ev), 0);
	}
	ev.n_ips = 1025;
	assert_int_equal(r.sink.event(r.sink.ctx, &ev), -EINVAL);
	recording_end(&r, NULL, NULL);
	assert_int_equal(read_recording(r.path, NULL, &res), -ENODATA);
	assert_int_equal(res.losts, 0);
	recording_done(&r);
}

/* Losses stay between the events where they were told. */
struct order {
	char text[256];
	size_t n;
};

static int order_event(void *ctx, const struct kmt_event *ev)
{
	struct order *o = ctx;

	o->text[o->n++] = (char)ev->addr;
	return 0;
}

static int order_lost(void *ctx, const struct kmt_lost *lost)
{
	struct order *o = ctx;

	o->n += (size_t)snprintf(o->text + o->n, sizeof(o->text) - o->n, "(%d cpu%d %llu @%llu)",
				 lost->reason, (int)lost->cpu, (unsigned long long)lost->events,
				 (unsigned long long)lost->ts_ns);
	return 0;
}

static void test_losses(void **state)
{
	const struct kmt_lost ring = { .reason = KMT_LOSS_RING, .cpu = 3, .events = 1ull << 40,
				       .ts_ns = 99 };
	const struct kmt_lost stacks = { .reason = KMT_LOSS_STACKS, .cpu = UINT32_MAX };
	struct kmt_event ev = { .addr = 'a' };
	struct order o = { .n = 0 };
	const struct kmt_sink sink = { .event = order_event, .lost = order_lost, .ctx = &o };
	struct kmt_source_opts opts = { 0 };
	struct kmt_quality q = { 0 };
	struct kmt_source *src;
	struct recording r;

	assert_int_equal(recording_new(&r, (struct kmt_writer_opts){ .source = "bpf" }), 0);
	r.sink.lost(r.sink.ctx, &ring);
	r.sink.event(r.sink.ctx, &ev);
	ev.addr = 'b';
	r.sink.event(r.sink.ctx, &ev);
	r.sink.lost(r.sink.ctx, &stacks);
	r.sink.lost(r.sink.ctx, &ring);
	ev.addr = 'c';
	r.sink.event(r.sink.ctx, &ev);
	r.sink.lost(r.sink.ctx, &stacks);
	recording_end(&r, NULL, NULL);
	opts.path = r.path;
	assert_int_equal(kmt_source_kmt_file.open(&opts, &src), 0);
	while (kmt_source_kmt_file.poll(src, &sink, 0) >= 0)
		;
	assert_string_equal(o.text, "(0 cpu3 1099511627776 @99)ab(3 cpu-1 0 @0)"
			    "(0 cpu3 1099511627776 @99)c(3 cpu-1 0 @0)");
	kmt_source_kmt_file.quality(src, &q);
	assert_true(q.lost[KMT_LOSS_RING] == 2ull << 40);
	assert_int_equal(q.lost[KMT_LOSS_STACKS], 2);
	kmt_source_kmt_file.close(src);
	recording_done(&r);
}

/* A block that waits is written out after a second, not before. */
static void test_tick(void **state)
{
	const struct kmt_event ev = { .addr = 8 };
	struct recording r;
	uint64_t before;

	assert_int_equal(recording_new(&r, (struct kmt_writer_opts){ .source = "bpf" }), 0);
	before = kmt_writer_bytes(r.w);
	assert_int_equal(kmt_writer_tick(r.w), 0);
	r.sink.event(r.sink.ctx, &ev);
	assert_int_equal(kmt_writer_tick(r.w), 0);
	assert_int_equal(kmt_writer_bytes(r.w), before);
	usleep(1100000);
	assert_int_equal(kmt_writer_tick(r.w), 0);
	assert_true(kmt_writer_bytes(r.w) > before);
	recording_done(&r);
}

/* ---- shape numbers: the same content, the same number, over all blocks ---- */

struct shapes {
	uint32_t of[4];		/* by gfp */
	uint64_t events;
};

static int shapes_event(void *ctx, const struct kmt_event *ev)
{
	struct shapes *s = ctx;

	assert_in_range(ev->shape, 1, 4);
	if (!s->of[ev->gfp])
		s->of[ev->gfp] = ev->shape;
	assert_int_equal(s->of[ev->gfp], ev->shape);
	s->events++;
	return 0;
}

static void test_shapes(void **state)
{
	struct kmt_event ev = { .cache = "a cache", .bytes_alloc = 64 };
	struct shapes s = { .events = 0 };
	const struct kmt_sink sink = { .event = shapes_event, .ctx = &s };
	struct kmt_source_opts opts = { 0 };
	struct kmt_source *src;
	struct recording r;

	assert_int_equal(recording_new(&r, (struct kmt_writer_opts){ .source = "bpf" }), 0);
	for (uint64_t i = 0; i < 200000; i++) {
		/* block by block another one comes first; requested bytes do not matter */
		ev.gfp = i / 50000 ^ (i & 3);
		ev.bytes_req = i / 66000 % 2 ? i % 64 : 60;
		assert_int_equal(r.sink.event(r.sink.ctx, &ev), 0);
	}
	recording_end(&r, NULL, NULL);
	opts.path = r.path;
	assert_int_equal(kmt_source_kmt_file.open(&opts, &src), 0);
	while (kmt_source_kmt_file.poll(src, &sink, 0) >= 0)
		;
	assert_int_equal(s.events, 200000);
	for (unsigned i = 0; i < 4; i++)
		for (unsigned k = 0; k < i; k++)
			assert_int_not_equal(s.of[i], s.of[k]);
	kmt_source_kmt_file.close(src);
	recording_done(&r);
}

/* ---- facts ---- */

static const char kallsyms[] =
	"ffffffff81000000 T first\n"
	"ffffffff81000000 T its_alias\n"
	"ffffffff81000040 t second\n"
	"ffffffff81000060 D a_border\n"
	"ffffffff81000100 t third\n"
	"ffffffff82000000 D the_end\n"
	"ffffffffc0001000 t of_module\t[mod]\n"
	"ffffffffc0001010 t second\t[mod]\n"
	"ffffffffc0001080 t next\t[other-mod]\n"
	"1000 t low_module\t[below]\n";

static const char slabs_text[] = "5 10 64 8 kmalloc-64\tan_alias\tother\n0 0 18446 1 task struct\n";
static const char gfp_text[] = "0x0 none\n0xcc0 GFP_KERNEL\n0x100 __GFP_ZERO\n";

static struct kmt_facts make_facts(void)
{
	struct kmt_facts f = {
		.kernel = "6.18.0 \n\\x41 odd\xff", .build_id = "0123456789abcdef", .machine = "x86_64",
		.command = "kmemtrace record -o 'a b'", .clock = "mono",
		.start_realtime_ns = UINT64_MAX, .start_ns = 1ull << 63, .temporary_ns = 1000000,
		.page_size = 4096, .n_cpus = 300,
	};
	struct kmt_symbols *symbols;
	struct kmt_slabs *slabs, *end;
	struct kmt_gfp_names *gfp;

	assert_int_equal(kmt_symbols_parse(kallsyms, strlen(kallsyms), "x", &symbols), 0);
	assert_int_equal(kmt_slabs_parse(slabs_text, strlen(slabs_text), "x", &slabs), 0);
	assert_int_equal(kmt_slabs_parse("7 7 8 9 late\n", 13, "x", &end), 0);
	assert_int_equal(kmt_slabs_parse_bounds("memory 8 9 1\n5 6 late\n", 22, "x", end), 0);
	assert_int_equal(kmt_gfp_names_parse(gfp_text, strlen(gfp_text), &gfp), 0);
	f.symbols = symbols;
	f.slabs_start = slabs;
	f.slabs_end = end;
	f.gfp_names = gfp;
	return f;
}

static void free_facts(struct kmt_facts *f)
{
	kmt_symbols_free((struct kmt_symbols *)f->symbols);
	kmt_slabs_free((struct kmt_slabs *)f->slabs_start);
	kmt_slabs_free((struct kmt_slabs *)f->slabs_end);
	kmt_gfp_names_free((struct kmt_gfp_names *)f->gfp_names);
}

static void assert_same_symbol(const struct kmt_symbols *a, const struct kmt_symbols *b,
			       uint64_t addr)
{
	struct kmt_symbol x = { 0 }, y = { 0 };

	assert_int_equal(kmt_symbols_find(a, addr, &x), kmt_symbols_find(b, addr, &y));
	assert_same_str(x.name, y.name);
	assert_same_str(x.module, y.module);
	assert_true(x.start == y.start);
	assert_true(x.size == y.size);
}

static void assert_same_facts(const struct kmt_facts *a, const struct kmt_facts *b)
{
	static const uint64_t near[] = {
		0xffffffff81000000, 0xffffffff82000000, 0xffffffffc0001000, 0x1000,
	};
	struct kmt_buf x = { 0 }, y = { 0 };
	struct kmt_symbol sym;

	assert_string_equal(a->kernel, b->kernel);
	assert_string_equal(a->build_id, b->build_id);
	assert_string_equal(a->machine, b->machine);
	assert_string_equal(a->command, b->command);
	assert_string_equal(a->clock, b->clock);
	assert_true(a->start_realtime_ns == b->start_realtime_ns && a->start_ns == b->start_ns);
	assert_true(a->temporary_ns == b->temporary_ns);
	assert_int_equal(a->page_size, b->page_size);
	assert_int_equal(a->n_cpus, b->n_cpus);
	for (size_t i = 0; i < sizeof(near) / sizeof(near[0]); i++)
		for (int d = -2; d < 0x20000; d += d < 0x200 ? 1 : 255)
			assert_same_symbol(a->symbols, b->symbols, near[i] + (uint64_t)d);
	/* of two of one name the kernel's own */
	assert_true(kmt_symbols_by_name(b->symbols, "second", NULL, &sym));
	assert_true(sym.start == 0xffffffff81000040);
	kmt_slabs_store(a->slabs_start, &x);
	kmt_slabs_store(b->slabs_start, &y);
	assert_string_equal(kmt_buf_str(&x), kmt_buf_str(&y));
	kmt_gfp_names_store(a->gfp_names, &x);
	kmt_gfp_names_store(b->gfp_names, &y);
	assert_string_equal(kmt_buf_str(&x), kmt_buf_str(&y));
	kmt_buf_done(&x);
	kmt_buf_done(&y);
}

static struct kmt_quality make_quality(void)
{
	struct kmt_quality q = {
		.source = "bpf", .mode = "streamed", .kernel = "6.18.0\\ \n",
		.window_ns = 1ull << 63, .events = 123, .recursion_misses = 4, .misses_untold = 3,
		.frees_before_start = 5, .given_up_before_start = 2,
		.untraced_frees = 6, .failed_allocations = 7,
		.null_frees = 8, .filtered = 9, .unknown_tasks = 1, .own = 10, .sample_bytes = 11, .table_bytes = 12,
		.objects_capacity = 13, .clock_resolution_ns = 14, .lost_unknown = true,
		.hashed_addresses = true, .first_bad = "line 7: what \\ \n",
	};

	for (unsigned i = 0; i < KMT_LOSS_MAX; i++)
		q.lost[i] = UINT64_MAX - i;
	return q;
}

static void test_facts(void **state)
{
	struct kmt_facts f = make_facts();
	const struct kmt_facts *got;
	struct kmt_quality q = make_quality(), back;
	struct kmt_source_opts opts = { 0 };
	const struct kmt_sink sink = { 0 };
	struct kmt_source *src;
	struct recording r;

	assert_int_equal(recording_new(&r, (struct kmt_writer_opts){
					       .source = "bpf", .facts = &f }), 0);
	f.end_ns = 77;
	recording_end(&r, &f, &q);
	opts.path = r.path;
	assert_int_equal(kmt_source_kmt_file.open(&opts, &src), 0);
	got = kmt_source_kmt_file.facts(src);
	assert_same_facts(&f, got);
	assert_null(got->slabs_end);
	assert_int_equal(kmt_source_kmt_file.poll(src, &sink, 0), -ENODATA);
	assert_int_equal(kmt_slabs_at(got->slabs_end, 0)->objs_per_slab, 9);
	assert_int_equal(kmt_slabs_at(got->slabs_end, 0)->over_most, 5);
	assert_int_equal(kmt_slabs_at(got->slabs_end, 0)->under_most, 6);
	assert_int_equal(kmt_slabs_memory(got->slabs_end)->unreclaimable, 9);
	assert_true(kmt_slabs_memory(got->slabs_end)->is_shrunk);
	assert_null(kmt_slabs_memory(got->slabs_start));
	assert_int_equal(got->end_ns, 77);
	kmt_source_kmt_file.quality(src, &back);
	assert_string_equal(back.source, "kmt (bpf)");
	memset(back.source, 0, sizeof(back.source));
	snprintf(back.source, sizeof(back.source), "bpf");
	assert_memory_equal(&q, &back, sizeof(q));
	kmt_source_kmt_file.close(src);
	recording_done(&r);
	free_facts(&f);
}

/* ---- counted tables ---- */

#define SITES	5000	/* more than one block of sites */
#define OBJECTS	70000	/* and of objects */

static void make_site(size_t i, struct kmt_snap_site *s, uint64_t *ips)
{
	static const char *const names[] = { NULL, "", "kmalloc-64", "a\nb" };
	uint64_t state = i;

	*s = (struct kmt_snap_site){
		.key = {
			.type = (uint8_t)i, .cache_inferred = i & 1, .call_site = odd_number(&state),
			.call_site_name = names[i % 4], .ips = i % 3 ? ips : NULL,
			.n_ips = i % 3 ? 1 + (uint32_t)i % 8 : 0, .tgid = (uint32_t)i * 77777,
			.by_task = i & 2, .comm = names[i / 4 % 4], .cache = names[i / 16 % 4],
			.object_size = (uint32_t)odd_number(&state), .size = UINT32_MAX - (uint32_t)i,
		},
		.gfp = odd_number(&state), .index = (uint32_t)(i * 3),
	};
	if (i % 16 == 4) {	/* counted by cgroup: neither a process nor its name */
		s->key.by_cgroup = true;
		s->key.cgroup = UINT64_MAX - i;
		s->key.cgroup_path = names[i / 32 % 4];
		s->key.tgid = 0;
		s->key.comm = NULL;
	}
	if (s->key.type == KMT_TYPE_PAGES)
		s->key.migratetype = (int8_t)((int)(i % 7) - 1);
	for (size_t k = 0; k < 8; k++)
		ips[k] = odd_number(&state);
	for (size_t k = 0; k < sizeof(s->counts) / 8; k++)
		((uint64_t *)&s->counts)[k] = odd_number(&state);
	for (size_t k = 0; k < KMT_LIFETIMES; k++)
		s->lifetimes[k] = odd_number(&state);
}

static struct kmt_snap_object make_object(size_t i)
{
	uint64_t state = i;

	return (struct kmt_snap_object){
		.addr = odd_number(&state), .bytes_req = odd_number(&state),
		.birth_ns = odd_number(&state), .site = (uint32_t)odd_number(&state),
		.cpu = (uint32_t)i, .awaiting = i % 5 == 0,
	};
}

static int walk(void *ctx, int (*cb)(void *cb_ctx, const struct kmt_snap_object *o), void *cb_ctx)
{
	size_t n = *(size_t *)ctx;
	int err = 0;

	for (size_t i = 0; !err && i < n; i++) {
		struct kmt_snap_object o = make_object(i);

		err = cb(cb_ctx, &o);
	}
	return err;
}

static int check_object(void *ctx, const struct kmt_snap_object *o)
{
	size_t *n = ctx;
	struct kmt_snap_object want = make_object((*n)++);

	assert_int_equal(want.addr, o->addr);
	assert_int_equal(want.bytes_req, o->bytes_req);
	assert_int_equal(want.birth_ns, o->birth_ns);
	assert_int_equal(want.site, o->site);
	assert_int_equal(want.cpu, o->cpu);
	assert_int_equal(want.awaiting, o->awaiting);
	return 0;
}

static struct kmt_snapshot got;

static void assert_same_key(const struct kmt_site_key *a, const struct kmt_site_key *b)
{
	assert_int_equal(a->type, b->type);
	assert_int_equal(a->cache_inferred, b->cache_inferred);
	assert_int_equal(a->by_task, b->by_task);
	assert_int_equal(a->migratetype, b->migratetype);
	assert_int_equal(a->tgid, b->tgid);
	assert_int_equal(a->by_cgroup, b->by_cgroup);
	assert_true(a->cgroup == b->cgroup);
	assert_same_str(a->cgroup_path, b->cgroup_path);
	assert_int_equal(a->object_size, b->object_size);
	assert_int_equal(a->size, b->size);
	assert_int_equal(a->n_ips, b->n_ips);
	assert_true(a->call_site == b->call_site);
	assert_same_str(a->call_site_name, b->call_site_name);
	assert_same_str(a->comm, b->comm);
	assert_same_str(a->cache, b->cache);
	if (a->n_ips)
		assert_memory_equal(a->ips, b->ips, a->n_ips * sizeof(*a->ips));
}

static const struct kmt_snap_older older[] = {
	{ .cache = "dentry", .frees = UINT64_MAX, .own_allocs = 3 }, { .frees = 2 },
	{ .cache = "a b", .own_allocs = 1ull << 40 },
};

static int on_snapshot(void *ctx, const struct kmt_snapshot *snap)
{
	const uint64_t *want = ctx;	/* sites, free sites, objects, time */

	assert_int_equal(snap->n_sites, want[0]);
	assert_int_equal(snap->n_free_sites, want[1]);
	assert_int_equal(snap->now_ns, want[3]);
	for (size_t i = 0; i < snap->n_sites; i++) {
		struct kmt_snap_site s;
		uint64_t ips[8];

		make_site(i, &s, ips);
		assert_same_key(&s.key, &snap->sites[i].key);
		assert_memory_equal(&s.counts, &snap->sites[i].counts, sizeof(s.counts));
		assert_memory_equal(&s.lifetimes, &snap->sites[i].lifetimes, sizeof(s.lifetimes));
		assert_true(s.gfp == snap->sites[i].gfp && s.index == snap->sites[i].index);
	}
	for (size_t i = 0; i < snap->n_free_sites; i++) {
		assert_true(snap->free_sites[i].call_site == UINT64_MAX - i);
		assert_int_equal(snap->free_sites[i].type, i % 200);
		assert_int_equal(snap->free_sites[i].frees, i);
	}
	assert_true(snap->has_older);
	assert_int_equal(snap->n_older, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_same_str(snap->older[i].cache, older[i].cache);
		assert_true(snap->older[i].frees == older[i].frees);
		assert_true(snap->older[i].own_allocs == older[i].own_allocs);
	}
	got = *snap;
	return 0;
}

static void snapshot_round_trip(size_t n_sites, size_t n_free, size_t n_objects, bool has_objects)
{
	struct kmt_snap_site *sites = calloc(n_sites + 1, sizeof(*sites));
	struct kmt_snap_free_site *frees = calloc(n_free + 1, sizeof(*frees));
	uint64_t (*ips)[8] = calloc(n_sites + 1, sizeof(*ips));
	uint64_t want[] = { n_sites, n_free, n_objects, 1234 };
	struct kmt_snapshot snap = {
		.sites = sites, .free_sites = frees, .n_free_sites = n_free,
		.older = older, .n_older = 3, .has_older = true,
		.each_object = has_objects ? walk : NULL, .objects_ctx = &n_objects,
	};
	const struct kmt_sink sink = { .snapshot = on_snapshot, .ctx = want };
	struct kmt_source_opts opts = { 0 };
	struct kmt_source *src;
	struct kmt_quality q = { .mode = "counted", .events = 42 };
	struct recording r;
	size_t n = 0;

	for (size_t i = 0; i < n_sites; i++)
		make_site(i, &sites[i], ips[i]);
	for (size_t i = 0; i < n_free; i++)
		frees[i] = (struct kmt_snap_free_site){ UINT64_MAX - i, (uint8_t)(i % 200), i };
	assert_int_equal(recording_new(&r, (struct kmt_writer_opts){ .source = "bpf" }), 0);
	/* an earlier one is replaced; what it borrowed may change after the call */
	assert_int_equal(r.sink.snapshot(r.sink.ctx, &snap), 0);
	snap.n_sites = n_sites;
	snap.now_ns = 1234;
	assert_int_equal(r.sink.snapshot(r.sink.ctx, &snap), 0);
	memset(sites, 0xff, n_sites * sizeof(*sites));
	memset(ips, 0xff, n_sites * sizeof(*ips));
	recording_end(&r, NULL, &q);
	opts.path = r.path;
	assert_int_equal(kmt_source_kmt_file.open(&opts, &src), 0);
	memset(&got, 0, sizeof(got));
	assert_int_equal(kmt_source_kmt_file.poll(src, &sink, 0), -ENODATA);
	assert_int_equal(got.now_ns, 1234);
	assert_int_equal(got.each_object != NULL, has_objects);
	if (has_objects)
		assert_int_equal(got.each_object(got.objects_ctx, check_object, &n), 0);
	assert_int_equal(n, has_objects ? n_objects : 0);
	kmt_source_kmt_file.quality(src, &q);
	assert_string_equal(q.mode, "counted");
	assert_int_equal(q.events, 42);
	assert_false(q.lost_unknown);
	kmt_source_kmt_file.close(src);
	recording_done(&r);
	free(sites);
	free(frees);
	free(ips);
}

static void test_snapshot(void **state)
{
	snapshot_round_trip(SITES, 3, OBJECTS, true);
	snapshot_round_trip(1, 66000, 0, true);
	snapshot_round_trip(20, 0, 0, false);
	snapshot_round_trip(0, 0, 1, true);
}

/* ---- filters ---- */

static uint64_t count_filtered(const char *path, const char *expr, uint64_t *ret_filtered)
{
	struct kmt_filter f = { 0 };
	struct result res = { 0 };

	assert_int_equal(kmt_filter_add(&f, expr), 1);
	assert_int_equal(read_recording(path, &f, &res), -ENODATA);
	assert_int_equal(res.quality.events, res.events);
	*ret_filtered = res.quality.filtered;
	return res.events;
}

/* An allocation and its free, by one of three sites, caches and tasks each. */
static void write_triples(struct recording *r, const char *source, const struct kmt_facts *facts)
{
	static const char *const caches[] = { "kmalloc-64", "dentry", NULL };
	static const char *const comms[] = { "bash", "make", "cc1" };

	assert_int_equal(recording_new(r, (struct kmt_writer_opts){
					      .source = source, .facts = facts }), 0);
	for (uint64_t i = 0; i < 60; i++) {
		struct kmt_event ev = {
			.has_time = true, .ts_ns = i, .addr = 0x1000 + i * 64, .has_task = true,
			.call_site = i % 2 ? 0xffffffff81000045 : 0xffffffffc0001005,
			.pid = 100 + (uint32_t)i % 3, .tgid = 10 + (uint32_t)i % 3,
			.comm = comms[i % 3], .cache = caches[i / 3 % 3], .bytes_req = i,
			.bytes_alloc = 64,
		};

		assert_int_equal(r->sink.event(r->sink.ctx, &ev), 0);
		ev.op = KMT_OP_FREE;
		ev.bytes_req = ev.bytes_alloc = 0;
		ev.call_site = 5;
		ev.comm = "other";
		ev.pid = 1;
		ev.cache = NULL;
		assert_int_equal(r->sink.event(r->sink.ctx, &ev), 0);
	}
	recording_end(r, NULL, &(struct kmt_quality){ .filtered = 1000 });
}

static void test_filter(void **state)
{
	struct kmt_facts facts = make_facts();
	struct kmt_filter f = { 0 };
	struct result res = { 0 };
	struct recording r;
	uint64_t filtered;

	write_triples(&r, "bpf", &facts);
	/* 60 allocations, each with its free; every number is half of them or a third */
	assert_int_equal(count_filtered(r.path, "site=second", &filtered), 60);
	assert_int_equal(filtered, 1060);
	assert_int_equal(count_filtered(r.path, "module=mod", &filtered), 60);
	assert_int_equal(count_filtered(r.path, "module=vmlinux", &filtered), 60);
	assert_int_equal(count_filtered(r.path, "pid=101", &filtered), 40);
	assert_int_equal(count_filtered(r.path, "tgid=12", &filtered), 40);
	assert_int_equal(count_filtered(r.path, "task=ba*", &filtered), 40);
	/* 20 groups of three, of which 7, 7 and 6 are of each cache */
	assert_int_equal(count_filtered(r.path, "cache=dentry", &filtered), 42);
	/* an alias of kmalloc-64 in the recording's own list */
	assert_int_equal(count_filtered(r.path, "cache=an_alias", &filtered), 42);
	assert_int_equal(count_filtered(r.path, "size=10..19", &filtered), 20);
	assert_int_equal(kmt_filter_add(&f, "cgroup=/x"), 1);
	assert_int_equal(read_recording(r.path, &f, &res), -EINVAL);
	recording_done(&r);
	free_facts(&facts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_deep_stacks),
		cmocka_unit_test(test_losses),
		cmocka_unit_test(test_tick),
		cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_facts),
		cmocka_unit_test(test_snapshot),
		cmocka_unit_test(test_filter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
