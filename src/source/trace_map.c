// SPDX-License-Identifier: GPL-2.0-only
#include "source/trace_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/err.h"

#define MAX_BYTES	(1ULL << 40)
#define COMMIT_AT	8		/* behind the time: what is in the page, in bytes */
#define COMMIT_MASK	0xfffffU	/* struct buffer_data_page, RB_WRITE_MASK */
#define HEADER		(COMMIT_AT + sizeof(long))

/* struct trace_buffer_meta of <linux/trace_mmap.h>, which older headers lack. */
struct meta {
	uint32_t meta_page_size;
	uint32_t meta_struct_len;
	uint32_t subbuf_size;
	uint32_t nr_subbufs;
	struct {
		uint64_t lost_events;
		uint32_t id;
		uint32_t read;
	} reader;
	uint64_t flags;
	uint64_t entries;
	uint64_t overrun;
	uint64_t read;
};

struct place {
	uint32_t id;
	uint32_t skip;		/* read before */
	uint64_t time;		/* of its first record, by which it is known again */
};

struct kmt_trace_map {
	const unsigned char *data;	/* pages, by id */
	size_t bytes, page_size;
	void *head;			/* the page that says what is there */
	size_t head_bytes;
	struct place *place;
	size_t n, next;
};

static const unsigned char *page_of(const struct kmt_trace_map *m, uint32_t id)
{
	return m->data + (size_t)id * m->page_size;
}

static uint64_t time_of(const unsigned char *page)
{
	return __atomic_load_n((const uint64_t *)(const void *)page, __ATOMIC_ACQUIRE);
}

/* How much is complete in the page; more may be on its way. */
static unsigned long commit_of(const unsigned char *page)
{
	const void *at = page + COMMIT_AT;

	return __atomic_load_n((const unsigned long *)at, __ATOMIC_ACQUIRE) & COMMIT_MASK;
}

/* Of the same time, as pages of the first moments are, those of lower ids are older. */
static int by_time(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* Which pages have something in them. */
static int list_pages(struct kmt_trace_map *m, uint32_t n_pages, uint32_t reader, uint32_t read)
{
	m->place = calloc(n_pages, sizeof(*m->place));
	if (!m->place)
		return kmt_err(-ENOMEM, "no memory for %u trace pages", n_pages);
	for (uint32_t id = 0; id < n_pages; id++) {
		const unsigned char *page = page_of(m, id);
		uint32_t skip = id == reader ? read : 0;

		if (commit_of(page) > skip)
			m->place[m->n++] = (struct place){ .id = id, .skip = skip,
							   .time = time_of(page) };
	}
	qsort(m->place, m->n, sizeof(*m->place), by_time);
	return 0;
}

static int map_pages(struct kmt_trace_map *m, int fd)
{
	struct meta meta;
	void *data;

	m->head_bytes = m->page_size;
	m->head = mmap(NULL, m->head_bytes, PROT_READ, MAP_SHARED, fd, 0);
	if (m->head == MAP_FAILED) {
		m->head = NULL;
		return kmt_err(-EOPNOTSUPP, "this kernel cannot show a trace buffer without "
			       "taking its events out");
	}
	memcpy(&meta, m->head, sizeof(meta));
	if (meta.meta_struct_len < sizeof(meta) || meta.subbuf_size != m->page_size ||
	    meta.meta_page_size < m->page_size || !meta.nr_subbufs ||
	    meta.nr_subbufs > MAX_BYTES / m->page_size)
		return kmt_err(-EPROTO, "the kernel's description of its trace buffer is of "
			       "another form");
	m->bytes = (size_t)meta.nr_subbufs * m->page_size;
	data = mmap(NULL, m->bytes, PROT_READ, MAP_SHARED, fd, meta.meta_page_size);
	if (data == MAP_FAILED)
		return kmt_err_errno(-errno, "cannot map a trace buffer");
	m->data = data;
	return list_pages(m, meta.nr_subbufs, meta.reader.id, meta.reader.read);
}

int kmt_trace_map_new(int fd, size_t page_size, struct kmt_trace_map **ret)
{
	struct kmt_trace_map *m = calloc(1, sizeof(*m));
	int err;

	if (!m)
		return kmt_err(-ENOMEM, "no memory for a trace buffer");
	m->page_size = page_size;
	err = map_pages(m, fd);
	if (err)
		kmt_trace_map_free(m);
	else
		*ret = m;
	return err;
}

void kmt_trace_map_free(struct kmt_trace_map *m)
{
	if (!m)
		return;
	if (m->data)
		munmap((void *)m->data, m->bytes);
	if (m->head)
		munmap(m->head, m->head_bytes);
	free(m->place);
	free(m);
}

int kmt_trace_map_next(struct kmt_trace_map *m, void *page, uint32_t *ret_skip)
{
	const struct place *at = &m->place[m->next];
	const unsigned char *from;
	unsigned long commit;

	if (m->next == m->n)
		return 0;
	m->next++;
	from = page_of(m, at->id);
	commit = commit_of(from);
	if (commit > m->page_size - HEADER)
		return -ESTALE;
	memcpy(page, from, HEADER + commit);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	/* a page that is used again gets another time, after its length became 0 */
	if (time_of(from) != at->time || commit_of(from) < commit)
		return -ESTALE;
	memcpy((char *)page + COMMIT_AT, &commit, sizeof(commit));
	*ret_skip = at->skip;
	return 1;
}
