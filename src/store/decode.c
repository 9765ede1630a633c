// SPDX-License-Identifier: GPL-2.0-only
#include "store/decode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "core/event.h"
#include "store/columns.h"
#include "store/dict.h"
#include "store/format.h"
#include "store/zip.h"

#define N		KMT_BLOCK_EVENTS
#define CHUNK		256u		/* events whose columns are expanded at once: in L1 */
#define MAX_SHAPES	(1u << 20)	/* numbers that are remembered over all blocks */
#define MAX_NAMES	(64u << 20)	/* bytes of their names, and of their stacks */

/* What all events of a shape have in common, and where the last one was. */
struct shape {
	struct kmt_event ev;
	uint64_t last;			/* address */
	uint64_t slack, slack_mask;	/* mask 0: always 'slack' */
	unsigned shift;
};

/* Who runs on a CPU at this place of the block. */
struct cpu {
	uint32_t cpu, pid, tgid;
	bool has_task;
	const char *comm;
};

struct far {
	const struct kmt_col *col;
	uint64_t mark;			/* stands for: take the next of the column */
	size_t next;
};

struct kmt_decoder {
	struct kmt_zip *zip;
	struct kmt_cols cols;
	/* over all blocks: numbers of shapes */
	struct kmt_dict_strings names;
	struct kmt_dict_stacks stacks;
	struct kmt_dict_rows numbers;
	/* of this block; arrays only grow */
	const char **string;
	uint64_t *ips;
	struct shape *shape;
	struct cpu *cpu;
	size_t n_strings, n_ips, n_shapes, n_cpus;
	size_t cap_strings, cap_ips, cap_shapes, cap_cpus;
	uint16_t *ev_shape, *ev_cpu;
	size_t n, i;			/* events: all, done */
	size_t next_switch, next_lost;	/* rows of their columns */
	size_t next_slack;
	uint64_t now;
	struct far addr, time;
};

void kmt_decoder_free(struct kmt_decoder *d)
{
	if (!d)
		return;
	kmt_cols_done(&d->cols);
	kmt_dict_strings_done(&d->names);
	kmt_dict_stacks_done(&d->stacks);
	kmt_dict_rows_done(&d->numbers);
	free(d->string);
	free(d->ips);
	free(d->shape);
	free(d->cpu);
	free(d->ev_shape);
	free(d->ev_cpu);
	free(d);
}

int kmt_decoder_new(struct kmt_zip *zip, struct kmt_decoder **ret)
{
	struct kmt_decoder *d = calloc(1, sizeof(*d));

	if (d) {
		d->zip = zip;
		d->numbers.width = KMT_SHAPE_FIELDS;
		d->ev_shape = calloc(N, sizeof(*d->ev_shape));
		d->ev_cpu = calloc(N, sizeof(*d->ev_cpu));
	}
	if (!d || !d->ev_shape || !d->ev_cpu) {
		kmt_decoder_free(d);
		return kmt_err(-ENOMEM, "out of memory");
	}
	*ret = d;
	return 0;
}

static int bad(const char *what)
{
	return kmt_err(-EBADMSG, "%s", what);
}

/* Room for n of size bytes in *p, whose room so far is *cap. */
static int reserve(void *p, size_t *cap, size_t n, size_t size)
{
	void **at = p, *more;

	if (n <= *cap)
		return 0;
	more = reallocarray(*at, n, size);
	if (!more)
		return kmt_err(-ENOMEM, "out of memory");
	*at = more;
	*cap = n;
	return 0;
}

static const struct kmt_col *col_of(const struct kmt_decoder *d, unsigned id)
{
	return &d->cols.col[id];
}

/* The columns id..id+n of one table are equally long. */
static bool is_table(const struct kmt_decoder *d, unsigned id, unsigned n)
{
	for (unsigned k = 1; k < n; k++)
		if (d->cols.col[id + k].n != d->cols.col[id].n)
			return false;
	return true;
}

static int take_strings(struct kmt_decoder *d)
{
	const struct kmt_col *len = col_of(d, KMT_COL_STRING_LEN);
	const struct kmt_col *bytes = col_of(d, KMT_COL_STRING_BYTES);
	size_t at = 0;
	int err = reserve(&d->string, &d->cap_strings, (size_t)len->n + 1, sizeof(*d->string));

	if (err)
		return err;
	if (bytes->n && (bytes->width != 1 || bytes->base))
		return bad("its names are no bytes");
	d->string[0] = NULL;
	for (size_t i = 0; i < len->n; i++) {
		uint64_t n = kmt_col_at(len, i);

		if (n > KMT_STRING_MAX || bytes->n - at <= n || bytes->plane[0][at + n])
			return bad("a name does not end");
		d->string[i + 1] = (const char *)bytes->plane[0] + at;
		at += n + 1;
	}
	d->n_strings = (size_t)len->n + 1;
	return 0;
}

