// SPDX-License-Identifier: GPL-2.0-only
#include "analysis/live_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "core/session.h"

void kmt_live_rows_done(struct kmt_live_rows *l)
{
	free(l->v);
	*l = (struct kmt_live_rows){ 0 };
}

static int grow(struct kmt_live_rows *l, size_t need)
{
	size_t n = l->n ? l->n : 256;
	struct kmt_held *v;

	if (need <= l->n)
		return 0;
	while (n < need)
		n *= 2;
	v = reallocarray(l->v, n, sizeof(*v));
	if (!v)
		return kmt_err(-ENOMEM, "out of memory");
	memset(v + l->n, 0, (n - l->n) * sizeof(*v));
	l->v = v;
	l->n = n;
	return 0;
}

int kmt_live_rows_change(struct kmt_live_rows *l, const struct kmt_session *s, size_t i,
			 struct kmt_held *ret_before, unsigned *ret_layer)
{
	const struct kmt_site *site = kmt_session_site(s, i);
	const struct kmt_counts *c = &site->counts;
	unsigned layer = kmt_layer_of(&site->key);
	struct kmt_held *held;
	int err = grow(l, i + 1);

	if (err)
		return err;
	held = &l->v[i];
	*ret_before = *held;
	*ret_layer = layer;
	*held = (struct kmt_held){ .bytes = kmt_counts_live_alloc(c),
				   .requested = kmt_counts_live_req(c),
				   .objects = kmt_counts_live(c) };
	l->bytes[layer] += held->bytes;
	l->bytes[layer] -= ret_before->bytes;
	l->objects[layer] += held->objects;
	l->objects[layer] -= ret_before->objects;
	return 0;
}

unsigned kmt_count_layers(const struct kmt_session *s)
{
	unsigned seen = 0;

	for (size_t i = 0; i < kmt_session_n_sites(s); i++)
		seen |= 1u << kmt_layer_of(&kmt_session_site(s, i)->key);
	return __builtin_popcount(seen);
}
