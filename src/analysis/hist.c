// SPDX-License-Identifier: GPL-2.0-only
#include "analysis/hist.h"

#include "base/buf.h"
#include "core/sat.h"

#define UNIT_NS 1024	/* lifetimes are counted in these */

uint64_t kmt_hist_from(unsigned bucket)
{
	return bucket ? (uint64_t)UNIT_NS << bucket : 0;
}

bool kmt_hist_to(unsigned bucket, uint64_t *ret_ns)
{
	if (bucket + 1 >= KMT_LIFETIMES)
		return false;
	*ret_ns = (uint64_t)UNIT_NS << (bucket + 1);
	return true;
}

void kmt_hist_add(uint64_t to[KMT_LIFETIMES], const uint64_t v[KMT_LIFETIMES])
{
	for (unsigned i = 0; i < KMT_LIFETIMES; i++)
		to[i] = kmt_sat_add(to[i], v[i]);
}

uint64_t kmt_hist_total(const uint64_t v[KMT_LIFETIMES])
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < KMT_LIFETIMES; i++)
		sum = kmt_sat_add(sum, v[i]);
	return sum;
}

bool kmt_hist_percentile(const uint64_t v[KMT_LIFETIMES], unsigned percent, uint64_t *ret_ns)
{
	uint64_t total = kmt_hist_total(v), sum = 0;
	unsigned i = 0;

	if (!total)
		return false;
	for (; i + 1 < KMT_LIFETIMES; i++) {
		sum = kmt_sat_add(sum, v[i]);
		if ((unsigned __int128)sum * 100 >= (unsigned __int128)total * percent)
			break;
	}
	if (!kmt_hist_to(i, ret_ns))
		*ret_ns = kmt_hist_from(i);
	return true;
}

void kmt_hist_strip(const uint64_t v[KMT_LIFETIMES], struct kmt_buf *out)
{
	uint64_t total = kmt_hist_total(v);

	for (unsigned i = 0; i < KMT_LIFETIMES; i++) {
		unsigned tenths = v[i] ? (unsigned __int128)v[i] * 10 / total : 0;

		kmt_buf_printf(out, "%c", v[i] ? '0' + (tenths < 9 ? tenths : 9) : '.');
	}
}

void kmt_hist_bar(uint64_t v, uint64_t max, unsigned width, struct kmt_buf *out)
{
	unsigned n = max ? ((unsigned __int128)v * width + max / 2) / max : 0;

	if (v && !n)
		n = 1;
	while (n--)
		kmt_buf_puts(out, "#");
}
