// SPDX-License-Identifier: GPL-2.0-only
/*
 * libFuzzer target for trace.dat: the whole source, from the file to the sink.
 * Build with clang:
 *
 *	clang -g -O1 -fsanitize=fuzzer,address,undefined -D_GNU_SOURCE -Isrc -Iinclude \
 *		tests/fuzz/fuzz_trace_dat.c src/source/trace_dat*.c src/source/perf_bytes.c \
 *		src/source/perf_zstd.c src/source/tp_f*.c src/source/addrset.c src/source/merge.c \
 *		src/source/cpu_queue.c src/source/deliver.c src/source/kmalloc_names.c \
 *		src/source/select.c src/source/tasks.c src/core/event.c src/core/filter.c \
 *		src/symbol/gfp*.c src/symbol/slabs.c src/symbol/symbols.c src/base/[a-z]*.c \
 *		-lbpf -lzstd -lz -o fuzz_trace_dat
 *	./fuzz_trace_dat -max_len=262144 -rss_limit_mb=2048 CORPUS tests/golden/trace_dat
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

extern const struct kmt_source_ops kmt_source_trace_dat;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was handed on so far. */
struct seen {
	uint64_t n;
};

static int on_event(void *ctx, const struct kmt_event *ev)
{
	struct seen *s = ctx;

	if (ev->cache && strlen(ev->cache) > 63)
		abort();
	if (ev->n_ips && !ev->ips)
		abort();
	s->n++;
	/* enough of one input: some are the same pages again and again */
	return s->n > 1000000 ? -ECANCELED : 0;
}

static int on_lost(void *ctx, const struct kmt_lost *lost)
{
	if ((unsigned)lost->reason >= KMT_LOSS_MAX)
		abort();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seen seen = { 0 };
	const struct kmt_sink sink = { .event = on_event, .lost = on_lost, .ctx = &seen };
	char path[64];
	struct kmt_source_opts opts = { .mode = KMT_MODE_STREAMED, .path = path, .want_task = true,
					.want_cache = true, .want_stacks = size & 1 };
	struct kmt_source *src;
	int fd = memfd_create("fuzz", MFD_CLOEXEC), n;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = kmt_source_trace_dat.open(&opts, &src);
	if (n) {
		if (!kmt_err_text()[0] || strchr(kmt_err_text(), '\n'))
			abort();
	} else {
		struct kmt_quality q = { 0 };

		do {
			n = src->ops->poll(src, &sink, 0);
		} while (n >= 0);
		if (n != -ENODATA && n != -ECANCELED && n != -ENOMEM)
			abort();
		src->ops->quality(src, &q);
		src->ops->facts(src);
		src->ops->close(src);
	}
	close(fd);
	return 0;
}
