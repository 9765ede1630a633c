/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kept events as text: 'trace', fixed when it was opened, to be read at any
 * offset; and 'trace_pipe', each line once.
 *
 *   chunk ──decode──► event ──eventfmt──► lines of that chunk ──► bytes at an offset
 *
 * Nothing is rendered before somebody reads it. Where each chunk's lines end is
 * remembered, so going back costs one chunk.
 */
#ifndef KMT_CMD_TEXT_H
#define KMT_CMD_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct kmt_recent;
struct kmt_names;
struct kmt_pipe;
struct kmt_text;

/* The options by which events are printed. */
struct kmt_look {
	bool table;		/* the original's kmem_minimalistic */
	bool gfp, time, cache, real_node, stacks;
};

/*
 * What is kept at this moment, with the head of the original's 'trace'. 'tracer':
 * "kmemtrace", whose own header follows, or "nop". 'names' may be NULL; it is
 * held as long.
 */
int kmt_text_new(struct kmt_recent *kept, const struct kmt_look *look, const char *tracer,
		 struct kmt_names *names, struct kmt_text **ret);
/* Bytes, 0 at the end, or a negative errno. One thread at a time. */
ssize_t kmt_text_read(struct kmt_text *t, char *out, size_t size, uint64_t offset);
void kmt_text_free(struct kmt_text *t);

/* One reader that takes what it sees; begins at the oldest event that is kept. */
int kmt_pipe_new(struct kmt_pipe **ret);
/*
 * As many whole lines as fit; where not even one does, a piece of it. What
 * was overwritten before it could be read is told by an overflow line. 0: there
 * is nothing now. One thread at a time.
 */
ssize_t kmt_pipe_read(struct kmt_pipe *p, struct kmt_recent *kept, const struct kmt_look *look,
		      const struct kmt_names *names, char *out, size_t size);
bool kmt_pipe_ready(const struct kmt_pipe *p, struct kmt_recent *kept);
/* After kmt_recent_clear(): forget what was taken up and not read yet. */
void kmt_pipe_clear(struct kmt_pipe *p);
/* Events that were overwritten before they could be read. */
uint64_t kmt_pipe_missed(const struct kmt_pipe *p);
void kmt_pipe_free(struct kmt_pipe *p);

#endif
