// SPDX-License-Identifier: GPL-2.0-only
/* The rings of a stream: made, mapped, and taken away again; bpf_ring.c reads them. */
#include "source/bpf_priv.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cpus.h"
#include "base/err.h"

/* Layout of a BPF ring: consumer page, producer page, then the data twice. */
static int map_ring(struct kmt_bpf_ring *r)
{
	size_t page = sysconf(_SC_PAGESIZE);
	void *p;

	p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
	if (p == MAP_FAILED)
		return kmt_err_errno(-errno, "cannot map a ring");
	r->consumer = p;
	p = mmap(NULL, page + 2 * r->size, PROT_READ, MAP_SHARED, r->fd, page);
	if (p == MAP_FAILED)
		return kmt_err_errno(-errno, "cannot map a ring of %llu bytes",
				     (unsigned long long)r->size);
	r->producer = p;
	r->data = (const uint8_t *)p + page;
	return 0;
}

void kmt_bpf_rings_free(struct kmt_bpf *b)
{
	size_t page = sysconf(_SC_PAGESIZE);

	for (size_t i = 0; i < b->n_rings; i++) {
		struct kmt_bpf_ring *r = &b->rings[i];

		if (r->consumer)
			munmap(r->consumer, page);
		if (r->producer)
			munmap((void *)r->producer, page + 2 * r->size);
		if (r->fd >= 0)
			close(r->fd);
	}
	free(b->rings);
	free(b->heap);
	b->rings = NULL;
	b->heap = NULL;
	b->n_rings = 0;
}

struct making {
	struct kmt_bpf *b;
	int map_fd;
};

/* One ring per online CPU; a CPU that comes later has none, its events count as lost. */
static int make_ring(void *ctx, uint32_t cpu)
{
	const struct making *m = ctx;
	struct kmt_bpf *b = m->b;
	struct kmt_bpf_ring *r = &b->rings[b->n_rings];
	int err;

	if (cpu >= b->plan.cpus)
		return 0;
	r->cpu = cpu;
	r->size = b->plan.ring_bytes;
	r->fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "kmt_ring", 0, 0, r->size, NULL);
	if (r->fd < 0)
		return kmt_err_errno(r->fd, "cannot make a ring of %llu bytes",
				     (unsigned long long)r->size);
	b->n_rings++;
	err = map_ring(r);
	if (!err && bpf_map_update_elem(m->map_fd, &cpu, &r->fd, BPF_ANY))
		err = kmt_err_errno(-errno, "cannot install a ring");
	return err;
}

int kmt_bpf_rings_make(struct kmt_bpf *b, int map_fd)
{
	struct making m = { b, map_fd };
	int err;

	if (!b->plan.ring_bytes)
		return 0;
	b->rings = calloc(b->plan.cpus, sizeof(*b->rings));
	b->heap = calloc(b->plan.cpus, sizeof(struct kmt_bpf_ring *));
	if (!b->rings || !b->heap)
		return kmt_err_errno(-ENOMEM, "rings");
	err = kmt_cpus_file("/sys/devices/system/cpu/online", make_ring, &m);
	return err < 0 ? err : 0;
}
