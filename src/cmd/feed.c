// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/feed.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "cmd/child.h"
#include "cmd/live.h"
#include "cmd/select.h"

#define SEC		1000000000ull
#define FIRST_WORD_NS	(SEC / 2)
#define NEXT_WORD_NS	(SEC / 5)

struct progress {
	bool is_on, has_told;
	uint64_t start_ns, next_ns, events;
};

static void tell(struct progress *p, int events)
{
	uint64_t now;

	p->events += events;
	if (!p->is_on)
		return;
	now = kmt_live_now();
	if (now < p->next_ns)
		return;
	fprintf(stderr, "\rkmemtrace: %" PRIu64 " events read, %.1f million a second\033[K",
		p->events, (double)p->events / ((double)(now - p->start_ns) / SEC) / 1e6);
	p->next_ns = now + NEXT_WORD_NS;
	p->has_told = true;
}

int kmt_feed_file(const struct kmt_select *s, const struct kmt_sink *sink, struct kmt_run *run)
{
	struct progress p = { .is_on = isatty(STDERR_FILENO), .start_ns = kmt_live_now() };
	int n = 0;

	p.next_ns = p.start_ns + FIRST_WORD_NS;
	do {
		if (kmt_run_over(run)) {
			n = -EINTR;
			break;
		}
		n = s->source->ops->poll(s->source, sink, 100);
		if (n > 0)
			tell(&p, n);
	} while (n >= 0);
	if (p.has_told)
		fputs("\r\033[K", stderr);
	return n == -ENODATA ? 0 : n;
}
