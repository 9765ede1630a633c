/* SPDX-License-Identifier: GPL-2.0-only */
/* What the running machine says of itself, for a recording that leaves it. */
#ifndef KMT_CMD_MACHINE_H
#define KMT_CMD_MACHINE_H

#include <stddef.h>
#include <stdint.h>

struct kmt_facts;
struct kmt_gfp_names;

struct kmt_machine {
	char kernel[72], machine[72];	/* uname's release and machine */
	char build_id[80];		/* of vmlinux, "" unknown */
	char *command;			/* command line; NULL without memory for it */
	const struct kmt_gfp_names *gfp_names;
	struct kmt_gfp_names *own_gfp_names;	/* those, unless they are somebody else's */
};

/*
 * argv: of this process, NULL-terminated. 'names': the kernel's gfp names if they are
 * known already, borrowed; NULL: they are looked for. What is not known stays empty.
 */
void kmt_machine_ask(struct kmt_machine *m, char **argv, const struct kmt_gfp_names *names);
void kmt_machine_done(struct kmt_machine *m);
/* Borrows from 'm'. Symbols, slabs and times are left alone. */
void kmt_machine_facts(const struct kmt_machine *m, struct kmt_facts *facts);

/* The build id among ELF notes (/sys/kernel/notes), as hex; "" if there is none. */
void kmt_machine_build_id(const void *notes, size_t len, char *out, size_t size);

#endif
