/* SPDX-License-Identifier: GPL-2.0-only */
/* What the fuzz targets of file sources share: an input is a file, read to its end. */
#ifndef KMT_FUZZ_SOURCE_H
#define KMT_FUZZ_SOURCE_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "source/source.h"
#include "symbol/symbols.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzz_run {
	uint64_t events, lost[KMT_LOSS_MAX];
	const struct kmt_facts *facts;
};

/* Everything an event points at must be readable, and within its bounds. */
static int fuzz_event(void *ctx, const struct kmt_event *ev)
{
	struct fuzz_run *run = ctx;
	size_t n = 0;
	uint64_t sum = 0;

	n += ev->comm ? strlen(ev->comm) : 0;
	n += ev->cache ? strlen(ev->cache) : 0;
	n += ev->call_site_name ? strlen(ev->call_site_name) : 0;
	if (n > 8192 || (unsigned)ev->op > KMT_OP_GIVE_UP)
		abort();
	for (uint32_t i = 0; i < ev->n_ips; i++) {
		struct kmt_symbol sym;

		sum += ev->ips[i];
		if (run->facts && kmt_symbols_find_ret(run->facts->symbols, ev->ips[i], &sym))
			sum += strlen(sym.name);
	}
	run->events += 1 + (sum == 0x5eed);	/* keeps the reads */
	return 0;
}

static int fuzz_lost(void *ctx, const struct kmt_lost *lost)
{
	struct fuzz_run *run = ctx;

	if ((unsigned)lost->reason >= KMT_LOSS_MAX)
		abort();
	run->lost[lost->reason]++;
	return 0;
}

static void fuzz_source(const struct kmt_source_ops *ops, const uint8_t *data, size_t size,
			bool stacks)
{
	struct fuzz_run run = { 0 };
	const struct kmt_sink sink = { .event = fuzz_event, .lost = fuzz_lost, .ctx = &run };
	struct kmt_source_opts opts = { .want_stacks = stacks, .want_task = true };
	struct kmt_quality q = { 0 };
	struct kmt_source *src = NULL;
	int fd = memfd_create("fuzz", MFD_CLOEXEC), n;
	char path[64];

	if (fd < 0 || write(fd, data, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET))
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	opts.path = path;
	if (ops->detect)
		ops->detect(data, size < 4096 ? size : 4096);
	n = ops->open(&opts, &src);
	if (!n) {
		run.facts = ops->facts ? ops->facts(src) : NULL;
		do
			n = ops->poll(src, &sink, 0);
		while (n >= 0);
		ops->quality(src, &q);
		ops->close(src);
	}
	if (n != -ENODATA && !*kmt_err_text())
		abort();	/* an error without a word */
	close(fd);
}

#endif
