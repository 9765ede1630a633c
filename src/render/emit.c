// SPDX-License-Identifier: GPL-2.0-only
#include "render/emit.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fmt.h"

#define PREFIX "quality_"

const char *const kmt_emit_loss_keys[KMT_EMIT_LOSSES] = {
	PREFIX "lost_total",
	PREFIX "recursion_misses",
	PREFIX "frees_before_start",
	PREFIX "untraced_frees",
	PREFIX "given_up_before_start",
};

int kmt_emit(struct kmt_buf *b, FILE *out)
{
	int err = 0;

	if (b->error)
		return kmt_err(b->error, "out of memory");
	errno = 0;
	if (fwrite(kmt_buf_str(b), 1, b->len, out) != b->len || fflush(out))
		err = errno ? -errno : -EIO;
	/* a reader that went away is no error that stays */
	if (err == -EPIPE)
		clearerr(out);
	kmt_buf_clear(b);
	return err ? kmt_err_errno(err, "cannot write the report") : 0;
}

size_t kmt_emit_n_columns(const struct kmt_report *r)
{
	return r->shown ? r->n_shown : r->n_columns;
}

size_t kmt_emit_column(const struct kmt_report *r, size_t i)
{
	return r->shown ? r->shown[i] : i;
}

bool kmt_emit_has_stack(const struct kmt_report *r)
{
	for (size_t i = 0; i < kmt_emit_n_columns(r); i++)
		if (!strcmp(r->columns[kmt_emit_column(r, i)].key, "stack"))
			return false;
	return true;
}

bool kmt_emit_hundredths(double d, int64_t *ret)
{
	if (!(d > -1e15 && d < 1e15))	/* NaN too */
		return false;
	*ret = (int64_t)(d * 100 + (d < 0 ? -0.5 : 0.5));
	return true;
}

static void put_percent(struct kmt_buf *b, double d)
{
	int64_t v;
	uint64_t u;

	if (!kmt_emit_hundredths(d, &v))
		return;
	u = v < 0 ? -v : v;
	kmt_buf_printf(b, "%s%" PRIu64 ".%02" PRIu64, v < 0 ? "-" : "", u / 100, u % 100);
}

void kmt_emit_number(struct kmt_buf *b, enum kmt_unit unit, const struct kmt_cell *c)
{
	char out[KMT_FMT_LEN];

	if (unit == KMT_UNIT_PERCENT || unit == KMT_UNIT_BAR)
		put_percent(b, c->d);
	else if (unit == KMT_UNIT_ADDR)
		kmt_buf_puts(b, kmt_fmt_addr(out, (uint64_t)c->i));
	else
		kmt_buf_puts(b, kmt_fmt_count(out, c->i));
}

static bool is_number(const struct kmt_field *f)
{
	return !kmt_unit_is_text(f->unit) && f->unit != KMT_UNIT_PERCENT &&
	       f->unit != KMT_UNIT_BAR && !f->cell.is_null;
}

static bool is_loss_reason(const struct kmt_field *f)
{
	return is_number(f) && !strncmp(f->key, "lost_", 5);
}

int64_t kmt_emit_loss(const struct kmt_report *r, size_t i)
{
	const char *key = kmt_emit_loss_keys[i] + strlen(PREFIX);
	const struct kmt_field *f = kmt_fields_find(&r->quality, key);
	int64_t sum = 0;

	if (f)
		return is_number(f) ? f->cell.i : 0;
	if (i)
		return 0;
	/* No total: losses by reason must not be hidden by that. */
	for (size_t k = 0; k < r->quality.n; k++)
		if (is_loss_reason(&r->quality.v[k]))
			sum += r->quality.v[k].cell.i;
	return sum;
}

bool kmt_emit_is_alarm(const struct kmt_field *f)
{
	return f->alarm || ((is_loss_reason(f) || !strcmp(f->key, "recursion_misses")) &&
			    f->cell.i);
}
