/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writes a .kmt recording (kmemtrace-file(5)): a sink that any source can feed.
 *
 *   source ──► kmt_writer_sink() ──► columns of one block ──zstd──► file
 *
 * Everything that is whole in the file stays readable whatever happens to the
 * process: each block stands for itself and carries its checksum.
 */
#ifndef KMT_STORE_WRITER_H
#define KMT_STORE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/event.h"

struct kmt_facts;
struct kmt_quality;
struct kmt_writer;

struct kmt_writer_opts {
	int fd;				/* empty and seekable unless ring_bytes is 0; stays the caller's */
	const char *name;		/* of the file, for errors */
	const struct kmt_facts *facts;	/* known at the start; read by kmt_writer_new() only */
	const char *options;		/* selection, for people: "--filter cache=kmalloc-*"; may be NULL */
	const char *source;		/* "bpf", "trace.dat", ... */
	uint64_t max_bytes;		/* -EFBIG from the sink before the file passes it; 0 = no limit */
	uint64_t ring_bytes;		/* keep only about the last so many bytes of events; 0 = all */
	/*
	 * The recording has not begun yet: kmt_writer_start() follows before the
	 * first event, and the strings above live as long.
	 */
	bool	 starts_later;
	/*
	 * Write in a thread of its own, so that a slow disk holds nobody up; so
	 * many bytes may wait. 0 = write at once.
	 */
	size_t	 behind_bytes;
	/* Of that: true when a pipe that takes nothing is to be given up; may be NULL. */
	bool	 (*hurry)(void *ctx);
	void	 *hurry_ctx;
};

/* Writes head and facts. On error the file may hold a part of them. */
int kmt_writer_new(const struct kmt_writer_opts *opts, struct kmt_writer **ret);
/*
 * With starts_later: symbols and gfp names, which take long, are in the file
 * already; the rest of the facts (times, slabs_start, ...) follows here.
 */
int kmt_writer_start(struct kmt_writer *w, const struct kmt_facts *facts);
/*
 * Events (strings are copied), losses, and snapshots (which replace each other;
 * the last one is written by kmt_writer_end()).
 */
struct kmt_sink kmt_writer_sink(struct kmt_writer *w);
/* Write out the block that is being filled, if it has waited for a second. */
int kmt_writer_tick(struct kmt_writer *w);
/* Bytes in the file so far. */
uint64_t kmt_writer_bytes(const struct kmt_writer *w);
/*
 * The last blocks: facts that are only known now (slabs_end, end_ns; may be
 * NULL), what the source says about losses, the end mark. Errors as everywhere:
 * -ENOSPC, -EFBIG, ... with text; then the file ends with its last whole block.
 */
int kmt_writer_end(struct kmt_writer *w, const struct kmt_facts *facts,
		   const struct kmt_quality *q);
/* Writes nothing; NULL allowed. */
void kmt_writer_free(struct kmt_writer *w);

#endif
