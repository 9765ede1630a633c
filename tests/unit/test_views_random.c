// SPDX-License-Identifier: GPL-2.0-only
/*
 * The views of random streams against a slow model, which keeps every event and
 * looks for each allocation's end by walking on. Addresses are few, so that many
 * are handed out again without a free and freed without an allocation.
 */
#include "unit/world.h"

#include <stdlib.h>

#define EVENTS	1500
#define ADDRS	60
#define CPUS	4
#define SITES	5
#define BUCKETS	32

enum end { LIVE, FREED, REUSED };

struct ev {
	bool is_alloc;
	int site;		/* of sites[] */
	uint64_t addr, req, given, ts;
	uint32_t cpu;
	/* of an allocation */
	enum end end;
	uint64_t life;
	uint32_t end_cpu;
};

static const struct {
	uint64_t addr;
	bool is_cache;
	const char *name, *module, *subsystem;
} sites[SITES] = {
	{ LOAD_MSG, false, "load_msg+0x10", "vmlinux", "msg" },
	{ IN_MODULE, false, "mod_get+0x20 [mymod]", "mymod", "mod" },
	{ SYSCALL, false, "do_syscall+0x4", "vmlinux", "syscall" },
	{ MAS_ALLOC, true, "mas_alloc+0x30", "vmlinux", "mas" },
	{ FREE_MSG, true, "free_msg+0x8", "vmlinux", "free" },
};

static const uint64_t classes[] = { 8, 16, 32, 64, 96, 128, 192, 256, 512, 1024, 2048, 4096, 8192,
				    16384 };
#define CLASSES (sizeof(classes) / sizeof(classes[0]))

static size_t class_of(uint64_t req)
{
	size_t i = 0;

	while (classes[i] < req)
		i++;
	return i;
}

static void make_event(struct ev *e, uint64_t *ts)
{
	*e = (struct ev){ .is_alloc = random() % 5 < 3, .site = random() % SITES,
			  .addr = 0x100000 + (uint64_t)(random() % ADDRS) * 0x4000,
			  .cpu = random() % CPUS };
	if (random() % 20)
		*ts += (uint64_t)1 << (random() % 22);
	else
		*ts -= 5000;	/* clocks step back */
	e->ts = *ts;
	if (sites[e->site].is_cache) {
		e->req = random() % 2 ? 250 : 70;
		e->given = e->req == 250 ? 256 : 128;
	} else {
		e->req = 1 + random() % (1u << (1 + random() % 14));
		e->given = classes[class_of(e->req)];
	}
}

static void find_ends(struct ev *v)
{
	for (size_t i = 0; i < EVENTS; i++) {
		size_t j = i + 1;

		if (!v[i].is_alloc)
			continue;
		while (j < EVENTS && v[j].addr != v[i].addr)
			j++;
		if (j == EVENTS)
			continue;
		v[i].end = v[j].is_alloc ? REUSED : FREED;
		v[i].life = v[j].ts > v[i].ts ? v[j].ts - v[i].ts : 0;
		v[i].end_cpu = v[j].cpu;
	}
}

static void feed(struct world *w, const struct ev *v)
{
	for (size_t i = 0; i < EVENTS; i++) {
		struct kmt_event ev = {
			.op = v[i].is_alloc ? KMT_OP_ALLOC : KMT_OP_FREE,
			.type = sites[v[i].site].is_cache ? KMT_TYPE_CACHE : KMT_TYPE_KMALLOC,
			.call_site = sites[v[i].site].addr, .addr = v[i].addr, .cpu = v[i].cpu,
			.has_time = true, .ts_ns = v[i].ts,
		};

		if (v[i].is_alloc) {
			ev.bytes_req = v[i].req;
			ev.bytes_alloc = v[i].given;
			if (sites[v[i].site].is_cache)
				ev.cache = v[i].given == 256 ? "maple_node" : "padded";
		}
		assert_int_equal(w->sink.event(w->sink.ctx, &ev), 0);
	}
}

/* A world of 'EVENTS' random events, with the view's observer on it. */
static void make_world(struct world *w, struct ev *v, unsigned seed, const char *view)
{
	uint64_t ts = UINT64_C(1) << 32;

	srandom(seed);
	for (size_t i = 0; i < EVENTS; i++)
		make_event(&v[i], &ts);
	find_ends(v);
	open_world(w, (struct kmt_session_opts){ 0 });
	if (kmt_analysis_find(view)->observer)
		watch(w, view);
	feed(w, v);
	run(w, view);
}

static unsigned bucket_of(uint64_t life)
{
	unsigned b = 0;

	while (b < BUCKETS - 1 && life >= (UINT64_C(2048) << b))
		b++;
	return b;
}

#define FOR_ALLOCS(e, v) for (const struct ev *e = (v); e < (v) + EVENTS; e++) if (e->is_alloc)

#define SEEDS 12

