// SPDX-License-Identifier: GPL-2.0-only
#include "store/encode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "core/event.h"
#include "store/columns.h"
#include "store/dict.h"
#include "store/format.h"

#define N		KMT_BLOCK_EVENTS
#define NO_TASK		UINT32_MAX
#define EVENT_BOUND	48	/* bytes of all columns of an event, with far values */
#define SMALL_BOUND	8192	/* heads of all columns */

struct kmt_encoder {
	size_t n;
	struct kmt_dict_strings strings;
	struct kmt_dict_stacks stacks;
	struct kmt_dict_rows tasks, cpus, shapes, switches, losts;
	uint32_t *task_of;	/* by number of the CPU: who ran there last */
	struct {
		uint32_t cpu, number;
		bool is_set;
	} last_cpu[64];		/* numbers of CPUs by their lowest bits */
	/* of each event, as it came */
	uint64_t *addr, *time, *slack;
	uint16_t *shape, *cpu;
	int16_t *real_node;
	/* while a block is put */
	uint64_t *value, *far;
	size_t n_far;
	uint64_t *of_shape;	/* three numbers for each shape */
};

void kmt_encoder_free(struct kmt_encoder *e)
{
	if (!e)
		return;
	kmt_dict_strings_done(&e->strings);
	kmt_dict_stacks_done(&e->stacks);
	kmt_dict_rows_done(&e->tasks);
	kmt_dict_rows_done(&e->cpus);
	kmt_dict_rows_done(&e->shapes);
	kmt_dict_rows_done(&e->switches);
	kmt_dict_rows_done(&e->losts);
	free(e->task_of);
	free(e->addr);
	free(e->time);
	free(e->slack);
	free(e->shape);
	free(e->cpu);
	free(e->real_node);
	free(e->value);
	free(e->far);
	free(e->of_shape);
	free(e);
}

int kmt_encoder_new(struct kmt_encoder **ret)
{
	struct kmt_encoder *e = calloc(1, sizeof(*e));

	if (!e)
		return kmt_err(-ENOMEM, "out of memory for the recording");
	e->tasks.width = KMT_TASK_FIELDS;
	e->cpus.width = 1;
	e->shapes.width = KMT_SHAPE_FIELDS;
	e->switches.width = KMT_SWITCH_FIELDS;
	e->losts.width = KMT_LOST_FIELDS;
	e->task_of = calloc(N, sizeof(*e->task_of));
	e->addr = calloc(N, sizeof(*e->addr));
	e->time = calloc(N, sizeof(*e->time));
	e->slack = calloc(N, sizeof(*e->slack));
	e->shape = calloc(N, sizeof(*e->shape));
	e->cpu = calloc(N, sizeof(*e->cpu));
	e->real_node = calloc(N, sizeof(*e->real_node));
	e->value = calloc(N, sizeof(*e->value));
	e->far = calloc(N, sizeof(*e->far));
	e->of_shape = calloc(3 * N, sizeof(*e->of_shape));
	if (!e->task_of || !e->addr || !e->time || !e->slack || !e->shape || !e->cpu ||
	    !e->real_node || !e->value || !e->far || !e->of_shape) {
		kmt_encoder_free(e);
		return kmt_err(-ENOMEM, "out of memory for the recording");
	}
	*ret = e;
	return 0;
}

void kmt_encoder_clear(struct kmt_encoder *e)
{
	e->n = 0;
	kmt_dict_strings_clear(&e->strings);
	kmt_dict_stacks_clear(&e->stacks);
	kmt_dict_rows_clear(&e->tasks);
	kmt_dict_rows_clear(&e->cpus);
	kmt_dict_rows_clear(&e->shapes);
	kmt_dict_rows_clear(&e->switches);
	kmt_dict_rows_clear(&e->losts);
	memset(e->last_cpu, 0, sizeof(e->last_cpu));
}

size_t kmt_encoder_count(const struct kmt_encoder *e)
{
	return e->n > e->losts.n ? e->n : e->losts.n;
}

static size_t rows_bound(const struct kmt_dict_rows *d)
{
	return d->n * d->width * sizeof(uint64_t);
}

