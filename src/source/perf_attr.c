// SPDX-License-Identifier: GPL-2.0-only
#include "source/perf_attr.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/err.h"
#include "source/perf_bytes.h"
#include "source/perf_file.h"

#define IDS_TOTAL	(1U << 20)
#define ATTR_MIN	64U		/* PERF_ATTR_SIZE_VER0; a size of 0 means it too */

/* Offsets in struct perf_event_attr; it only ever grew at its end. */
#define AT_SIZE		4
#define AT_CONFIG	8
#define AT_SAMPLE_TYPE	24
#define AT_READ_FORMAT	32
#define AT_FLAGS	40
#define AT_CLOCKID	92

#define FLAG_SAMPLE_ID_ALL	18
#define FLAG_USE_CLOCKID	25

/* Bit fields begin at the lowest bit of a byte on little endian machines, else at the highest. */
static bool flag(const struct kmt_perf_file *f, const unsigned char *attr, unsigned bit)
{
	const uint16_t one = 1;
	bool is_little = *(const unsigned char *)&one;
	unsigned in_byte = is_little != f->swap ? bit % 8 : 7 - bit % 8;

	return attr[AT_FLAGS + bit / 8] >> in_byte & 1;
}

static struct kmt_perf_bytes at(const struct kmt_perf_file *f, const unsigned char *attr,
				size_t len, size_t offset)
{
	return (struct kmt_perf_bytes){ .p = attr + (offset < len ? offset : len),
					.left = offset < len ? len - offset : 0, .swap = f->swap };
}

static uint32_t get_u32(const struct kmt_perf_file *f, const unsigned char *attr, size_t len,
			size_t offset)
{
	struct kmt_perf_bytes b = at(f, attr, len, offset);

	return kmt_perf_u32(&b);
}

static uint64_t get_u64(const struct kmt_perf_file *f, const unsigned char *attr, size_t len,
			size_t offset)
{
	struct kmt_perf_bytes b = at(f, attr, len, offset);

	return kmt_perf_u64(&b);
}

int kmt_perf_attr_add(struct kmt_perf_file *f, uint64_t offset, const unsigned char *attr,
		      size_t len, const unsigned char *ids, size_t ids_len)
{
	struct kmt_perf_bytes b = { .p = ids, .left = ids_len, .swap = f->swap };
	struct kmt_perf_attr *to = &f->attr[f->n_attrs];
	size_t n = ids_len / 8;

	if (f->n_attrs == KMT_PERF_ATTRS)
		return kmt_err(-E2BIG, "offset %" PRIu64 ": more than %d events", offset,
			       KMT_PERF_ATTRS);
	if (len < ATTR_MIN)
		return kmt_err(-EBADMSG, "offset %" PRIu64 ": an event attribute of %zu bytes",
			       offset, len);
	if (n > KMT_PERF_IDS_MAX || f->n_ids + n > IDS_TOTAL)
		return kmt_err(-E2BIG, "offset %" PRIu64 ": an event with %zu ids", offset, n);
	*to = (struct kmt_perf_attr){
		.type = get_u32(f, attr, len, 0), .config = get_u64(f, attr, len, AT_CONFIG),
		.sample_type = get_u64(f, attr, len, AT_SAMPLE_TYPE),
		.read_format = get_u64(f, attr, len, AT_READ_FORMAT),
		.id_all = flag(f, attr, FLAG_SAMPLE_ID_ALL),
		.has_clockid = flag(f, attr, FLAG_USE_CLOCKID),
		.clockid = get_u32(f, attr, len, AT_CLOCKID), .n_ids = n,
	};
	to->ids = calloc(n ? n : 1, sizeof(*to->ids));
	if (!to->ids)
		return kmt_err(-ENOMEM, "no memory for event ids");
	for (size_t i = 0; i < n; i++)
		to->ids[i] = kmt_perf_u64(&b);
	f->n_attrs++;
	f->n_ids += n;
	return 0;
}

int kmt_perf_attr_record(struct kmt_perf_file *f, const struct kmt_perf_record *rec)
{
	uint32_t size = get_u32(f, rec->data, rec->len, AT_SIZE);

	size = size ? size : ATTR_MIN;
	if (size > rec->len)
		return kmt_err(-EBADMSG, "offset %" PRIu64 ": an event attribute of %" PRIu32
			       " bytes in a record of %zu", rec->at, size, rec->len);
	return kmt_perf_attr_add(f, rec->at, rec->data, size, rec->data + size, rec->len - size);
}
