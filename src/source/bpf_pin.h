/* SPDX-License-Identifier: GPL-2.0-only */
/* Between bpf_pin.c, which makes the pins, and session.c, which opens them. */
#ifndef KMT_SOURCE_BPF_PIN_H
#define KMT_SOURCE_BPF_PIN_H

#include "source/bpf_desc.h"

/* Names in a session's directory; "link_NN" and "prog_NAME" besides. */
#define KMT_PIN_TABLES	"tables"
#define KMT_PIN_GLOBALS	"globals"	/* the programs' variables */
#define KMT_PIN_OBJECTS	"objects"	/* the hash map, if there is one */
#define KMT_PIN_DESC	"description"
#define KMT_PIN_PROG	"prog_"
#define KMT_PIN_LINK	"link_"
#define KMT_PIN_WHOAMI	KMT_PIN_PROG "kmt_whoami"

/* All that a reader relies on, in words: the description's 'layout'. */
void kmt_bpf_layout(char out[KMT_BPF_LAYOUT]);

/* The programs' variables that a reader needs, in the mapped 'globals'. */
struct kmt_pin_globals {
	__u32 *awake;
	__u32 *own_tgid;
	__u64 *own_start;	/* of that process; it is told by it as well */
	const __u64 *follow_lost;
};
void kmt_bpf_globals(void *mapped, struct kmt_pin_globals *ret);
/* Of all of them: the map's value. */
size_t kmt_bpf_globals_size(void);

#endif
