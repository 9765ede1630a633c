/* SPDX-License-Identifier: GPL-2.0-only */
/* Inside store/ only: zstd. */
#ifndef KMT_STORE_ZIP_H
#define KMT_STORE_ZIP_H

#include <stddef.h>

struct kmt_zip;

int kmt_zip_new(struct kmt_zip **ret);
void kmt_zip_free(struct kmt_zip *z);
/* Bytes written to dst; 0 when that would be more than cap. */
size_t kmt_zip_pack(struct kmt_zip *z, int level, const void *src, size_t len,
		    void *dst, size_t cap);
/* One frame that gives exactly raw_len bytes; else -EBADMSG, without text. */
int kmt_zip_unpack(struct kmt_zip *z, const void *src, size_t len, void *dst, size_t raw_len);

#endif
