/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inside source/ only: one cpu<n> file of the relay kmemtrace (ABI v1 of 2008,
 * never in a release): records in the machine's byte order, without any header.
 *
 *	 0  u8  event_id   0 allocation, 1 free
 *	 1  u8  type_id    0 kmalloc, 1 cache, 2 pages
 *	 2  u16 event_size of the whole record: 24, 48, or more where a later ABI adds to it
 *	 4  s32 seq_num    of all CPUs together, from 1 on, wraps
 *	 8  u64 call_site
 *	16  u64 ptr
 *	24  u64 bytes_req		allocations only
 *	32  u64 bytes_alloc
 *	40  u32 gfp_flags
 *	44  s32 numa_node
 */
#ifndef KMT_SOURCE_RELAY_FILE_H
#define KMT_SOURCE_RELAY_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/event.h"

#define KMT_RELAY_FREE	24
#define KMT_RELAY_ALLOC	48

struct kmt_relay_file {
	int fd;
	bool swap;		/* the file's byte order is not ours */
	bool at_end;
	bool has_head;		/* seq and ev hold the next record */
	bool was_bad;		/* the record before could not be read */
	uint32_t seq;
	uint32_t skip;		/* bytes between here and the next record */
	uint64_t offset;	/* of buf in the file */
	uint64_t bad_places;
	uint64_t first_bad;	/* offset, with bad_places > 0 */
	size_t pos, len;
	struct kmt_event ev;
	char buf[16384];
};

/* The records at the beginning of a file: is it one, and does its byte order differ from ours? */
bool kmt_relay_detect(const void *head, size_t len, bool *ret_swap);

/* fd becomes the file's, even on failure; swap as above. */
void kmt_relay_file_init(struct kmt_relay_file *f, int fd, uint32_t cpu, bool swap);
void kmt_relay_file_done(struct kmt_relay_file *f);
/*
 * Make sure that there is a head. 1; 0: nothing within the time; -ENODATA: end
 * of the file; or the error of reading. What cannot be read is passed over and
 * counted in bad_places.
 */
int kmt_relay_file_head(struct kmt_relay_file *f, int timeout_ms);

#endif