size_t kmt_encoder_bound(const struct kmt_encoder *e)
{
	return SMALL_BOUND + e->n * EVENT_BOUND + e->strings.bytes.len +
	       rows_bound(&e->strings.ends) + rows_bound(&e->stacks.ips) +
	       rows_bound(&e->stacks.lens) + rows_bound(&e->tasks) + rows_bound(&e->cpus) +
	       rows_bound(&e->shapes) + 9 * e->shapes.n + rows_bound(&e->switches) +
	       rows_bound(&e->losts);
}

/* Both from -1, unknown, up. */
static uint64_t page_flags(const struct kmt_event *ev)
{
	if (ev->type != KMT_TYPE_PAGES)
		return 0;
	return (uint64_t)(uint8_t)(ev->order + 1) << KMT_SHAPE_ORDER_SHIFT |
	       (uint64_t)(uint8_t)(ev->migratetype + 1) << KMT_SHAPE_MIGRATETYPE_SHIFT;
}

static int shape_of(struct kmt_encoder *e, const struct kmt_event *ev, size_t *ret)
{
	uint64_t row[KMT_SHAPE_FIELDS] = {
		[KMT_SHAPE_FLAGS] = (ev->op != KMT_OP_ALLOC ? KMT_SHAPE_FREE : 0) |
				    (ev->op == KMT_OP_GIVE_UP ? KMT_SHAPE_GIVE_UP : 0) |
				    (ev->has_time ? KMT_SHAPE_HAS_TIME : 0) |
				    (ev->cache_inferred ? KMT_SHAPE_INFERRED : 0) | page_flags(ev),
		[KMT_SHAPE_TYPE] = ev->type,
		[KMT_SHAPE_NODE] = (uint16_t)ev->node,
		[KMT_SHAPE_SITE] = ev->call_site,
		[KMT_SHAPE_GFP] = ev->gfp,
		[KMT_SHAPE_ALLOC] = ev->bytes_alloc,
	};
	int err = kmt_dict_strings_get(&e->strings, ev->cache, &row[KMT_SHAPE_CACHE]);

	if (!err && ev->call_site_name)
		err = kmt_dict_strings_get(&e->strings, ev->call_site_name, &row[KMT_SHAPE_NAME]);
	if (!err && ev->n_ips)
		err = kmt_dict_stacks_get(&e->stacks, ev->ips, ev->n_ips, &row[KMT_SHAPE_STACK]);
	return err ? err : kmt_dict_rows_get(&e->shapes, row, ret);
}

static int cpu_of(struct kmt_encoder *e, uint32_t cpu, size_t *ret)
{
	const size_t slot = cpu % 64, before = e->cpus.n;
	const uint64_t row = cpu;
	int err;

	if (e->last_cpu[slot].is_set && e->last_cpu[slot].cpu == cpu) {
		*ret = e->last_cpu[slot].number;
		return 0;
	}
	err = kmt_dict_rows_get(&e->cpus, &row, ret);
	if (err)
		return err;
	if (e->cpus.n > before)
		e->task_of[*ret] = NO_TASK;
	e->last_cpu[slot].is_set = true;
	e->last_cpu[slot].cpu = cpu;
	e->last_cpu[slot].number = (uint32_t)*ret;
	return 0;
}

static bool is_task(const struct kmt_encoder *e, uint32_t task, const struct kmt_event *ev)
{
	const uint64_t *row;
	uint64_t name;

	if (task == NO_TASK)
		return false;
	row = e->tasks.v + (size_t)task * KMT_TASK_FIELDS;
	name = row[KMT_TASK_NAME];
	if (row[KMT_TASK_PID] != ev->pid || row[KMT_TASK_TGID] != ev->tgid ||
	    row[KMT_TASK_FLAGS] != (ev->has_task ? KMT_TASK_KNOWN : 0) || !name != !ev->comm)
		return false;
	return !name || !strcmp(kmt_dict_strings_at(&e->strings, name), ev->comm);
}

