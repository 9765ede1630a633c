/* SPDX-License-Identifier: GPL-2.0-only */
/* What rows are counted by, of which there is one at a time: which views it serves. */
#ifndef KMT_CMD_KEY_H
#define KMT_CMD_KEY_H

#include <stdbool.h>

#include "source/source.h"

struct kmt_analysis;

/* What a view wants its rows counted by; 'stacks': one row for each stack was asked for. */
enum kmt_key kmt_key_of(const struct kmt_analysis *a, bool stacks);
/* Can it be shown of rows that were counted so? */
bool kmt_key_serves(enum kmt_key have, const struct kmt_analysis *a, bool stacks);
/* "site", "stack", "task", "cgroup" */
const char *kmt_key_name(enum kmt_key key);
/* The option with which it is begun: "--by task"; "" for call sites, which need none. */
const char *kmt_key_option(enum kmt_key key);
/* The view that shows such rows, where no other can be meant; NULL. */
const char *kmt_key_view(enum kmt_key key);

#endif
