/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The container of trace-cmd's trace.dat, versions 6 and 7 (see
 * trace-cmd.dat.v6(5) and v7(5)): what it says about the recorded machine, and
 * where the trace pages of each CPU lie. Nothing in it is trusted.
 */
#ifndef KMT_SOURCE_TRACE_DAT_FILE_H
#define KMT_SOURCE_TRACE_DAT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/tp_fields.h"

struct kmt_gfp_names;

#define KMT_TDAT_EVENTS		16
#define KMT_TDAT_BUFFERS	256
#define KMT_TDAT_CPUS		8192	/* of one buffer */
#define KMT_TDAT_NAME		64

struct kmt_tdat_event {
	uint32_t id;
	struct kmt_tp_layout layout;
};

/* Where things stand in a trace page and in every record. */
struct kmt_tdat_layout {
	bool	 swap;		/* the machine's byte order is not ours */
	bool	 is_big;	/* it is big endian */
	uint32_t word;		/* of its kernel: 4 or 8 */
	uint32_t page_size;	/* of header_page; a buffer may have its own */
	uint32_t time, commit, data;	/* offsets within a page */
	struct kmt_tp_field type, pid, flags, preempt;
};

struct kmt_tdat_cpu {
	uint32_t cpu;
	uint64_t offset, size;
	uint64_t overrun;	/* the kernel's own count of events lost on it */
};

struct kmt_tdat_buffer {
	char	 name[KMT_TDAT_NAME];	/* of the instance, "" for the top one */
	char	 clock[KMT_TDAT_NAME];
	uint32_t page_size;
	bool	 packed;		/* the pages are compressed, in chunks */
	size_t	 n_cpus;
	struct kmt_tdat_cpu *cpu;
};

/* One "CPU: N ... overrun: N" of the file, until it is known which buffers there are. */
struct kmt_tdat_stat {
	char	 buffer[KMT_TDAT_NAME];
	uint32_t cpu;
	uint64_t lost;
};

struct kmt_tdat_file {
	int	 fd;
	uint64_t size;
	unsigned version;
	uint32_t page_size;		/* of the machine */
	struct kmt_tdat_layout layout;
	bool	 has_layout;
	uint64_t taken;			/* bytes of all sections read, each as often as it was named */
	uint32_t n_formats;		/* of events, of whatever kind */
	struct kmt_tdat_event event[KMT_TDAT_EVENTS];
	size_t	 n_events;
	int64_t	 stack_id;		/* -1: no kernel stacks in there */
	struct kmt_tp_field caller, depth;
	struct kmt_gfp_names *gfp_names;
	char	*kallsyms, *cmdlines;	/* NUL-terminated, NULL none */
	size_t	 kallsyms_len, cmdlines_len;
	char	 release[72], machine[32], clock[KMT_TDAT_NAME];
	uint32_t n_cpus;		/* of the machine, 0 unknown */
	int64_t	 date_us;		/* wall clock minus event time */
	bool	 has_date;
	int64_t	 offset_ns;		/* to be added to each time */
	uint32_t tsc_mult, tsc_shift;	/* times are TSC cycles if mult is not 0 */
	uint64_t tsc_offset;
	uint64_t unreadable;		/* parts that could not be read and are done without */
	struct kmt_tdat_buffer buffer[KMT_TDAT_BUFFERS];
	size_t	 n_buffers;
	struct kmt_tdat_stat *stat;
	size_t	 n_stats;
	int	 codec;			/* of version 7 */
};

bool kmt_tdat_file_detect(const void *head, size_t len);
/*
 * f->fd is open, all else zero. -EBADMSG or -EPROTO: it cannot be read, with
 * offset and cause, but without the file's name.
 */
int kmt_tdat_file_open(struct kmt_tdat_file *f);
/* Does not close the descriptor. */
void kmt_tdat_file_done(struct kmt_tdat_file *f);

/*
 * Unpack one piece as the file's codec has it: exactly out_len bytes must come
 * out. -EBADMSG: damaged.
 */
int kmt_tdat_unpack(const struct kmt_tdat_file *f, const void *in, size_t in_len, void *out,
		    size_t out_len);

/* Parts of the container that trace_dat_info.c reads; 'b' is advanced. */
struct kmt_perf_bytes;
int kmt_tdat_read_header(struct kmt_tdat_file *f, struct kmt_perf_bytes *b);
int kmt_tdat_read_ftrace(struct kmt_tdat_file *f, struct kmt_perf_bytes *b);
int kmt_tdat_read_events(struct kmt_tdat_file *f, struct kmt_perf_bytes *b);
int kmt_tdat_read_kallsyms(struct kmt_tdat_file *f, struct kmt_perf_bytes *b);
int kmt_tdat_read_cmdlines(struct kmt_tdat_file *f, struct kmt_perf_bytes *b);
/* An option that only tells about the machine; others are left alone. */
void kmt_tdat_read_option(struct kmt_tdat_file *f, unsigned id, const unsigned char *data,
			  size_t len);
/* "[local] global" or "local" to "local". */
void kmt_tdat_clock_name(char out[KMT_TDAT_NAME], const char *text, size_t len);

#endif