/* Who runs on the CPU: said only when it is another than at its last event. */
static int note_task(struct kmt_encoder *e, const struct kmt_event *ev, size_t cpu)
{
	uint64_t row[KMT_TASK_FIELDS] = {
		[KMT_TASK_PID] = ev->pid,
		[KMT_TASK_TGID] = ev->tgid,
		[KMT_TASK_FLAGS] = ev->has_task ? KMT_TASK_KNOWN : 0,
	};
	uint64_t change[KMT_SWITCH_FIELDS] = { e->n, cpu };
	size_t task;
	int err;

	if (is_task(e, e->task_of[cpu], ev))
		return 0;
	err = kmt_dict_strings_get(&e->strings, ev->comm, &row[KMT_TASK_NAME]);
	if (!err)
		err = kmt_dict_rows_get(&e->tasks, row, &task);
	if (err)
		return err;
	e->task_of[cpu] = (uint32_t)task;
	change[KMT_SWITCH_TASK] = task;
	return kmt_dict_rows_add(&e->switches, change);
}

int kmt_encoder_event(struct kmt_encoder *e, const struct kmt_event *ev)
{
	const size_t i = e->n;
	size_t shape, cpu;
	int err;

	if (i == N)
		return kmt_err(-E2BIG, "block of events is full");
	err = shape_of(e, ev, &shape);
	if (!err)
		err = cpu_of(e, ev->cpu, &cpu);
	if (!err)
		err = note_task(e, ev, cpu);
	if (err)
		return err;
	e->shape[i] = (uint16_t)shape;
	e->cpu[i] = (uint16_t)cpu;
	e->addr[i] = ev->addr;
	e->time[i] = ev->ts_ns;
	e->slack[i] = ev->bytes_alloc - ev->bytes_req;
	e->real_node[i] = ev->real_node;
	e->n++;
	return 0;
}

int kmt_encoder_lost(struct kmt_encoder *e, const struct kmt_lost *lost)
{
	const uint64_t row[KMT_LOST_FIELDS] = {
		[KMT_LOST_AT] = e->n,
		[KMT_LOST_REASON] = lost->reason,
		[KMT_LOST_CPU] = lost->cpu,
		[KMT_LOST_EVENTS] = lost->events,
		[KMT_LOST_TIME] = lost->ts_ns,
	};

	if (e->losts.n == N)
		return kmt_err(-E2BIG, "block of events is full");
	return kmt_dict_rows_add(&e->losts, row);
}

/*
 * e->value with few bytes each: the width that takes the least, where a value
 * that does not fit (all bits set) stands in the far column.
 */
static void put_with_far(struct kmt_encoder *e, struct kmt_cols_out *c, unsigned id,
			 unsigned far_id)
{
	size_t far[9] = { 0 }, best = SIZE_MAX;
	unsigned width = 8;

	for (size_t i = 0; i < e->n; i++) {
		far[1] += e->value[i] >= UINT8_MAX;
		far[2] += e->value[i] >= UINT16_MAX;
		far[4] += e->value[i] >= UINT32_MAX;
		far[8] += e->value[i] == UINT64_MAX;
	}
	for (unsigned w = 1; w <= 8; w *= 2) {
		size_t cost = w * e->n + 8 * far[w];

		if (cost < best) {
			best = cost;
			width = w;
		}
	}

	const uint64_t most = UINT64_MAX >> (64 - 8 * width);

	e->n_far = 0;
	for (size_t i = 0; i < e->n; i++) {
		if (e->value[i] < most)
			continue;
		e->far[e->n_far++] = e->value[i];
		e->value[i] = most;
	}
	kmt_cols_put_wide(c, id, e->value, e->n, width);
	kmt_cols_put(c, far_id, e->far, e->n_far, 1);
}

