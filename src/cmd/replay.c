// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/replay.h"

#include "base/err.h"
#include "cmd/cmd.h"
#include "cmd/view.h"
#include "core/facts.h"
#include "core/sat.h"
#include "core/session.h"
#include "core/window.h"

/* What passes on its way into the session: when it was, and whether that is past the mark. */
struct clock {
	struct kmt_replay *r;
	struct kmt_sink to;
	bool has_marked;
};

static int on_event(void *ctx, const struct kmt_event *ev)
{
	struct clock *c = ctx;
	struct kmt_replay *r = c->r;

	if (ev->has_time && !r->has_time) {
		r->has_time = true;
		if (!r->start_ns || ev->ts_ns < r->start_ns)
			r->start_ns = ev->ts_ns;
	}
	if (ev->has_time && ev->ts_ns >= r->start_ns) {
		uint64_t at = ev->ts_ns - r->start_ns;

		if (at >= r->length_ns)
			r->length_ns = at + 1;
		if (r->has_mark && !c->has_marked && at >= r->mark_ns) {
			kmt_session_mark(r->view->session);
			c->has_marked = true;
		}
	}
	return c->to.event ? c->to.event(c->to.ctx, ev) : 0;
}

static int on_lost(void *ctx, const struct kmt_lost *lost)
{
	struct clock *c = ctx;

	return c->to.lost ? c->to.lost(c->to.ctx, lost) : 0;
}

static int on_snapshot(void *ctx, const struct kmt_snapshot *snap)
{
	struct clock *c = ctx;

	return c->to.snapshot ? c->to.snapshot(c->to.ctx, snap) : 0;
}

static int read_into(struct kmt_replay *r, uint64_t at_ns)
{
	struct kmt_view *v = r->view;
	const struct kmt_facts *f = r->ask->select.facts;
	struct clock c = { .r = r, .to = v->sink };
	struct kmt_sink sink = { .event = on_event, .lost = on_lost, .snapshot = on_snapshot,
				 .ctx = &c };
	struct kmt_window w = { .until_ns = at_ns, .next = sink, .start_ns = r->start_ns,
				.has_start = true };

	if (at_ns) {
		sink = kmt_window_sink(&w);
		v->in_part = true;
		v->left_out = &w.left_out;
	} else if (f && f->start_ns) {
		r->start_ns = f->start_ns;
	}
	/* what went wrong is in the view; where there is nothing at all, so is that */
	if (kmt_view_read(v, &sink, r->run) && !v->fault[0])
		return kmt_cmd_fail(KMT_EXIT_IMPOSSIBLE, "%s", kmt_err_text());
	v->left_out = NULL;
	if (r->has_mark && !c.has_marked)	/* nothing came after it */
		kmt_session_mark(v->session);
	return 0;
}

static int open_again(struct kmt_replay *r)
{
	struct kmt_select *s = &r->ask->select;
	struct kmt_source_opts so;
	int status;

	if (s->source) {
		kmt_view_done(r->view);
		s->source->ops->close(s->source);
		s->source = NULL;
		s->facts = NULL;
	}
	status = kmt_view_init(r->view, r->ask, "top", "--by: ");
	if (!status)
		status = kmt_view_session(r->view);
	if (!status)
		status = r->made(r->view);
	if (!status) {
		kmt_view_source_opts(r->view, &so);
		status = kmt_select_open(s, &so);
	}
	return status;
}

int kmt_replay_read(struct kmt_replay *r, uint64_t at_ns)
{
	int status = open_again(r);

	return status ? status : read_into(r, at_ns);
}
