/* SPDX-License-Identifier: GPL-2.0-only */
/* What became of the module that is followed (--module). */
#ifndef KMT_CORE_MODULE_H
#define KMT_CORE_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KMT_MODULE_NAME	56	/* bytes of a name, its NUL included (MODULE_NAME_LEN) */
#define KMT_MODULE_KEPT	32	/* loads that are remembered */

struct kmt_module_load {
	uint64_t loaded_ns;	/* CLOCK_MONOTONIC; 0: it was there before */
	uint64_t unloaded_ns;	/* 0: it is still there */
};

struct kmt_module_life {
	char	 name[KMT_MODULE_NAME];
	uint64_t changes;	/* loads and unloads so far */
	uint64_t start_ns;	/* since when it is followed; 0: not yet */
	uint64_t loads;
	bool	 is_loaded;
	bool	 has_no_names;	/* its symbols could not be had: NAME+OFFSET stands for them */
	bool	 overlaps;	/* two loads lay at different, overlapping addresses */
	size_t	 n;		/* the last n loads, oldest first */
	struct kmt_module_load load[KMT_MODULE_KEPT];
};

/*
 * Take a module's name as people write it, "snd-pcm" for snd_pcm, into ret.
 * -EINVAL with text if it is none.
 */
int kmt_module_name(const char *text, char ret[KMT_MODULE_NAME]);

/* The end of the last load that is over; 0: none is. */
uint64_t kmt_module_unloaded(const struct kmt_module_life *m);

#endif
