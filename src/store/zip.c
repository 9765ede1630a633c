// SPDX-License-Identifier: GPL-2.0-only
#include "store/zip.h"

#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

#include "base/err.h"

struct kmt_zip {
	ZSTD_CCtx *in;		/* made when first needed */
	ZSTD_DCtx *out;
};

int kmt_zip_new(struct kmt_zip **ret)
{
	struct kmt_zip *z = calloc(1, sizeof(*z));

	if (!z)
		return kmt_err(-ENOMEM, "out of memory");
	*ret = z;
	return 0;
}

void kmt_zip_free(struct kmt_zip *z)
{
	if (!z)
		return;
	ZSTD_freeCCtx(z->in);
	ZSTD_freeDCtx(z->out);
	free(z);
}

size_t kmt_zip_pack(struct kmt_zip *z, int level, const void *src, size_t len,
		    void *dst, size_t cap)
{
	size_t n;

	if (!z->in)
		z->in = ZSTD_createCCtx();
	if (!z->in)
		return 0;
	n = ZSTD_compressCCtx(z->in, dst, cap, src, len, level);
	return ZSTD_isError(n) ? 0 : n;
}

int kmt_zip_unpack(struct kmt_zip *z, const void *src, size_t len, void *dst, size_t raw_len)
{
	if (!z->out)
		z->out = ZSTD_createDCtx();
	if (!z->out)
		return -ENOMEM;
	return ZSTD_decompressDCtx(z->out, dst, raw_len, src, len) == raw_len ? 0 : -EBADMSG;
}
