// SPDX-License-Identifier: GPL-2.0-only
#include "base/fmt.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/err.h"

#define NS_US	1000ULL
#define NS_MS	1000000ULL
#define NS_S	1000000000ULL

/* INT64_MIN has no positive twin in int64_t. */
static uint64_t magnitude(int64_t v)
{
	return v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
}

char *kmt_fmt_bytes(char *out, int64_t bytes, bool exact)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	const char *sign = bytes < 0 ? "-" : "";
	uint64_t u = magnitude(bytes), whole, rest, tenths;
	unsigned unit = 0;

	if (exact || u < 1024) {
		snprintf(out, KMT_FMT_LEN, "%s%" PRIu64 "%s", sign, u, exact ? "" : " B");
		return out;
	}
	while (unit < 6 && u >> (10 * (unit + 1)))
		unit++;
	whole = u >> (10 * unit);
	rest = u & ((1ULL << (10 * unit)) - 1);
	tenths = (rest * 10 + (1ULL << (10 * unit - 1))) >> (10 * unit);
	if (tenths == 10) {
		whole++;
		tenths = 0;
	}
	if (whole == 1024) {	/* 1023.96 KiB is written 1.0 MiB */
		whole = 1;
		unit++;
	}
	if (whole >= 10 && !rest)
		snprintf(out, KMT_FMT_LEN, "%s%" PRIu64 " %s", sign, whole, units[unit]);
	else
		snprintf(out, KMT_FMT_LEN, "%s%" PRIu64 ".%u %s", sign, whole,
			 (unsigned)tenths % 10, units[unit]);
	return out;
}

char *kmt_fmt_count(char *out, int64_t n)
{
	char digits[KMT_FMT_LEN], *d = digits + sizeof(digits);
	uint64_t u = magnitude(n);

	/* millions of them in a long report, of which snprintf() would be most of the time */
	*--d = '\0';
	do
		*--d = '0' + u % 10;
	while (u /= 10);
	if (n < 0)
		*--d = '-';
	memcpy(out, d, digits + sizeof(digits) - d);
	return out;
}

/* By integers, since printf would write the locale's decimal comma. */
char *kmt_fmt_percent(char *out, double percent)
{
	long long tenths;

	if (!isfinite(percent) || fabs(percent) > 1e15) {
		snprintf(out, KMT_FMT_LEN, "-");
		return out;
	}
	tenths = (long long)(percent * 10 + (percent < 0 ? -0.5 : 0.5));
	snprintf(out, KMT_FMT_LEN, "%s%lld.%lld", tenths < 0 ? "-" : "", llabs(tenths) / 10,
		 llabs(tenths) % 10);
	return out;
}

/*
 * Three digits of ns in 'unit': 1.23, 12.3, 123. False if rounding reaches
 * 'limit' units, so that the next unit has to take it.
 */
static bool three_digits(char *out, uint64_t ns, uint64_t unit, uint64_t limit, const char *name)
{
	uint64_t hundredths = (ns + unit / 200) / (unit / 100);
	uint64_t tenths = (ns + unit / 20) / (unit / 10);
	uint64_t whole = (ns + unit / 2) / unit;

	if (hundredths < 1000)
		snprintf(out, KMT_FMT_LEN, "%" PRIu64 ".%02" PRIu64 "%s", hundredths / 100,
			 hundredths % 100, name);
	else if (tenths < 1000 && tenths < limit * 10)
		snprintf(out, KMT_FMT_LEN, "%" PRIu64 ".%" PRIu64 "%s", tenths / 10, tenths % 10,
			 name);
	else if (tenths >= 1000 && whole < limit)
		snprintf(out, KMT_FMT_LEN, "%" PRIu64 "%s", whole, name);
	else
		return false;
	return true;
}