static int take_ips(struct kmt_decoder *d)
{
	const struct kmt_col *ips = col_of(d, KMT_COL_STACK_IPS);
	int err = reserve(&d->ips, &d->cap_ips, ips->n, sizeof(*d->ips));

	if (!err)
		kmt_col_expand(ips, 0, ips->n, d->ips);
	d->n_ips = ips->n;
	return err;
}

static int take_cpus(struct kmt_decoder *d)
{
	const struct kmt_col *cpus = col_of(d, KMT_COL_CPU);
	int err;

	if (cpus->n > N)
		return bad("it has too many CPUs");
	err = reserve(&d->cpu, &d->cap_cpus, cpus->n, sizeof(*d->cpu));
	for (size_t i = 0; !err && i < cpus->n; i++)
		d->cpu[i] = (struct cpu){ .cpu = (uint32_t)kmt_col_at(cpus, i) };
	d->n_cpus = cpus->n;
	return err;
}

/* Number of a shape over all blocks, 0 when there are too many. */
static int number_of(struct kmt_decoder *d, const struct kmt_event *ev, uint64_t *row)
{
	size_t number;
	int err;

	if (d->numbers.n >= MAX_SHAPES || d->names.bytes.len >= MAX_NAMES ||
	    d->stacks.ips.n >= MAX_NAMES / sizeof(uint64_t))
		return 0;
	err = kmt_dict_strings_get(&d->names, ev->call_site_name, &row[KMT_SHAPE_NAME]);
	if (!err)
		err = kmt_dict_strings_get(&d->names, ev->cache, &row[KMT_SHAPE_CACHE]);
	if (!err)
		err = kmt_dict_stacks_get(&d->stacks, ev->ips, ev->n_ips, &row[KMT_SHAPE_STACK]);
	row[KMT_SHAPE_FLAGS] &= ~(uint64_t)KMT_SHAPE_SLACK_VARIES;
	if (!err)
		err = kmt_dict_rows_get(&d->numbers, row, &number);
	return err ? err : (int)number + 1;
}

static enum kmt_op op_of(uint64_t flags)
{
	if (!(flags & KMT_SHAPE_FREE))
		return KMT_OP_ALLOC;
	return flags & KMT_SHAPE_GIVE_UP ? KMT_OP_GIVE_UP : KMT_OP_FREE;
}

static int take_shape(struct kmt_decoder *d, size_t i, const size_t *stack_at)
{
	struct shape *s = &d->shape[i];
	uint64_t row[KMT_SHAPE_FIELDS];
	uint64_t stack;
	int number;

	for (unsigned f = 0; f < KMT_SHAPE_FIELDS; f++)
		row[f] = kmt_col_at(col_of(d, KMT_COL_SHAPE + f), i);
	stack = row[KMT_SHAPE_STACK];
	if (row[KMT_SHAPE_NAME] >= d->n_strings || row[KMT_SHAPE_CACHE] >= d->n_strings ||
	    stack > col_of(d, KMT_COL_STACK_LEN)->n)
		return bad("an event's shape names what is not there");
	*s = (struct shape){
		.slack = kmt_col_at(col_of(d, KMT_COL_SHAPE_SLACK), i),
		.slack_mask = row[KMT_SHAPE_FLAGS] & KMT_SHAPE_SLACK_VARIES ? UINT64_MAX : 0,
		.shift = kmt_col_at(col_of(d, KMT_COL_SHAPE_SHIFT), i) & 63,
		.ev = {
			.op = op_of(row[KMT_SHAPE_FLAGS]),
			.type = (uint8_t)row[KMT_SHAPE_TYPE],
			.has_time = row[KMT_SHAPE_FLAGS] & KMT_SHAPE_HAS_TIME,
			.cache_inferred = row[KMT_SHAPE_FLAGS] & KMT_SHAPE_INFERRED,
			.order = (int8_t)((uint8_t)(row[KMT_SHAPE_FLAGS] >>
						    KMT_SHAPE_ORDER_SHIFT) - 1),
			.migratetype = (int8_t)((uint8_t)(row[KMT_SHAPE_FLAGS] >>
							  KMT_SHAPE_MIGRATETYPE_SHIFT) - 1),
			.node = (int16_t)row[KMT_SHAPE_NODE],
			.call_site = row[KMT_SHAPE_SITE],
			.call_site_name = d->string[row[KMT_SHAPE_NAME]],
			.cache = d->string[row[KMT_SHAPE_CACHE]],
			.gfp = row[KMT_SHAPE_GFP],
			.bytes_alloc = row[KMT_SHAPE_ALLOC],
			.ips = stack ? d->ips + stack_at[stack - 1] : NULL,
			.n_ips = stack ? (uint32_t)(stack_at[stack] - stack_at[stack - 1]) : 0,
		},
	};
	number = number_of(d, &s->ev, row);
	s->ev.shape = number > 0 ? (uint32_t)number : 0;
	return number < 0 ? number : 0;
}

