// SPDX-License-Identifier: GPL-2.0-only
/*
 * libFuzzer target for .kmt recordings, with or without their head: 'make fuzz'.
 * Checksums are made good before each run, or nothing behind them would be
 * reached. Live objects of counted tables may take 512 MiB.
 *
 * fuzz: -rss_limit_mb=2048 -malloc_limit_mb=1024
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "core/event.h"
#include "core/quality.h"
#include "core/snapshot.h"
#include "store/format.h"
#include "store/recording.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t sum;

static void look_at(const char *s)
{
	sum += s ? strlen(s) : 0;
}

static int on_event(void *ctx, const struct kmt_event *ev)
{
	look_at(ev->comm);
	look_at(ev->cache);
	look_at(ev->call_site_name);
	for (uint32_t i = 0; i < ev->n_ips; i++)
		sum += ev->ips[i];
	return 0;
}

static int on_lost(void *ctx, const struct kmt_lost *lost)
{
	if ((unsigned)lost->reason >= KMT_LOSS_MAX)
		abort();
	return 0;
}

static int on_object(void *ctx, const struct kmt_snap_object *o)
{
	sum += o->addr;
	return 0;
}

static int on_snapshot(void *ctx, const struct kmt_snapshot *snap)
{
	for (size_t i = 0; i < snap->n_sites; i++) {
		look_at(snap->sites[i].key.comm);
		look_at(snap->sites[i].key.cache);
		look_at(snap->sites[i].key.call_site_name);
		for (uint32_t k = 0; k < snap->sites[i].key.n_ips; k++)
			sum += snap->sites[i].key.ips[k];
	}
	return snap->each_object ? snap->each_object(snap->objects_ctx, on_object, NULL) : 0;
}

/* The bytes as a file whose blocks have good checksums, as far as their lengths hold. */
static void write_file(int fd, const uint8_t *data, size_t size)
{
	uint8_t *v = malloc(KMT_FILE_HEAD + size + 1);
	size_t at = 0;

	if (!v)
		abort();
	memcpy(v, KMT_FILE_MAGIC "\1\0\0\0\0\0\0", KMT_FILE_HEAD);
	memcpy(v + KMT_FILE_HEAD, data, size);
	v[12] = size && data[0] & 1 ? KMT_FILE_RING : 0;
	while (at + KMT_BLOCK_HEAD <= size) {
		struct kmt_block b;
		uint8_t *head = v + KMT_FILE_HEAD + at;

		kmt_put_le(head, KMT_BLOCK_MAGIC, 4);
		if (kmt_block_parse(head, &b) || b.stored_len > size - at - KMT_BLOCK_HEAD)
			break;
		b.type %= 16;
		kmt_block_seal(&b, head);
		at += KMT_BLOCK_HEAD + b.stored_len;
	}
	if (write(fd, v, KMT_FILE_HEAD + size) < 0 || lseek(fd, 0, SEEK_SET))
		abort();
	free(v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const size_t head = kmt_recording_detect(data, size) ? KMT_FILE_HEAD : 0;
	const struct kmt_sink sink = { .event = on_event, .lost = on_lost,
				       .snapshot = on_snapshot };
	struct kmt_recording *r;
	struct kmt_quality q;
	int fd = memfd_create("fuzz", 0), n;

	if (fd < 0)
		abort();
	write_file(fd, data + (head < size ? head : size), head < size ? size - head : 0);
	if (!kmt_recording_new(fd, &r)) {
		while ((n = kmt_recording_poll(r, &sink, &sink, 0)) >= 0)
			;
		kmt_recording_quality(r, false, &q);
		kmt_recording_free(r);
	} else if (strchr(kmt_err_text(), '\n')) {
		abort();
	}
	close(fd);
	return 0;
}
