/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the readers of a kept session must know besides its tables: the one value
 * of a pinned map. Blocks as in a recording (store/format.h), each with its
 * checksum and none compressed:
 *
 *   [ SESSION ][ META ][ SLABS_START ][ BOUNDS_START ]
 */
#ifndef KMT_SOURCE_BPF_DESC_H
#define KMT_SOURCE_BPF_DESC_H

#include "base/arena.h"
#include "core/facts.h"
#include "source/bpf_priv.h"
#include "source/kept.h"
#include "store/text.h"

struct kmt_buf;

#define KMT_BPF_LAYOUT	160

struct kmt_bpf_desc {
	char layout[KMT_BPF_LAYOUT];	/* of tables and maps: another one cannot be read */
	char version[32];		/* of the kmemtrace that started it */
	char functions[80];		/* kmt_quality.functions */
	struct kmt_kept_ask ask;
	struct kmt_bpf_plan plan;
	struct kmt_facts facts;
	/* what they point to */
	struct kmt_arena strings;
	struct kmt_text_names names;
	struct kmt_slabs *slabs;
};

/* 'd' as it is, with facts of whoever; -ENOMEM. */
int kmt_bpf_desc_put(const struct kmt_bpf_desc *d, struct kmt_buf *out);
/*
 * Any bytes. -EPROTO: of another layout than 'layout', but 'version' is known;
 * -EBADMSG: they are no description, or a damaged one. Both without the session's
 * name. kmt_bpf_desc_done() in any case.
 */
int kmt_bpf_desc_parse(const void *data, size_t len, const char *layout, struct kmt_bpf_desc *ret);
void kmt_bpf_desc_done(struct kmt_bpf_desc *d);

#endif