/* stack_at[k]: first frame of stack k; the caller frees it. */
static int find_stacks(struct kmt_decoder *d, size_t **ret)
{
	const struct kmt_col *len = col_of(d, KMT_COL_STACK_LEN);
	size_t *at, sum = 0;

	if (len->n > N)
		return bad("it has too many stacks");
	at = calloc((size_t)len->n + 1, sizeof(*at));
	if (!at)
		return kmt_err(-ENOMEM, "out of memory");
	*ret = at;
	for (size_t i = 0; i < len->n; i++) {
		uint64_t n = kmt_col_at(len, i);

		if (n > KMT_STACK_MAX || n > d->n_ips - sum)
			return bad("a stack does not end");
		sum += n;
		at[i + 1] = sum;
	}
	return 0;
}

static int take_shapes(struct kmt_decoder *d)
{
	size_t n = col_of(d, KMT_COL_SHAPE)->n, *stack_at = NULL;
	int err;

	if (n > N || !is_table(d, KMT_COL_SHAPE, KMT_SHAPE_FIELDS + 2))
		return bad("its shapes are no table");
	err = reserve(&d->shape, &d->cap_shapes, n, sizeof(*d->shape));
	if (!err)
		err = find_stacks(d, &stack_at);
	for (size_t i = 0; !err && i < n; i++)
		err = take_shape(d, i, stack_at);
	d->n_shapes = n;
	free(stack_at);
	return err;
}

/* Numbers below 'limit' into an array of 16 bits. */
static int take_numbers(const struct kmt_col *c, size_t n, size_t limit, uint16_t *ret)
{
	uint64_t v[CHUNK], most = 0;

	if (c->n != n)
		return bad("its columns have different lengths");
	for (size_t i = 0; i < n; i += CHUNK) {
		size_t len = n - i < CHUNK ? n - i : CHUNK;

		kmt_col_expand(c, i, len, v);
		for (size_t k = 0; k < len; k++) {
			ret[i + k] = (uint16_t)v[k];
			most = v[k] > most ? v[k] : most;
		}
	}
	return n && most >= limit ? bad("an event names what is not there") : 0;
}

static int check_slack(const struct kmt_decoder *d)
{
	size_t n = 0;

	for (size_t i = 0; i < d->n; i++)
		n += d->shape[d->ev_shape[i]].slack_mask & 1;
	return n > col_of(d, KMT_COL_EV_SLACK)->n ? bad("sizes are missing") : 0;
}

static int check_switches(const struct kmt_decoder *d)
{
	const struct kmt_col *col = col_of(d, KMT_COL_SWITCH);
	uint64_t last = 0;

	if (!is_table(d, KMT_COL_SWITCH, KMT_SWITCH_FIELDS) ||
	    !is_table(d, KMT_COL_TASK, KMT_TASK_FIELDS))
		return bad("its tasks are no table");
	for (size_t i = 0; i < col_of(d, KMT_COL_TASK)->n; i++)
		if (kmt_col_at(col_of(d, KMT_COL_TASK + KMT_TASK_NAME), i) >= d->n_strings)
			return bad("a task's name is not there");
	for (size_t i = 0; i < col->n; i++) {
		uint64_t at = kmt_col_at(&col[KMT_SWITCH_AT], i);

		if (at < last || at >= d->n ||
		    kmt_col_at(&col[KMT_SWITCH_CPU], i) >= d->n_cpus ||
		    kmt_col_at(&col[KMT_SWITCH_TASK], i) >= col_of(d, KMT_COL_TASK)->n)
			return bad("a task is not there");
		last = at;
	}
	return 0;
}