static void test_temporary(void **state)
{
	struct ev v[EVENTS];
	struct world w;

	for (unsigned seed = 1; seed <= SEEDS; seed++) {
		size_t rows = 0;

		make_world(&w, v, seed, "temporary");
		for (int s = 0; s < SITES; s++) {
			int64_t n = 0, bytes = 0, allocs = 0;

			FOR_ALLOCS(e, v) {
				bool is = e->site == s && e->end == FREED && e->life < 1000000;

				allocs += e->site == s;
				n += is;
				bytes += is ? e->given : 0;
			}
			if (!n)
				continue;
			rows++;
			is_int(&w, row_of(&w, "site", sites[s].name), "temporary", n);
			is_int(&w, row_of(&w, "site", sites[s].name), "temporary_bytes", bytes);
			is_int(&w, row_of(&w, "site", sites[s].name), "allocs", allocs);
		}
		assert_int_equal(w.r->n_rows, rows);
		close_world(&w);
	}
}

static void count_lives(const struct ev *v, int site, int64_t n[BUCKETS])
{
	memset(n, 0, BUCKETS * sizeof(*n));
	FOR_ALLOCS(e, v)
		if (e->end == FREED && (site < 0 || e->site == site))
			n[bucket_of(e->life)]++;
}

static void test_lifetimes(void **state)
{
	struct ev v[EVENTS];
	struct world w;

	for (unsigned seed = 1; seed <= SEEDS; seed++) {
		int64_t n[BUCKETS], one[BUCKETS];
		size_t row = 0;

		make_world(&w, v, seed, "lifetimes");
		count_lives(v, -1, n);
		for (unsigned b = 0; b < BUCKETS; b++) {
			int64_t top = 0;

			if (!row && !n[b])
				continue;
			if (row == w.r->n_rows) {	/* after the last there are none */
				assert_int_equal(n[b], 0);
				continue;
			}
			for (int s = 0; s < SITES; s++) {
				count_lives(v, s, one);
				top = one[b] > top ? one[b] : top;
			}
			is_int(&w, row, "lifetime_min_ns", b ? INT64_C(1024) << b : 0);
			is_int(&w, row, "frees", n[b]);
			if (n[b])
				is_int(&w, row, "top_site_frees", top);
			row++;
		}
		assert_int_equal(row, w.r->n_rows);
		close_world(&w);
	}
}

/* The time that so many percent of the lives are not longer than, by counting one by one. */
static int64_t percentile(const int64_t n[BUCKETS], int64_t percent)
{
	int64_t total = 0, seen = 0;

	for (int b = 0; b < BUCKETS; b++)
		total += n[b];
	for (int b = 0; b < BUCKETS; b++)
		for (int64_t k = 0; k < n[b]; k++)
			if (++seen * 100 >= total * percent)
				return INT64_C(2048) << b;
	return -1;
}

static void test_site_lifetimes(void **state)
{
	struct ev v[EVENTS];
	struct world w;

	for (unsigned seed = 1; seed <= SEEDS; seed++) {
		make_world(&w, v, seed, "site,lifetimes");
		assert_int_equal(w.r->n_rows, SITES);
		for (int s = 0; s < SITES; s++) {
			size_t row = row_of(&w, "site", sites[s].name);
			int64_t n[BUCKETS], total = 0;

			count_lives(v, s, n);
			for (int b = 0; b < BUCKETS; b++)
				total += n[b];
			is_int(&w, row, "lifetimes", total);
			is_int(&w, row, "lifetime_p50_ns", percentile(n, 50));
			is_int(&w, row, "lifetime_p90_ns", percentile(n, 90));
			is_int(&w, row, "lifetime_p99_ns", percentile(n, 99));
		}
		close_world(&w);
	}
}

static void test_sizes(void **state)
{
	struct ev v[EVENTS];
	struct world w;

	for (unsigned seed = 1; seed <= SEEDS; seed++) {
		size_t row = 0;

		make_world(&w, v, seed, "sizes");
		for (size_t c = 0; c < CLASSES; c++) {
			int64_t allocs = 0, live = 0, waste = 0, total = 0;

			/* by what was asked for: the view has only what was given to go by */
			FOR_ALLOCS(e, v) {
				if (class_of(e->req) != c)
					continue;
				allocs++;
				total += e->given - e->req;
				live += e->end == LIVE ? e->given : 0;
				waste += e->end == LIVE ? e->given - e->req : 0;
			}
			if (!allocs)
				continue;
			is_int(&w, row, "size_max_bytes", classes[c]);
			is_int(&w, row, "size_min_bytes", c ? classes[c - 1] + 1 : 1);
			is_int(&w, row, "allocs", allocs);
			is_int(&w, row, "live_bytes_allocated", live);
			is_int(&w, row, "waste_bytes", waste);
			is_int(&w, row++, "waste_total_bytes", total);
		}
		assert_int_equal(row, w.r->n_rows);
		close_world(&w);
	}
}

