// SPDX-License-Identifier: GPL-2.0-only
#include "source/perf_pending.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

#define FIRST_CAP	256
#define REPACK_MIN	(1U << 20)
#define MAX_SHIFT	32	/* records of an interrupt may come this much too early */

void kmt_perf_pending_done(struct kmt_perf_pending *q)
{
	free(q->place);
	free(q->data);
	*q = (struct kmt_perf_pending){ 0 };
}

static size_t round_up(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

static size_t size_of(const struct kmt_perf_item *item)
{
	return sizeof(*item) + item->n_ips * sizeof(uint64_t) + round_up(item->len);
}

static int grow(void **p, size_t *cap, size_t want, size_t size)
{
	size_t bigger = *cap ? *cap : FIRST_CAP;
	void *got;

	while (bigger < want)
		bigger *= 2;
	if (bigger == *cap)
		return 0;
	got = realloc(*p, bigger * size);
	if (!got)
		return kmt_err(-ENOMEM, "no memory for the records of a CPU");
	*p = got;
	*cap = bigger;
	return 0;
}

/* Put the last place where its time belongs, if that is near. */
static void settle(struct kmt_perf_pending *q)
{
	size_t i = q->first + q->n - 1, low = i - q->first > MAX_SHIFT ? i - MAX_SHIFT : q->first;
	struct kmt_perf_place p = q->place[i];

	if (q->unsorted)
		return;
	while (i > low && q->place[i - 1].time > p.time) {
		q->place[i] = q->place[i - 1];
		i--;
	}
	q->place[i] = p;
	q->unsorted = i > q->first && q->place[i - 1].time > p.time;
}

int kmt_perf_pending_add(struct kmt_perf_pending *q, const struct kmt_perf_item *item,
			 const uint64_t *ips, const void *data)
{
	size_t size = size_of(item);
	int err = grow((void **)&q->place, &q->cap, q->first + q->n + 1, sizeof(*q->place));
	unsigned char *to;

	if (!err)
		err = grow((void **)&q->data, &q->data_cap, q->len + size, 1);
	if (err)
		return err;
	to = q->data + q->len;
	memcpy(to, item, sizeof(*item));
	to += sizeof(*item);
	if (item->n_ips)
		memcpy(to, ips, item->n_ips * sizeof(*ips));
	if (item->len)
		memcpy(to + item->n_ips * sizeof(*ips), data, item->len);
	q->place[q->first + q->n++] = (struct kmt_perf_place){ item->time, q->len };
	q->len += size;
	q->live += size;
	settle(q);
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct kmt_perf_place *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

void kmt_perf_pending_sort(struct kmt_perf_pending *q)
{
	if (q->unsorted)
		qsort(q->place + q->first, q->n, sizeof(*q->place), by_time);
	q->unsorted = false;
}

const struct kmt_perf_item *kmt_perf_pending_head(const struct kmt_perf_pending *q,
						  uint64_t bound, const uint64_t **ret_ips,
						  const void **ret_data)
{
	const struct kmt_perf_item *item;

	if (!q->n || q->place[q->first].time >= bound)
		return NULL;
	item = (const void *)(q->data + q->place[q->first].at);
	*ret_ips = (const uint64_t *)(item + 1);
	*ret_data = *ret_ips + item->n_ips;
	return item;
}

static const struct kmt_perf_item *item_at(const struct kmt_perf_pending *q, size_t i)
{
	return (const void *)(q->data + q->place[q->first + i].at);
}

void kmt_perf_pending_pop(struct kmt_perf_pending *q)
{
	q->live -= size_of(item_at(q, 0));
	q->first++;
	q->n--;
}

/* Copy what is left, one by one: where it lies far apart. */
static void repack(struct kmt_perf_pending *q)
{
	struct kmt_perf_pending to = { 0 };

	for (size_t i = 0; i < q->n; i++) {
		const struct kmt_perf_item *item = item_at(q, i);
		const uint64_t *ips = (const uint64_t *)(item + 1);

		if (kmt_perf_pending_add(&to, item, ips, ips + item->n_ips)) {
			kmt_perf_pending_done(&to);	/* go on with more than is needed */
			return;
		}
	}
	kmt_perf_pending_done(q);
	*q = to;
}

/* Nearly always the items that are left lie together. */
void kmt_perf_pending_compact(struct kmt_perf_pending *q)
{
	uint64_t from = q->len, end = 0;

	if (q->first < q->n || q->unsorted)
		return;
	for (size_t i = 0; i < q->n; i++) {
		uint64_t at = q->place[q->first + i].at, behind = at + size_of(item_at(q, i));

		from = at < from ? at : from;
		end = behind > end ? behind : end;
	}
	if (q->n && end - from > REPACK_MIN && q->live < (end - from) / 4) {
		repack(q);
		return;
	}
	if (q->n)
		memmove(q->data, q->data + from, end - from);
	for (size_t i = 0; i < q->n; i++) {
		q->place[i] = q->place[q->first + i];
		q->place[i].at -= from;
	}
	q->first = 0;
	q->len = q->n ? end - from : 0;
}

size_t kmt_perf_pending_bytes(const struct kmt_perf_pending *q)
{
	return q->len + (q->first + q->n) * sizeof(*q->place);
}