char *kmt_fmt_duration(char *out, uint64_t ns)
{
	uint64_t secs = ns / NS_S + (ns % NS_S >= NS_S / 2);
	uint64_t mins = (secs + 30) / 60, hours = (secs + 1800) / 3600;

	if (ns < NS_US)
		snprintf(out, KMT_FMT_LEN, "%" PRIu64 "ns", ns);
	else if (ns < NS_MS && three_digits(out, ns, NS_US, 1000, "us"))
		;
	else if (ns < NS_S && three_digits(out, ns, NS_MS, 1000, "ms"))
		;
	else if (ns < 60 * NS_S && three_digits(out, ns, NS_S, 60, "s"))
		;
	else if (secs < 3600)
		snprintf(out, KMT_FMT_LEN, "%" PRIu64 "m%02" PRIu64 "s", secs / 60, secs % 60);
	else if (mins < 24 * 60)
		snprintf(out, KMT_FMT_LEN, "%" PRIu64 "h%02" PRIu64 "m", mins / 60, mins % 60);
	else
		snprintf(out, KMT_FMT_LEN, "%" PRIu64 "d%02" PRIu64 "h", hours / 24, hours % 24);
	return out;
}

char *kmt_fmt_addr(char *out, uint64_t addr)
{
	snprintf(out, KMT_FMT_LEN, "0x%" PRIx64, addr);
	return out;
}

struct unit {
	const char *suffix;
	uint64_t factor;
};

/* Largest first: limits are printed in the largest unit that divides them. */
static const struct unit size_units[] = {
	{ "T", 1ULL << 40 }, { "G", 1ULL << 30 }, { "M", 1ULL << 20 }, { "K", 1ULL << 10 },
	{ "", 1 }, { NULL, 0 },
};

static const struct unit time_units[] = {
	{ "d", 86400 * NS_S }, { "h", 3600 * NS_S }, { "m", 60 * NS_S }, { "s", NS_S },
	{ "ms", NS_MS }, { "us", NS_US }, { "ns", 1 }, { NULL, 0 },
};

static const struct unit plain_units[] = { { "", 1 }, { NULL, 0 } };

/* A value in the form in which the user would type it. */
static void put_limit(struct kmt_buf *b, uint64_t v, const struct unit *units)
{
	while (units->factor > 1 && (v < units->factor || v % units->factor))
		units++;
	kmt_buf_printf(b, "%" PRIu64 "%s", v / units->factor, v ? units->suffix : "");
}

struct range {
	const char *what;
	const char *kind;	/* said when there are no limits */
	const struct unit *units;
	uint64_t min, max;	/* max UINT64_MAX: none */
};

static int bad_value(int err, const struct range *r, const char *s)
{
	_cleanup_buf_ struct kmt_buf want = { 0 }, got = { 0 };

	if (r->max != UINT64_MAX) {
		put_limit(&want, r->min, r->units);
		kmt_buf_puts(&want, " to ");
		put_limit(&want, r->max, r->units);
	} else if (r->min) {
		kmt_buf_puts(&want, "at least ");
		put_limit(&want, r->min, r->units);
	} else if (err == -ERANGE) {
		kmt_buf_puts(&want, "at most ");
		put_limit(&want, UINT64_MAX, plain_units);
	} else {
		kmt_buf_puts(&want, r->kind);
	}
	kmt_buf_escape(&got, s, 64);
	return kmt_err(err, "%s must be %s, not '%s'", r->what, kmt_buf_str(&want),
		       kmt_buf_str(&got));
}

struct number {
	uint64_t whole;
	uint64_t frac;		/* in units of 1/frac_one */
	uint64_t frac_one;
	const char *rest;	/* the suffix */
};