/* The row of a site and a given size. */
static size_t waste_row(const struct world *w, const char *site, int64_t given)
{
	for (size_t i = 0; i < w->r->n_rows; i++)
		if (!strcmp(cell(w, i, "site")->text, site) &&
		    cell(w, i, "object_size")->i == given)
			return i;
	fail_msg("no row of %s with %lld", site, (long long)given);
	return 0;
}

static void test_waste(void **state)
{
	struct ev v[EVENTS];
	struct world w;

	for (unsigned seed = 1; seed <= SEEDS; seed++) {
		size_t rows = 0;

		make_world(&w, v, seed, "waste");
		for (size_t k = 0; k < SITES * CLASSES; k++) {
			int s = k / CLASSES;
			int64_t given = classes[k % CLASSES], total = 0, live = 0, n = 0, sum = 0;
			int64_t least = INT64_MAX, most = 0;
			size_t row;

			FOR_ALLOCS(e, v) {
				int64_t req = e->req;

				if (e->site != s || (int64_t)e->given != given)
					continue;
				n++;
				sum += req;
				total += given - req;
				live += e->end == LIVE ? given - req : 0;
				least = req < least ? req : least;
				most = req > most ? req : most;
			}
			if (!total)
				continue;
			row = waste_row(&w, sites[s].name, given);
			rows++;
			is_int(&w, row, "waste_bytes", live);
			is_int(&w, row, "waste_total_bytes", total);
			is_int(&w, row, "request_mean_bytes", sum / n);
			is_int(&w, row, "request_min_bytes", least);
			is_int(&w, row, "request_max_bytes", most);
			if (least != most)
				is_null(&w, row, "request_bytes");
		}
		assert_int_equal(w.r->n_rows, rows);
		close_world(&w);
	}
}

static bool crossed(const struct ev *e, int site)
{
	return e->end == FREED && e->cpu != e->end_cpu && (site < 0 || e->site == site);
}

static int64_t count_pair(const struct ev *v, int site, uint32_t from, uint32_t to)
{
	int64_t n = 0;

	FOR_ALLOCS(e, v)
		n += crossed(e, site) && e->cpu == from && e->end_cpu == to;
	return n;
}

static void test_pingpong(void **state)
{
	struct ev v[EVENTS];
	struct world w;

	for (unsigned seed = 1; seed <= SEEDS; seed++) {
		make_world(&w, v, seed, "pingpong");
		for (int s = 0; s < SITES; s++) {
			size_t row = row_of(&w, "site", sites[s].name);
			int64_t n = 0, bytes = 0, top = 0, pairs = 0;

			FOR_ALLOCS(e, v) {
				n += crossed(e, s);
				bytes += crossed(e, s) ? e->given : 0;
			}
			for (uint32_t p = 0; p < CPUS * CPUS; p++) {
				int64_t one = count_pair(v, s, p / CPUS, p % CPUS);

				pairs += one > 0;
				top = one > top ? one : top;
			}
			is_int(&w, row, "cross_cpu_frees", n);
			is_int(&w, row, "cross_cpu_bytes", bytes);
			is_int(&w, row, "pairs", pairs);
			is_int(&w, row, "top_pair_frees", top);
		}
		run(&w, "pingpong,cpu");
		for (size_t i = 0; i < w.r->n_rows; i++)
			is_int(&w, i, "cross_cpu_frees",
			       count_pair(v, -1, cell(&w, i, "from_cpu")->i,
					  cell(&w, i, "to_cpu")->i));
		assert_int_equal(w.r->n_rows, CPUS * (CPUS - 1));
		close_world(&w);
	}
}

static void test_labels(void **state)
{
	struct ev v[EVENTS];
	struct world w;

	for (unsigned seed = 1; seed <= SEEDS; seed++) {
		int64_t live[2] = { 0 };

		make_world(&w, v, seed, "subsystem");
		assert_int_equal(w.r->n_rows, SITES);
		for (int s = 0; s < SITES; s++) {
			int64_t n = 0, bytes = 0;

			FOR_ALLOCS(e, v) {
				n += e->site == s;
				bytes += e->site == s && e->end == LIVE ? e->given : 0;
			}
			live[!strcmp(sites[s].module, "mymod")] += bytes;
			is_int(&w, row_of(&w, "subsystem", sites[s].subsystem), "allocs", n);
			is_int(&w, row_of(&w, "subsystem", sites[s].subsystem),
			       "live_bytes_allocated", bytes);
		}
		run(&w, "module");
		assert_int_equal(w.r->n_rows, 2);
		is_int(&w, row_of(&w, "module", "vmlinux"), "live_bytes_allocated", live[0]);
		is_int(&w, row_of(&w, "module", "mymod"), "live_bytes_allocated", live[1]);
		close_world(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_temporary),
		cmocka_unit_test(test_lifetimes),
		cmocka_unit_test(test_site_lifetimes),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_waste),
		cmocka_unit_test(test_pingpong),
		cmocka_unit_test(test_labels),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
