/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KMT_BASE_FMT_H
#define KMT_BASE_FMT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The only formatting and parsing of numbers. Internals: bytes, nanoseconds. */

#define KMT_FMT_LEN 32

/* All return 'out' (at least KMT_FMT_LEN bytes). */
/* "1.5 KiB", "-3.0 MiB", "512 B"; exact: "1536" */
char *kmt_fmt_bytes(char *out, int64_t bytes, bool exact);
char *kmt_fmt_count(char *out, int64_t n);			/* "1234567" */
char *kmt_fmt_percent(char *out, double percent);		/* "12.3" */
char *kmt_fmt_duration(char *out, uint64_t ns);			/* "1.23ms", "10.0s", "2h03m" */
char *kmt_fmt_addr(char *out, uint64_t addr);			/* "0xffff88007c088780" */

/*
 * max 0 is no limit. Parse with the whole string consumed; -EINVAL (bad form), -ERANGE (too big).
 * 'what' names the option in the error text.
 */
int kmt_parse_u64(const char *s, const char *what, uint64_t min, uint64_t max, uint64_t *ret);
/* "4096", "64K", "1M", "2GiB": binary multiples; B, iB optional; case-insensitive */
int kmt_parse_size(const char *s, const char *what, uint64_t min, uint64_t max, uint64_t *ret);
/* "10" (seconds), "1.5s", "250ms", "10us", "5m", "2h", "1d": to nanoseconds */
int kmt_parse_duration(const char *s, const char *what, uint64_t min_ns, uint64_t max_ns,
		       uint64_t *ret_ns);
/* "12", "12.5": a point in every locale, up to nine decimals */
int kmt_parse_decimal(const char *s, const char *what, double *ret);
/* 0 to 15, -1: it is no digit of a hexadecimal number. */
int kmt_hex_digit(char c);

#endif