/* Digits, perhaps a point and digits. No sign, no blanks, no locale. */
static int scan_number(const char *s, struct number *ret)
{
	struct number n = { .frac_one = 1 };
	int err = 0;

	if (*s < '0' || *s > '9')
		return -EINVAL;
	for (; *s >= '0' && *s <= '9'; s++)
		if (__builtin_mul_overflow(n.whole, 10, &n.whole) ||
		    __builtin_add_overflow(n.whole, (uint64_t)(*s - '0'), &n.whole))
			err = -ERANGE;
	if (*s == '.') {
		if (*++s < '0' || *s > '9')
			return -EINVAL;
		for (; *s >= '0' && *s <= '9'; s++) {
			if (n.frac_one == NS_S)
				continue;	/* nine decimals are enough */
			n.frac = n.frac * 10 + (*s - '0');
			n.frac_one *= 10;
		}
	}
	n.rest = s;
	*ret = n;
	return err;
}

static int scale(const struct number *n, uint64_t factor, uint64_t *ret)
{
	uint64_t whole, part;

	/* frac * factor / frac_one without leaving 64 bits: both parts stay below 2^63 */
	part = n->frac * (factor / n->frac_one) + n->frac * (factor % n->frac_one) / n->frac_one;
	if (__builtin_mul_overflow(n->whole, factor, &whole) ||
	    __builtin_add_overflow(whole, part, &whole))
		return -ERANGE;
	*ret = whole;
	return 0;
}

static int parse(const char *s, const struct range *r, uint64_t (*factor_of)(const char *suffix),
		 uint64_t *ret)
{
	struct number n = { 0 };
	uint64_t factor, v = 0;
	int err = scan_number(s, &n);

	if (err == -EINVAL)
		return bad_value(err, r, s);
	factor = factor_of(n.rest);
	if (!factor || (factor == 1 && n.frac_one > 1))
		return bad_value(-EINVAL, r, s);
	if (!err)
		err = scale(&n, factor, &v);
	if (!err && (v < r->min || v > r->max))
		err = -ERANGE;
	if (err)
		return bad_value(err, r, s);
	*ret = v;
	return 0;
}

static uint64_t no_suffix(const char *suffix)
{
	return *suffix ? 0 : 1;
}

static uint64_t size_suffix(const char *suffix)
{
	if (!*suffix || !strcasecmp(suffix, "b"))
		return 1;
	for (const struct unit *u = size_units; u->factor > 1; u++)
		if (!strncasecmp(suffix, u->suffix, 1) &&
		    (!suffix[1] || !strcasecmp(suffix + 1, "b") || !strcasecmp(suffix + 1, "ib")))
			return u->factor;
	return 0;
}

static uint64_t time_suffix(const char *suffix)
{
	if (!*suffix)
		return NS_S;
	for (const struct unit *u = time_units; u->suffix; u++)
		if (!strcmp(suffix, u->suffix))
			return u->factor;
	return 0;
}

int kmt_parse_u64(const char *s, const char *what, uint64_t min, uint64_t max, uint64_t *ret)
{
	struct range r = { what, "a whole number", plain_units, min, max ? max : UINT64_MAX };

	return parse(s, &r, no_suffix, ret);
}

int kmt_parse_size(const char *s, const char *what, uint64_t min, uint64_t max, uint64_t *ret)
{
	struct range r = { what, "a size such as 4096, 64K or 2M", size_units, min,
			   max ? max : UINT64_MAX };

	return parse(s, &r, size_suffix, ret);
}

int kmt_parse_duration(const char *s, const char *what, uint64_t min_ns, uint64_t max_ns,
		       uint64_t *ret_ns)
{
	struct range r = { what, "a time such as 10s, 1.5s or 250ms", time_units, min_ns,
			   max_ns ? max_ns : UINT64_MAX };

	return parse(s, &r, time_suffix, ret_ns);
}

int kmt_parse_decimal(const char *s, const char *what, double *ret)
{
	struct range r = { what, "a number such as 12.5", plain_units, 0, UINT64_MAX };
	struct number n = { 0 };
	int err = scan_number(s, &n);

	if (!err && *n.rest)
		err = -EINVAL;
	if (err)
		return bad_value(err, &r, s);
	*ret = (double)n.whole + (double)n.frac / (double)n.frac_one;
	return 0;
}

int kmt_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}
