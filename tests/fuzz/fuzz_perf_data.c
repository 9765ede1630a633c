// SPDX-License-Identifier: GPL-2.0-only
/*
 * libFuzzer target for perf.data, the whole source, from bytes to events: 'make fuzz'.
 *
 * fuzz: -max_len=65536
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "source/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern const struct kmt_source_ops kmt_source_perf_data;

struct seen {
	uint64_t events, lost;
};

static int on_event(void *ctx, const struct kmt_event *ev)
{
	struct seen *seen = ctx;
	volatile uint64_t sum = 0;

	seen->events++;
	for (uint32_t i = 0; i < ev->n_ips; i++)
		sum += ev->ips[i];
	if (ev->cache && strlen(ev->cache) > 63)
		abort();
	if (ev->comm && strlen(ev->comm) > 15)
		abort();
	return 0;
}

static int on_lost(void *ctx, const struct kmt_lost *lost)
{
	struct seen *seen = ctx;

	if ((unsigned)lost->reason >= KMT_LOSS_MAX)
		abort();
	seen->lost++;
	return 0;
}

static void read_all(const struct kmt_source_opts *opts)
{
	const struct kmt_source_ops *ops = &kmt_source_perf_data;
	struct kmt_source *src = NULL;
	struct seen seen = { 0 };
	const struct kmt_sink sink = { .event = on_event, .lost = on_lost, .ctx = &seen };
	struct kmt_quality q = { 0 };
	int n;

	if (ops->open(opts, &src)) {
		if (src || !kmt_err_text()[0])
			abort();
		return;
	}
	do
		n = ops->poll(src, &sink, 0);
	while (n >= 0);
	ops->quality(src, &q);
	ops->facts(src);
	if (n == -ENODATA && q.lost[KMT_LOSS_INPUT] && !seen.lost)
		abort();
	ops->close(src);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	char path[64];
	struct kmt_source_opts opts = { .mode = KMT_MODE_STREAMED, .path = path, .want_stacks = true,
					.want_task = true, .want_cache = true };

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	read_all(&opts);
	close(fd);
	return 0;
}
