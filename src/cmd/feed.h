/* SPDX-License-Identifier: GPL-2.0-only */
/* A whole recording into a sink, with a word about how far it is. */
#ifndef KMT_CMD_FEED_H
#define KMT_CMD_FEED_H

struct kmt_run;
struct kmt_select;
struct kmt_sink;

/*
 * Read the opened source of --from to its end. On a terminal a line on standard
 * error says how far it is, once this takes more than a moment. 0, -EINTR when a
 * signal asked us to stop, or the source's or the sink's error with its text.
 */
int kmt_feed_file(const struct kmt_select *s, const struct kmt_sink *sink, struct kmt_run *run);

#endif
