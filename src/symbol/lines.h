/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KMT_SYMBOL_LINES_H
#define KMT_SYMBOL_LINES_H

#include <stdbool.h>
#include <stdint.h>

struct kmt_buf;
struct kmt_lines;
struct kmt_symbols;

/*
 * Where in the source the kernel's code comes from: a vmlinux with debug
 * information (CONFIG_DEBUG_INFO), or a file with nothing else in it. -EINVAL
 * or the file's error with one line of cause.
 */
int kmt_lines_load(const char *path, struct kmt_lines **ret);
void kmt_lines_free(struct kmt_lines *l);
/* Build id as lower-case hex; NULL: it has none. Lives as long as l. */
const char *kmt_lines_build_id(const struct kmt_lines *l);
/*
 * A kernel does not lie where its file says (KASLR): find out how far away, by
 * functions that both have. NULL, or none: where the file says.
 */
void kmt_lines_place(struct kmt_lines *l, const struct kmt_symbols *symbols);
/*
 * Append the directory, as seen from the top of the source tree, of the file
 * that the code before a return address was compiled from ("net/ipv4"; "." is
 * the top). Code that was inlined from a header is the file's that includes it.
 * false, and nothing appended: unknown.
 */
bool kmt_lines_directory(const struct kmt_lines *l, uint64_t addr, struct kmt_buf *out);

#endif