static int check_losts(const struct kmt_decoder *d)
{
	const struct kmt_col *at = col_of(d, KMT_COL_LOST + KMT_LOST_AT);
	uint64_t last = 0;

	if (!is_table(d, KMT_COL_LOST, KMT_LOST_FIELDS) || at->n > N)
		return bad("its losses are no table");
	for (size_t i = 0; i < at->n; i++) {
		uint64_t v = kmt_col_at(at, i);

		if (v < last || v > d->n)
			return bad("a loss is nowhere");
		last = v;
	}
	return 0;
}

static int take_events(struct kmt_decoder *d)
{
	const struct kmt_col *addr = col_of(d, KMT_COL_EV_ADDR);
	const struct kmt_col *time = col_of(d, KMT_COL_EV_TIME);
	int err;

	d->n = col_of(d, KMT_COL_EV_SHAPE)->n;
	d->i = d->next_switch = d->next_lost = d->next_slack = 0;
	if (d->n > N)
		return bad("it has too many events");
	if (addr->n != d->n || time->n != d->n || col_of(d, KMT_COL_EV_REAL_NODE)->n != d->n ||
	    (d->n && !col_of(d, KMT_COL_TIME_START)->n))
		return bad("its columns have different lengths");
	err = take_numbers(col_of(d, KMT_COL_EV_SHAPE), d->n, d->n_shapes, d->ev_shape);
	if (!err)
		err = take_numbers(col_of(d, KMT_COL_EV_CPU), d->n, d->n_cpus, d->ev_cpu);
	if (!err)
		err = check_slack(d);
	d->now = d->n ? kmt_col_at(col_of(d, KMT_COL_TIME_START), 0) : 0;
	d->addr = (struct far){ .col = col_of(d, KMT_COL_EV_ADDR_FAR),
				.mark = addr->width ? UINT64_MAX >> (64 - 8 * addr->width) : 0 };
	d->time = (struct far){ .col = col_of(d, KMT_COL_EV_TIME_FAR),
				.mark = time->width ? UINT64_MAX >> (64 - 8 * time->width) : 0 };
	return err;
}

int kmt_decoder_block(struct kmt_decoder *d, const uint8_t *payload, const struct kmt_block *b)
{
	int err = kmt_cols_parse(&d->cols, d->zip, payload, b);

	d->n = d->i = 0;
	if (!err)
		err = take_strings(d);
	if (!err)
		err = take_ips(d);
	if (!err)
		err = take_cpus(d);
	if (!err)
		err = take_shapes(d);
	if (!err)
		err = take_events(d);
	if (!err)
		err = check_switches(d);
	if (!err)
		err = check_losts(d);
	if (err)
		d->n = d->i = d->cols.col[KMT_COL_LOST].n = 0;
	return err;
}

/* A file that was made to have too few far values gets zeros. */
static uint64_t far_value(struct far *f)
{
	return f->next < f->col->n ? kmt_col_at(f->col, f->next++) : 0;
}

static void take_switches(struct kmt_decoder *d)
{
	const struct kmt_col *sw = col_of(d, KMT_COL_SWITCH), *task = col_of(d, KMT_COL_TASK);

	for (; d->next_switch < sw->n; d->next_switch++) {
		size_t k = d->next_switch, row;
		struct cpu *cpu;

		if (kmt_col_at(&sw[KMT_SWITCH_AT], k) > d->i)
			return;
		cpu = &d->cpu[kmt_col_at(&sw[KMT_SWITCH_CPU], k)];
		row = kmt_col_at(&sw[KMT_SWITCH_TASK], k);
		cpu->pid = (uint32_t)kmt_col_at(&task[KMT_TASK_PID], row);
		cpu->tgid = (uint32_t)kmt_col_at(&task[KMT_TASK_TGID], row);
		cpu->has_task = kmt_col_at(&task[KMT_TASK_FLAGS], row) & KMT_TASK_KNOWN;
		cpu->comm = d->string[kmt_col_at(&task[KMT_TASK_NAME], row)];
	}
}

static int hand_losts(struct kmt_decoder *d, const struct kmt_sink *sink)
{
	const struct kmt_col *col = col_of(d, KMT_COL_LOST);

	while (d->next_lost < col->n && kmt_col_at(&col[KMT_LOST_AT], d->next_lost) <= d->i) {
		size_t k = d->next_lost++;
		uint64_t reason = kmt_col_at(&col[KMT_LOST_REASON], k);
		const struct kmt_lost lost = {
			.reason = reason < KMT_LOSS_MAX ? (enum kmt_loss)reason : KMT_LOSS_INPUT,
			.cpu = (uint32_t)kmt_col_at(&col[KMT_LOST_CPU], k),
			.events = kmt_col_at(&col[KMT_LOST_EVENTS], k),
			.ts_ns = kmt_col_at(&col[KMT_LOST_TIME], k),
		};
		int err = sink->lost ? sink->lost(sink->ctx, &lost) : 0;

		if (err)
			return err;
	}
	return 0;
}

