/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the kernel recorded by itself from its boot on, because its command line
 * asked for it: the options that do so, and the buffer they leave behind.
 *
 *	kmt_boot_kernel ──kmt_boot_options()──► "trace_event=... trace_buf_size=..."
 *	/proc/cmdline ──kmt_boot_line_parse()──► kmt_boot_line ──► kmt_boot_buffer
 */
#ifndef KMT_SOURCE_BOOT_H
#define KMT_SOURCE_BOOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct kmt_buf;
struct kmt_tracefs_dir;

/* ---- what the running kernel can be asked for ---- */

struct kmt_boot_kernel {
	bool looked;		/* its symbols could be read: what is below is known */
	bool has_event;		/* trace_event= */
	bool has_size;		/* trace_buf_size= */
	bool has_clock;		/* trace_clock= */
	bool has_options;	/* trace_options= */
	bool has_instance;	/* trace_instance= */
	uint64_t ram_bytes;
	uint32_t n_cpus;	/* possible ones: each has a buffer */
};

/* Which of the options there is a function for, among the lines of a kallsyms. */
void kmt_boot_kernel_look(FILE *kallsyms, struct kmt_boot_kernel *k);
/* This machine. */
void kmt_boot_kernel_ask(struct kmt_boot_kernel *ret);

struct kmt_boot_wish {
	uint32_t tracers;	/* set of KMT_TRACER_BIT() */
	uint64_t buffer_bytes;	/* per CPU; 0: kmt_boot_buffer_bytes() */
	const char *instance;	/* NULL: the top-level buffer */
	bool stacks;
	bool keep_last;		/* when the buffer is full: overwrite the oldest events */
	/* does this kernel have an event? NULL: not known, all are asked for */
	const struct kmt_tracefs_dir *dir;
};

/* 1/16 of the memory for all CPUs together, 1 to 64 MiB for each. */
uint64_t kmt_boot_buffer_bytes(const struct kmt_boot_kernel *k);
/* Append the options. -ENOTSUP: this kernel lacks one of them, as the text says. */
int kmt_boot_options(const struct kmt_boot_kernel *k, const struct kmt_boot_wish *w,
		     struct kmt_buf *out);

/* ---- what the running kernel was asked for ---- */

#define KMT_BOOT_NAME 64

struct kmt_boot_line {
	char instance[KMT_BOOT_NAME];	/* "": the top-level buffer */
	uint32_t tracers;		/* that have an event in it */
	char options[1024];		/* the words themselves, as far as they fit */
};

/* False: no event of ours was asked for; 'options' then has what else was. */
bool kmt_boot_line_parse(const char *cmdline, struct kmt_boot_line *ret);
/* Of /proc/cmdline; false too if that cannot be read. */
bool kmt_boot_line_running(struct kmt_boot_line *ret);

struct kmt_boot_cpu {
	uint32_t cpu;
	uint64_t entries;		/* in the buffer now */
	uint64_t overrun;		/* overwritten by later ones */
	uint64_t commit_overrun, dropped;	/* there was no room for them */
	uint64_t read;			/* taken out by somebody before */
	uint64_t first_ns, now_ns;	/* oldest event, the present; of the buffer's clock */
};

struct kmt_boot_buffer {
	char clock[16];
	bool is_on;			/* recording is not stopped */
	bool has_stacks;		/* option stacktrace */
	bool overwrites;
	uint64_t bytes;			/* of all CPUs */
	struct kmt_boot_cpu *cpu;
	size_t n_cpus;
	/* of all CPUs */
	uint64_t entries, lost, read;	/* lost: in all three ways */
	uint64_t first_ns, now_ns;
};

/* Out of a CPU's 'stats' file; what is not in there is 0. */
void kmt_boot_stats_parse(const char *text, struct kmt_boot_cpu *ret);
/* "local global [mono]": the one in brackets; "" none. */
void kmt_boot_clock_parse(const char *text, char *out, size_t size);
/* Does this clock count nanoseconds? Others count events, cycles or ticks. */
bool kmt_boot_clock_has_time(const char *clock);
/* The directory of a buffer below tracefs; instance "": the top-level one. */
int kmt_boot_dir(const struct kmt_tracefs_dir *d, const char *instance, char *out, size_t size);
int kmt_boot_buffer_look(const char *dir, struct kmt_boot_buffer *ret);
void kmt_boot_buffer_done(struct kmt_boot_buffer *b);
/* Switch the events of these tracers off; what is in the buffer stays. */
int kmt_boot_stop(const char *dir, uint32_t tracers);
/* Empty the buffer. */
int kmt_boot_clear(const char *dir);

#endif
