// SPDX-License-Identifier: GPL-2.0-only
/* Reads the live objects where they lie in a hash map of the kernel's. */
#include "source/bpf_priv.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"

#define KMT_BATCH 4096

/* The keys, then the values, of one batch. */
struct batch {
	uint64_t key[KMT_BATCH];
	struct kmt_hashed_object o[KMT_BATCH];
};

/* An object stays in its bucket, so none is met twice or passed over. */
int kmt_bpf_each_hashed(const struct kmt_bpf *b,
			int (*cb)(void *ctx, uint64_t key, const struct kmt_hashed_object *o),
			void *ctx)
{
	_cleanup_free_ struct batch *v = malloc(sizeof(*v));
	uint32_t at = 0, n;
	bool first = true;
	int err = 0, last;

	if (!v)
		return kmt_err_errno(-ENOMEM, "reading live objects");
	do {
		n = KMT_BATCH;
		last = bpf_map_lookup_batch(b->hashed_fd,
					    first ? NULL : &at, &at, v->key, v->o, &n, NULL);
		first = false;
		if (last && last != -ENOENT)	/* ENOENT: that was the end */
			return kmt_err_errno(last, "cannot read the live objects");
		for (uint32_t i = 0; !err && i < n; i++)
			err = cb(ctx, v->key[i], &v->o[i]);
	} while (!last && !err);
	return err;
}
