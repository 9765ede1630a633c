// SPDX-License-Identifier: GPL-2.0-only
#include "analysis/losses.h"

#include "analysis/summary.h"
#include "core/quality.h"
#include "report/report.h"

static int add(struct kmt_fields *f, const char *key, const char *title, uint64_t v,
	       enum kmt_quality_how how)
{
	int err = kmt_fields_int(f, key, title, KMT_UNIT_COUNT, kmt_cell_value(v));

	if (!err) {
		f->v[f->n - 1].quiet = how == KMT_COUNT_QUIET;
		f->v[f->n - 1].alarm = how == KMT_COUNT_ALARM && v;
	}
	return err;
}

int kmt_losses_fill(const struct kmt_quality *q, struct kmt_fields *f)
{
	int err = add(f, "lost_total", "lost, all reasons", kmt_quality_lost(q), KMT_COUNT_ALARM);

	for (int i = 0; !err && i < KMT_LOSS_MAX; i++)
		err = add(f, kmt_loss_key(i), kmt_loss_text(i), q->lost[i], KMT_COUNT_ALARM);
	err = err ? err : add(f, "lost_unknown", "losses of unknown size", q->lost_unknown,
			      KMT_COUNT_ALARM);
	for (int i = 0; !err && i < KMT_COUNT_MAX; i++)
		err = add(f, kmt_quality_key(i), kmt_quality_text(i), kmt_quality_get(q, i),
			  kmt_quality_how(i));
	return err;
}
