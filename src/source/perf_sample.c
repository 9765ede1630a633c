// SPDX-License-Identifier: GPL-2.0-only
#include "source/perf_sample.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdlib.h>

#include "base/err.h"
#include "source/perf_bytes.h"

#define FORMAT_LOST	(1U << 4)	/* PERF_FORMAT_LOST, since v6.0 */
#define CONTEXT_MIN	((uint64_t)-4095)	/* PERF_CONTEXT_MAX: markers lie above */

void kmt_perf_ids_done(struct kmt_perf_ids *ids)
{
	free(ids->v);
	*ids = (struct kmt_perf_ids){ 0 };
}

static int by_id(const void *a, const void *b)
{
	uint64_t x = ((const struct kmt_perf_id *)a)->id, y = ((const struct kmt_perf_id *)b)->id;

	return x < y ? -1 : x > y;
}

static int bits(uint64_t v)
{
	return __builtin_popcountll(v);
}

/* Words before the id in a sample: perf wants them the same for all attributes. */
static int id_at(uint64_t type)
{
	if (type & PERF_SAMPLE_IDENTIFIER)
		return 0;
	if (!(type & PERF_SAMPLE_ID))
		return -1;
	return bits(type & (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			    PERF_SAMPLE_ADDR));
}

static int id_from_end(uint64_t type)
{
	if (type & PERF_SAMPLE_IDENTIFIER)
		return 1;
	if (!(type & PERF_SAMPLE_ID))
		return -1;
	return 1 + bits(type & (PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU));
}

static int find_places(struct kmt_perf_ids *ids, const struct kmt_perf_file *f)
{
	bool same_at = true, same_end = true;

	ids->same_type = true;
	ids->id_at = f->n_attrs ? id_at(f->attr[0].sample_type) : -1;
	ids->id_from_end = f->n_attrs ? id_from_end(f->attr[0].sample_type) : -1;
	for (size_t i = 1; i < f->n_attrs; i++) {
		uint64_t type = f->attr[i].sample_type;

		ids->same_type = ids->same_type && type == f->attr[0].sample_type &&
				 f->attr[i].read_format == f->attr[0].read_format;
		same_at = same_at && id_at(type) == ids->id_at;
		same_end = same_end && id_from_end(type) == ids->id_from_end;
	}
	if (!ids->same_type && (!same_at || ids->id_at < 0))
		return kmt_err(-EBADMSG, "offset %" PRIu64 ": its events have samples of different "
			       "forms that cannot be told apart", f->at);
	if (!same_end)
		ids->id_from_end = -1;
	return 0;
}

int kmt_perf_ids_update(struct kmt_perf_ids *ids, const struct kmt_perf_file *f)
{
	struct kmt_perf_id *v;
	size_t n = 0;

	if (ids->n_attrs == f->n_attrs)
		return 0;
	v = realloc(ids->v, (f->n_ids + 1) * sizeof(*v));
	if (!v)
		return kmt_err(-ENOMEM, "no memory for event ids");
	ids->v = v;
	for (size_t i = 0; i < f->n_attrs; i++)
		for (size_t k = 0; k < f->attr[i].n_ids; k++)
			v[n++] = (struct kmt_perf_id){ f->attr[i].ids[k], (uint32_t)i };
	qsort(v, n, sizeof(*v), by_id);
	ids->n = n;
	ids->n_attrs = f->n_attrs;
	return find_places(ids, f);
}

static const struct kmt_perf_attr *attr_of(const struct kmt_perf_file *f,
					   const struct kmt_perf_ids *ids, uint64_t id)
{
	struct kmt_perf_id key = { .id = id }, *found;

	if (!f->n_attrs)
		return NULL;
	found = ids->n ? bsearch(&key, ids->v, ids->n, sizeof(key), by_id) : NULL;
	if (found)
		return &f->attr[found->attr];
	return ids->same_type ? &f->attr[0] : NULL;
}

/* What reads the counters of a whole group or of one event. */
static void skip_read(struct kmt_perf_bytes *b, uint64_t format)
{
	uint64_t n = 1, times = (uint64_t)bits(format & (PERF_FORMAT_TOTAL_TIME_ENABLED |
							 PERF_FORMAT_TOTAL_TIME_RUNNING));
	uint64_t words = 1 + (uint64_t)bits(format & (PERF_FORMAT_ID | FORMAT_LOST));

	if (format & PERF_FORMAT_GROUP)
		n = kmt_perf_u64(b);
	kmt_perf_take(b, times * 8);
	if (n > b->left / (words * 8))
		b->is_short = true;
	else
		kmt_perf_take(b, n * words * 8);
}

static void take_task(struct kmt_perf_bytes *b, struct kmt_perf_sample *s)
{
	s->pid = kmt_perf_u32(b);
	s->tid = kmt_perf_u32(b);
	s->has_task = true;
}

static void take_cpu(struct kmt_perf_bytes *b, struct kmt_perf_sample *s)
{
	s->cpu = kmt_perf_u32(b);
	kmt_perf_u32(b);
	s->has_cpu = true;
}

static void take_chain(struct kmt_perf_bytes *b, struct kmt_perf_sample *s)
{
	s->n_chain = kmt_perf_u64(b);
	if (s->n_chain > b->left / 8)
		b->is_short = true;
	else
		s->chain = kmt_perf_take(b, s->n_chain * 8);
	s->has_chain = true;
}

