// SPDX-License-Identifier: GPL-2.0-only
#include "source/perf_zstd.h"

#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

#include "base/err.h"

#define WINDOW_LOG	27	/* 128 MiB: what 'perf record -z22' makes, and no more */

struct kmt_perf_zstd {
	ZSTD_DStream *stream;
};

int kmt_perf_zstd_new(struct kmt_perf_zstd **ret)
{
	struct kmt_perf_zstd *z = calloc(1, sizeof(*z));

	if (z)
		z->stream = ZSTD_createDStream();
	if (!z || !z->stream) {
		kmt_perf_zstd_free(z);
		return kmt_err(-ENOMEM, "no memory for zstd");
	}
	ZSTD_DCtx_setParameter(z->stream, ZSTD_d_windowLogMax, WINDOW_LOG);
	*ret = z;
	return 0;
}

void kmt_perf_zstd_free(struct kmt_perf_zstd *z)
{
	if (!z)
		return;
	ZSTD_freeDStream(z->stream);
	free(z);
}

int kmt_perf_zstd_run(struct kmt_perf_zstd *z, const unsigned char **in, size_t *in_len,
		      void *out, size_t room, size_t *ret_len)
{
	ZSTD_inBuffer from = { *in, *in_len, 0 };
	ZSTD_outBuffer to = { out, room, 0 };
	size_t res = ZSTD_decompressStream(z->stream, &to, &from);

	if (ZSTD_isError(res))
		return kmt_err(-EBADMSG, "compressed records are damaged (%s)",
			       ZSTD_getErrorName(res));
	*in += from.pos;
	*in_len -= from.pos;
	*ret_len = to.pos;
	return 0;
}
