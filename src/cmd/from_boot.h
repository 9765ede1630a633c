/* SPDX-License-Identifier: GPL-2.0-only */
/* record --from-boot: what the kernel recorded by itself since its boot, as a .kmt file. */
#ifndef KMT_CMD_FROM_BOOT_H
#define KMT_CMD_FROM_BOOT_H

#include <stdbool.h>
#include <stdint.h>

struct kmt_select;

struct kmt_from_boot {
	struct kmt_select *select;	/* prepared */
	const char *output;
	char **argv;			/* of this process */
	uint64_t max_bytes;
	bool force;
	bool clear;			/* empty the buffer afterwards */
	bool stop;			/* switch its events off first */
};

/* The exit status, after having told the user. */
int kmt_from_boot(const struct kmt_from_boot *o);

#endif
