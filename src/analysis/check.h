/* SPDX-License-Identifier: GPL-2.0-only */
/* Is a run within its limits? */
#ifndef KMT_ANALYSIS_CHECK_H
#define KMT_ANALYSIS_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kmt_buf;
struct kmt_report;

enum kmt_limit_id {
#define LIMIT(id, option, place, key, unit, title, help) KMT_LIMIT_##id,
#include "analysis/limits.def"
#undef LIMIT
	KMT_N_LIMITS
};

/* Percents in thousandths: one number type for all. */
struct kmt_limits {
	bool	set[KMT_N_LIMITS];
	int64_t value[KMT_N_LIMITS];
};

/*
 * "1M", "10K/s", "20%", "0", as the limit's unit has it. -EINVAL with the
 * option's name in the text.
 */
int kmt_limit_parse(enum kmt_limit_id id, const char *s, struct kmt_limits *limits);
/* Option names and help, for those who offer them. */
const char *kmt_limit_option(enum kmt_limit_id id);

/*
 * Hold two reports of view "site", of all and of the survivors (min_age_ns),
 * neither filtered nor limited, against the limits that are set. The result has a row for each: what it is,
 * what is allowed, and the verdict: "ok", "broken", or "unknown" where the run
 * does not tell, which is no "ok". *ret_broken: how many are not "ok".
 */
int kmt_check_run(const struct kmt_report *sites, const struct kmt_report *survivors,
		  const struct kmt_limits *limits,
		  struct kmt_report **ret_report, size_t *ret_broken);

/* Row i of that report as a sentence: "growth 12 KiB/s is more than 10 KiB/s (--max-growth)". */
void kmt_check_sentence(const struct kmt_report *r, size_t i, struct kmt_buf *out);

#endif
