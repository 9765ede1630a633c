/* SPDX-License-Identifier: GPL-2.0-only */
/* One line of a text, or a whole one through its source: for the tests of both. */
#ifndef KMT_TESTS_FTRACE_H
#define KMT_TESTS_FTRACE_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "source/ftrace_line.h"
#include "source/source.h"
#include "symbol/gfp.h"
#include "symbol/symbols.h"

extern const struct kmt_source_ops kmt_source_ftrace_text;

static inline enum kmt_ftrace_kind parse(struct kmt_ftrace_line *l, const char *text)
{
	return kmt_ftrace_line_parse(l, (struct kmt_word){ text, strlen(text) });
}

static inline void assert_str(const char *got, const char *want)
{
	if (!got || !want)
		assert_ptr_equal(got, want);
	else
		assert_string_equal(got, want);
}

static inline void assert_gfp(const struct kmt_ftrace_line *l, const char *want)
{
	struct kmt_gfp_names *names = NULL;
	struct kmt_buf b = { 0 };

	assert_int_equal(kmt_ftrace_gfp_names(l->gfp.is_old, &names), 0);
	kmt_gfp_print(l->gfp.is_named ? names : NULL, l->ev.gfp, &b);
	assert_string_equal(kmt_buf_str(&b), want);
	kmt_gfp_names_free(names);
	kmt_buf_done(&b);
}

/* ---- the source ---- */

struct capture {
	struct kmt_buf text;
	const struct kmt_filter *filter;
	bool stacks, user_pages, sites;
	uint32_t tracers;
	uint64_t events, lost[KMT_LOSS_MAX];
	struct kmt_quality q;
	const struct kmt_facts *facts;
};

static inline int on_event(void *ctx, const struct kmt_event *ev)
{
	struct capture *c = ctx;

	c->events++;
	kmt_buf_printf(&c->text, "%c%llx", ev->op == KMT_OP_ALLOC ? '+' : '-',
		       (unsigned long long)ev->addr);
	if (c->sites)
		kmt_buf_printf(&c->text, "@%s", ev->call_site_name ? ev->call_site_name : "?");
	for (uint32_t i = 0; i < ev->n_ips; i++) {
		kmt_buf_puts(&c->text, "<");
		kmt_symbols_print(c->facts->symbols, ev->ips[i], true, &c->text);
	}
	kmt_buf_puts(&c->text, " ");
	return 0;
}

static inline int on_lost(void *ctx, const struct kmt_lost *lost)
{
	struct capture *c = ctx;

	c->lost[lost->reason] += lost->events;
	kmt_buf_printf(&c->text, "!%llu ", (unsigned long long)lost->events);
	return 0;
}

static inline int text_fd(const char *text, size_t len)
{
	int fd = memfd_create("ftrace", 0);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), len);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static inline int run_path(const char *path, struct capture *c)
{
	const struct kmt_source_opts opts = {
		.path = path, .filter = c->filter, .want_stacks = c->stacks,
		.tracers = c->tracers, .user_pages = c->user_pages,
	};
	const struct kmt_sink sink = { .event = on_event, .lost = on_lost, .ctx = c };
	struct kmt_source *src;
	int n = kmt_source_ftrace_text.open(&opts, &src), sum = 0;

	if (n)
		return n;
	c->facts = kmt_source_ftrace_text.facts(src);
	while ((n = kmt_source_ftrace_text.poll(src, &sink, 1000)) >= 0)
		sum += n;
	assert_int_equal(sum, c->events);
	kmt_source_ftrace_text.quality(src, &c->q);
	assert_string_equal(c->q.source, "ftrace");
	for (int i = 0; i < KMT_LOSS_MAX; i++)
		if (i != KMT_LOSS_STACKS)
			assert_int_equal(c->q.lost[i], c->lost[i]);
	kmt_source_ftrace_text.close(src);
	return n;
}

static inline int run_text_len(const char *text, size_t len, struct capture *c)
{
	int fd = text_fd(text, len), err;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	err = run_path(path, c);
	close(fd);
	return err;
}

static inline int run_text(const char *text, struct capture *c)
{
	return run_text_len(text, strlen(text), c);
}

#define ALLOC(who, t, site, ptr) who " " t ": kmalloc: call_site=" site " ptr=" ptr \
	" bytes_req=8 bytes_alloc=8 gfp_flags=GFP_KERNEL node=-1\n"
#define FREE(who, t, site, ptr) who " " t ": kfree: call_site=" site " ptr=" ptr "\n"
#define STACK(who, t) who " " t ": <stack trace>\n"

#endif