/* The kernel's order (perf_output_sample()); what comes behind the raw part is not needed. */
static void take_parts(struct kmt_perf_bytes *b, const struct kmt_perf_attr *attr,
		       struct kmt_perf_sample *s)
{
	uint64_t type = attr->sample_type;

	if (type & PERF_SAMPLE_IDENTIFIER)
		s->id = kmt_perf_u64(b);
	if (type & PERF_SAMPLE_IP)
		kmt_perf_u64(b);
	if (type & PERF_SAMPLE_TID)
		take_task(b, s);
	if (type & PERF_SAMPLE_TIME)
		s->time = kmt_perf_u64(b);
	s->has_time = type & PERF_SAMPLE_TIME;
	if (type & PERF_SAMPLE_ADDR)
		kmt_perf_u64(b);
	if (type & PERF_SAMPLE_ID)
		s->id = kmt_perf_u64(b);
	if (type & PERF_SAMPLE_STREAM_ID)
		kmt_perf_u64(b);
	if (type & PERF_SAMPLE_CPU)
		take_cpu(b, s);
	if (type & PERF_SAMPLE_PERIOD)
		kmt_perf_u64(b);
	if (type & PERF_SAMPLE_READ)
		skip_read(b, attr->read_format);
	if (type & PERF_SAMPLE_CALLCHAIN)
		take_chain(b, s);
	if (type & PERF_SAMPLE_RAW) {
		s->raw_len = kmt_perf_u32(b);
		s->raw = kmt_perf_take(b, s->raw_len);
	}
}

int kmt_perf_sample_parse(const struct kmt_perf_file *f, const struct kmt_perf_ids *ids,
			  const struct kmt_perf_record *rec, struct kmt_perf_sample *ret)
{
	struct kmt_perf_bytes b = { .p = rec->data, .left = rec->len, .swap = f->swap };
	struct kmt_perf_bytes at = b;
	const struct kmt_perf_attr *attr;
	uint64_t id = 0;

	if (ids->id_at >= 0 && kmt_perf_take(&at, (uint64_t)ids->id_at * 8))
		id = kmt_perf_u64(&at);
	attr = attr_of(f, ids, id);
	if (!attr)
		return kmt_err(-EBADMSG, "offset %" PRIu64 ": a sample of no event (id %" PRIu64
			       ")", rec->at, id);
	*ret = (struct kmt_perf_sample){ 0 };
	take_parts(&b, attr, ret);
	if (b.is_short)
		return kmt_err(-EBADMSG, "offset %" PRIu64 ": a sample that is too short", rec->at);
	return 0;
}

void kmt_perf_trailer_parse(const struct kmt_perf_file *f, const struct kmt_perf_ids *ids,
			    const struct kmt_perf_record *rec, struct kmt_perf_sample *ret)
{
	struct kmt_perf_bytes b = { .p = rec->data, .left = rec->len, .swap = f->swap }, at = b;
	const struct kmt_perf_attr *attr = f->n_attrs ? &f->attr[0] : NULL;
	size_t from_end = ids->id_from_end > 0 ? (size_t)ids->id_from_end * 8 : 0, len;
	uint64_t type;

	*ret = (struct kmt_perf_sample){ 0 };
	if (from_end && kmt_perf_take(&at, rec->len > from_end ? rec->len - from_end : 0))
		attr = attr_of(f, ids, kmt_perf_u64(&at));
	if (!attr && f->n_attrs)
		attr = &f->attr[0];	/* what perf makes up itself has id 0 */
	if (!attr || !attr->id_all)
		return;
	type = attr->sample_type & (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
				    PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |
				    PERF_SAMPLE_IDENTIFIER);
	len = (size_t)bits(type) * 8;
	if (rec->len < len || !kmt_perf_take(&b, rec->len - len))
		return;
	if (type & PERF_SAMPLE_TID)
		take_task(&b, ret);
	if (type & PERF_SAMPLE_TIME)
		ret->time = kmt_perf_u64(&b);
	ret->has_time = type & PERF_SAMPLE_TIME;
	if (type & PERF_SAMPLE_ID)
		ret->id = kmt_perf_u64(&b);
	if (type & PERF_SAMPLE_STREAM_ID)
		kmt_perf_u64(&b);
	if (type & PERF_SAMPLE_CPU)
		take_cpu(&b, ret);
	if (type & PERF_SAMPLE_IDENTIFIER)
		ret->id = kmt_perf_u64(&b);
}

size_t kmt_perf_chain(const struct kmt_perf_file *f, const struct kmt_perf_sample *s,
		      uint64_t *out, size_t max)
{
	struct kmt_perf_bytes b = { .p = s->chain, .left = s->n_chain * 8, .swap = f->swap };
	bool in_kernel = true;
	size_t n = 0;

	while (s->chain && b.left && n < max) {
		uint64_t ip = kmt_perf_u64(&b);

		if (ip >= CONTEXT_MIN)
			in_kernel = ip == (uint64_t)PERF_CONTEXT_KERNEL;
		else if (in_kernel)
			out[n++] = ip;
	}
	return n;
}
