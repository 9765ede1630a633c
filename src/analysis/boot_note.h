/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inside analysis/ only: a recording that begins with the kernel's boot. It has
 * a list of caches without an object as its start, which no running kernel has.
 */
#ifndef KMT_ANALYSIS_BOOT_NOTE_H
#define KMT_ANALYSIS_BOOT_NOTE_H

#include <stdbool.h>

struct kmt_analysis_in;
struct kmt_books;
struct kmt_report;

bool kmt_is_from_boot(const struct kmt_analysis_in *in);
/* How much of all the kernel has the events explain. */
int kmt_note_boot(const struct kmt_analysis_in *in, const struct kmt_books *books,
		  struct kmt_report *r);

#endif
