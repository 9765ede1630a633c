/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The container of perf.data: attributes, features, tracing data, and one
 * record after another. In a file they lie in sections:
 *
 *	header | attributes, ids | data: records | features: tracing data, ...
 *
 * and what 'perf record -o -' writes is a header of 16 bytes and then records
 * only. Nothing here knows what a sample says. Every length is checked.
 */
#ifndef KMT_SOURCE_PERF_FILE_H
#define KMT_SOURCE_PERF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/perf_info.h"

struct kmt_perf_zstd;

#define KMT_PERF_ATTRS	256
#define KMT_PERF_RECORD	65536	/* longer than any record: its size has 16 bits */
#define KMT_PERF_BUFFER	(4 * KMT_PERF_RECORD)

/* Records that perf itself writes (tools/lib/perf/include/perf/event.h). */
enum {
	KMT_PERF_REC_ATTR = 64,
	KMT_PERF_REC_TRACING = 66,
	KMT_PERF_REC_BUILD_ID = 67,
	KMT_PERF_REC_ROUND = 68,	/* FINISHED_ROUND */
	KMT_PERF_REC_AUXTRACE = 71,
	KMT_PERF_REC_FEATURE = 80,
	KMT_PERF_REC_COMPRESSED = 81,
	KMT_PERF_REC_COMPRESSED2 = 83,
};

struct kmt_perf_attr {
	uint32_t type;
	uint32_t clockid;
	uint64_t config;	/* tracepoints: id of the event */
	uint64_t sample_type;
	uint64_t read_format;
	bool	 id_all;	/* records that are no samples end with time, CPU, ... */
	bool	 has_clockid;
	uint64_t *ids;
	size_t	 n_ids;
};

struct kmt_perf_record {
	uint32_t type;
	uint16_t misc;
	uint64_t at;			/* offset in the file; of the compressed one it was in */
	const unsigned char *data;	/* behind the header; valid until the next call */
	size_t	 len;
};

struct kmt_perf_file {
	int	 fd;
	bool	 swap;			/* the file's byte order is not ours */
	bool	 is_pipe;		/* mode, not kind of file */
	bool	 can_seek;
	bool	 at_end;
	char	 cut[160];		/* why it ended before its end, "" it did not */
	uint64_t at;			/* offset of the next record */
	uint64_t end;			/* of the data section; UINT64_MAX in pipe mode */
	uint64_t base;			/* of the whole within what 'fd' is */
	uint64_t size;			/* of the file, UINT64_MAX unknown */
	struct kmt_perf_attr attr[KMT_PERF_ATTRS];
	size_t	 n_attrs;
	size_t	 n_ids;			/* of all attributes */
	struct kmt_perf_info info;
	char	*tracing;		/* tracing data section, NULL: not seen yet */
	size_t	 tracing_len;
	uint64_t tracing_at;
	uint64_t payload;		/* bytes behind a record that are still to come */
	size_t	 keep;			/* of them: of the tracing data */
	size_t	 pos, len;		/* what is still to be taken of buf */
	bool	 eof;			/* of 'fd' */
	struct kmt_perf_zstd *zstd;	/* NULL: nothing compressed was seen */
	const unsigned char *packed;	/* what is still to be decompressed, in buf */
	size_t	 packed_len;
	bool	 more_packed;		/* decompression may hold something back */
	uint64_t packed_at;
	size_t	 raw_pos, raw_len;	/* what is still to be taken of raw */
	unsigned char buf[KMT_PERF_BUFFER];
	unsigned char raw[2 * KMT_PERF_RECORD];	/* decompressed records */
};

/* Do the first bytes look like perf.data? */
bool kmt_perf_file_detect(const void *head, size_t len);
/*
 * 'f' is zeroed but for fd, which stays the caller's. -EBADMSG with the offset
 * where it is damaged. On error too, kmt_perf_file_done() is to be called.
 */
int kmt_perf_file_open(struct kmt_perf_file *f);
void kmt_perf_file_done(struct kmt_perf_file *f);
/*
 * The next record of those that are about events; attributes, features and
 * tracing data of pipe mode are taken in on the way. 1: there is one; 0: the
 * end, with 'cut' set if it is not where it should be; -EAGAIN: nothing came
 * within the time (negative: no limit); or an error.
 */
int kmt_perf_file_next(struct kmt_perf_file *f, int timeout_ms, struct kmt_perf_record *ret);

#endif
