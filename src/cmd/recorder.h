/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A .kmt recording that a command makes: its file, what is known of the
 * machine, the events, and the end.
 *
 *   open ──► begin ──► start ──► sink, turn, ... ──► stop ──► end ──► done
 *            names     time,                         time,
 *            (slow)    slabs                         slabs
 */
#ifndef KMT_CMD_RECORDER_H
#define KMT_CMD_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/machine.h"
#include "core/event.h"
#include "core/facts.h"

struct kmt_buf;
struct kmt_nodes;
struct kmt_quality;
struct kmt_run;
struct kmt_session;
struct kmt_slabs;
struct kmt_symbols;
struct kmt_writer;

struct kmt_recorder {
	const char *path;		/* as the user gave it; "-": standard output */
	int fd;
	bool is_new;			/* we made the file: it goes if nothing is recorded */
	bool has_begun;			/* the file holds something worth keeping */
	bool is_live;			/* the facts are this machine's, now */
	bool failed;			/* the output did, not the source */
	struct kmt_facts facts;
	struct kmt_writer *writer;
	struct kmt_sink out;		/* of the writer */
	const struct kmt_nodes *nodes;	/* borrowed; NULL: real nodes as the events have them */
	uint64_t events;		/* written so far */
	/* what the facts point to, if they are this machine's */
	struct kmt_machine machine;
	struct kmt_slabs *slabs_start, *slabs_end;
};

#define KMT_RECORDER_NONE { .fd = -1 }

struct kmt_recorder_opts {
	const struct kmt_facts *facts;	/* of an input; NULL: this machine's */
	const struct kmt_symbols *symbols;	/* may be NULL */
	char **argv;			/* this machine: the command line */
	const struct kmt_gfp_names *gfp_names;	/* and its names, NULL: to be looked for */
	const char *source;		/* "bpf", "trace.dat", ... */
	const char *filters;		/* for people; may be NULL; valid until the start */
	uint64_t max_bytes, ring_bytes;	/* 0 = no limit, no ring */
	uint64_t temporary_ns;		/* that counted tables are made with */
	struct kmt_run *run;		/* whose signals end the wait for a slow reader */
};

/*
 * Make the file; nothing is written yet, and with 'force' what it holds is left
 * alone until then. Returns 0 or an exit status after having told the user.
 */
int kmt_recorder_open(struct kmt_recorder *r, const char *path, bool force);
/*
 * Head, symbols, gfp names into the file: a tenth of a second. Makes a thread,
 * which has the priority of this one. 0 or a negative errno with text.
 */
int kmt_recorder_begin(struct kmt_recorder *r, const struct kmt_recorder_opts *opts);
/* From now on events may come; this machine: when, and the kernel's own counts. */
int kmt_recorder_start(struct kmt_recorder *r);
/* Events and losses go here; an error of the file sets 'failed'. */
struct kmt_sink kmt_recorder_sink(struct kmt_recorder *r);
/* After each look at the source: nothing waits longer than a second or so. */
int kmt_recorder_turn(struct kmt_recorder *r);
/* The events of this machine are off: when, and the kernel's own counts again. */
void kmt_recorder_stop(struct kmt_recorder *r);
/* The books of a session as a snapshot, which the end writes. */
int kmt_recorder_session(struct kmt_recorder *r, struct kmt_session *s);
/*
 * All of the above for a run that is over: the books of a session and nothing
 * else. slabs_*: the kernel's counts then; may be NULL.
 */
int kmt_recorder_books(struct kmt_recorder *r, const struct kmt_recorder_opts *opts,
		       const struct kmt_slabs *slabs_start, const struct kmt_slabs *slabs_end,
		       struct kmt_session *s);
/*
 * The last blocks; everything is in the file afterwards. 'facts': what an input
 * says at its end; NULL: this machine's.
 */
int kmt_recorder_end(struct kmt_recorder *r, const struct kmt_facts *facts,
		     const struct kmt_quality *q);
uint64_t kmt_recorder_bytes(const struct kmt_recorder *r);
/* Closes the file; removes it if it is ours and nothing is in it. */
void kmt_recorder_done(struct kmt_recorder *r);

#endif