/* The next event before which something else has to be done. */
static size_t next_stop(const struct kmt_decoder *d)
{
	const struct kmt_col *sw = col_of(d, KMT_COL_SWITCH), *lost = col_of(d, KMT_COL_LOST);
	size_t stop = d->n;

	if (d->next_switch < sw->n)
		stop = kmt_col_at(&sw[KMT_SWITCH_AT], d->next_switch);
	if (d->next_lost < lost->n) {
		size_t at = kmt_col_at(&lost[KMT_LOST_AT], d->next_lost);

		stop = at < stop ? at : stop;
	}
	return stop < d->n ? stop : d->n;
}

struct chunk {
	uint64_t addr[CHUNK], time[CHUNK], real_node[CHUNK], slack[CHUNK + 1];
};

/* From what is stored to addresses; whoever looks them up can begin to fetch. */
static void find_addresses(struct kmt_decoder *d, const struct kmt_sink *sink, size_t n,
			   uint64_t *addr)
{
	for (size_t k = 0; k < n; k++) {
		struct shape *s = &d->shape[d->ev_shape[d->i + k]];
		uint64_t v = addr[k];

		if (__builtin_expect(v == d->addr.mark, 0))
			v = far_value(&d->addr);
		s->last += (v >> 1 ^ -(v & 1)) << s->shift;
		addr[k] = s->last;
		if (sink->soon)
			sink->soon(sink->ctx, s->ev.type, s->last);
	}
}

/* n events from d->i on, between which nothing else happens. */
static int hand_events(struct kmt_decoder *d, const struct kmt_sink *sink, size_t n)
{
	const struct kmt_col *slack_col = col_of(d, KMT_COL_EV_SLACK);
	size_t left = slack_col->n - d->next_slack, at = 0;
	struct chunk c;
	int err = 0;

	kmt_col_expand(col_of(d, KMT_COL_EV_ADDR), d->i, n, c.addr);
	kmt_col_expand(col_of(d, KMT_COL_EV_TIME), d->i, n, c.time);
	kmt_col_expand(col_of(d, KMT_COL_EV_REAL_NODE), d->i, n, c.real_node);
	left = left < n ? left : n;
	kmt_col_expand(slack_col, d->next_slack, left, c.slack);
	c.slack[left] = 0;
	find_addresses(d, sink, n, c.addr);
	for (size_t k = 0; !err && k < n; k++) {
		const struct shape *s = &d->shape[d->ev_shape[d->i + k]];
		const struct cpu *cpu = &d->cpu[d->ev_cpu[d->i + k]];
		struct kmt_event *ev = &d->shape[d->ev_shape[d->i + k]].ev;
		uint64_t t = c.time[k];

		if (__builtin_expect(t == d->time.mark, 0))
			t = far_value(&d->time);
		d->now += t;
		ev->addr = c.addr[k];
		ev->ts_ns = d->now;
		ev->bytes_req = ev->bytes_alloc - s->slack - (c.slack[at] & s->slack_mask);
		at += s->slack_mask & 1;
		ev->real_node = (int16_t)c.real_node[k];
		ev->cpu = cpu->cpu;
		ev->pid = cpu->pid;
		ev->tgid = cpu->tgid;
		ev->has_task = cpu->has_task;
		ev->comm = cpu->comm;
		err = sink->event(sink->ctx, ev);
	}
	d->next_slack += at;
	d->i += n;
	return err;
}

int kmt_decoder_run(struct kmt_decoder *d, const struct kmt_sink *events,
		    const struct kmt_sink *losts, int max)
{
	const size_t end = d->n - d->i < (size_t)max ? d->n : d->i + (size_t)max;
	int done = 0, err = 0;

	while (d->i < end) {
		size_t n;

		take_switches(d);
		err = hand_losts(d, losts);
		if (err)
			return err;
		n = next_stop(d);
		n = (n < end ? n : end) - d->i;
		n = n < CHUNK ? n : CHUNK;
		if (events->event)
			err = hand_events(d, events, n);
		else
			d->i += n;
		if (err)
			return err;
		done += (int)n;
	}
	if (d->i == d->n)
		err = hand_losts(d, losts);
	return err ? err : done;
}