/* Addresses of one shape are aligned alike: the zero bits at their end are left out. */
static void put_addresses(struct kmt_encoder *e, struct kmt_cols_out *c)
{
	uint64_t *any = e->of_shape, *last = any + N, *shift = last + N;

	memset(any, 0, e->shapes.n * sizeof(*any));
	memset(last, 0, e->shapes.n * sizeof(*last));
	for (size_t i = 0; i < e->n; i++)
		any[e->shape[i]] |= e->addr[i];
	for (size_t i = 0; i < e->shapes.n; i++)
		shift[i] = any[i] ? (uint64_t)__builtin_ctzll(any[i]) : 0;
	for (size_t i = 0; i < e->n; i++) {
		size_t s = e->shape[i];
		int64_t d = (int64_t)(e->addr[i] - last[s]) >> shift[s];

		last[s] = e->addr[i];
		e->value[i] = (uint64_t)d << 1 ^ (uint64_t)(d >> 63);
	}
	kmt_cols_put(c, KMT_COL_SHAPE_SHIFT, shift, e->shapes.n, 1);
	put_with_far(e, c, KMT_COL_EV_ADDR, KMT_COL_EV_ADDR_FAR);
}

static void put_times(struct kmt_encoder *e, struct kmt_cols_out *c)
{
	uint64_t last = e->n ? e->time[0] : 0;

	kmt_cols_put(c, KMT_COL_TIME_START, &last, e->n ? 1 : 0, 1);
	for (size_t i = 0; i < e->n; i++) {
		e->value[i] = e->time[i] - last;	/* a clock that steps back: far */
		last = e->time[i];
	}
	put_with_far(e, c, KMT_COL_EV_TIME, KMT_COL_EV_TIME_FAR);
}

/* Given minus requested bytes: said once where all events of a shape have the same. */
static void put_slack(struct kmt_encoder *e, struct kmt_cols_out *c)
{
	uint64_t *seen = e->of_shape, *slack = seen + N;
	size_t n = 0;

	memset(seen, 0, e->shapes.n * sizeof(*seen));
	for (size_t i = 0; i < e->n; i++) {
		size_t s = e->shape[i];

		if (seen[s] && slack[s] != e->slack[i])
			e->shapes.v[s * KMT_SHAPE_FIELDS] |= KMT_SHAPE_SLACK_VARIES;
		seen[s] = 1;
		slack[s] = e->slack[i];
	}
	for (size_t i = 0; i < e->n; i++)
		if (e->shapes.v[e->shape[i] * KMT_SHAPE_FIELDS] & KMT_SHAPE_SLACK_VARIES)
			e->value[n++] = e->slack[i];
	for (size_t s = 0; s < e->shapes.n; s++)
		if (e->shapes.v[s * KMT_SHAPE_FIELDS] & KMT_SHAPE_SLACK_VARIES)
			slack[s] = 0;
	kmt_cols_put(c, KMT_COL_SHAPE_SLACK, slack, e->shapes.n, 1);
	kmt_cols_put(c, KMT_COL_EV_SLACK, e->value, n, 1);
}

static void put_u16(struct kmt_encoder *e, struct kmt_cols_out *c, unsigned id, const uint16_t *v)
{
	for (size_t i = 0; i < e->n; i++)
		e->value[i] = v[i];
	kmt_cols_put(c, id, e->value, e->n, 1);
}

void kmt_encoder_put(struct kmt_encoder *e, struct kmt_cols_out *c)
{
	put_slack(e, c);	/* first: it marks the shapes */
	kmt_dict_strings_put(&e->strings, c);
	kmt_dict_stacks_put(&e->stacks, c);
	kmt_dict_rows_put(&e->tasks, c, KMT_COL_TASK);
	kmt_dict_rows_put(&e->cpus, c, KMT_COL_CPU);
	kmt_dict_rows_put(&e->shapes, c, KMT_COL_SHAPE);
	kmt_dict_rows_put(&e->switches, c, KMT_COL_SWITCH);
	kmt_dict_rows_put(&e->losts, c, KMT_COL_LOST);
	put_u16(e, c, KMT_COL_EV_SHAPE, e->shape);
	put_u16(e, c, KMT_COL_EV_CPU, e->cpu);
	put_u16(e, c, KMT_COL_EV_REAL_NODE, (const uint16_t *)e->real_node);
	put_times(e, c);
	put_addresses(e, c);
	/* the block may go on: what it has is found by its content */
	for (size_t s = 0; s < e->shapes.n; s++)
		e->shapes.v[s * KMT_SHAPE_FIELDS] &= ~(uint64_t)KMT_SHAPE_SLACK_VARIES;
}
