/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KMT_RENDER_RENDER_H
#define KMT_RENDER_RENDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct kmt_report;

struct kmt_render_opts {
	bool exact_bytes;	/* --bytes: integers instead of KiB/MiB */
	bool no_header;		/* CSV/text: leave the header line out */
	bool color;		/* alarms in bold/reverse */
	unsigned width;		/* columns of text, 0 = 80 */
	bool first;		/* first report of a run (CSV header once per run) */
};

/* An output format: one file renders, one row in renderers.def. */
struct kmt_renderer {
	const char *name;
	const char *help;
	/* Write the whole report. 0, -EPIPE when the reader is gone, other negative errno. */
	int (*render)(const struct kmt_report *r, const struct kmt_render_opts *opts, FILE *out);
};

/* NULL-terminated, in the order of renderers.def. */
extern const struct kmt_renderer *const kmt_renderers[];
const struct kmt_renderer *kmt_renderer_find(const char *name);

#endif
