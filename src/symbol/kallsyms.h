/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The names in a kallsyms file, one after another, for who asks whether the kernel
 * has something of that name: needs no address, so also where none are shown.
 */
#ifndef KMT_SYMBOL_KALLSYMS_H
#define KMT_SYMBOL_KALLSYMS_H

#include <stddef.h>
#include <stdio.h>

#define KMT_KALLSYMS	"/proc/kallsyms"

/*
 * The next name that is the kernel's own, not a module's; NULL at the end. It lies in
 * *line, a buffer of getline() with its size *cap, and is valid until the next call.
 */
const char *kmt_kallsyms_next(FILE *f, char **line, size_t *cap);

#endif
