/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A .kmt recording, read: the facts first, then events, losses and the counted
 * books in the order in which they were written.
 */
#ifndef KMT_STORE_RECORDING_H
#define KMT_STORE_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kmt_facts;
struct kmt_quality;
struct kmt_recording;
struct kmt_sink;

/* Do the first bytes of a file look like one? */
bool kmt_recording_detect(const void *head, size_t len);
/*
 * Reads the facts. fd stays the caller's and must live as long. Errors have
 * text without the file's name.
 */
int kmt_recording_new(int fd, struct kmt_recording **ret);
void kmt_recording_free(struct kmt_recording *r);
/* As struct kmt_source_ops has it: complete at the end of the file. */
const struct kmt_facts *kmt_recording_facts(const struct kmt_recording *r);
/* Which source it was made with ("bpf"); "" unknown. */
const char *kmt_recording_source(const struct kmt_recording *r);
/*
 * Hand on at most one block of events. events->event gets the events, 'sink'
 * everything else. Returns as the poll() of a source.
 */
int kmt_recording_poll(struct kmt_recording *r, const struct kmt_sink *events,
		       const struct kmt_sink *sink, int timeout_ms);
/*
 * What the recording says about itself, and what could not be read. is_part:
 * only some of its events are looked at, so their counts do not apply.
 */
void kmt_recording_quality(const struct kmt_recording *r, bool is_part, struct kmt_quality *q);

#endif
