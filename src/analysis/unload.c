// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a module leaves behind. Survivors are those of its objects that were
 * there when it was unloaded and still are: nobody is left to free them. What
 * awaits a grace period of RCU counts as freed and is none.
 */
#include "analysis/unload.h"

#include <errno.h>
#include <inttypes.h>

#include "analysis/analysis.h"
#include "analysis/columns.h"
#include "analysis/rows.h"
#include "analysis/summary.h"
#include "base/fmt.h"
#include "core/module.h"
#include "core/sat.h"
#include "core/session.h"

extern const struct kmt_analysis kmt_analysis_unload;

/* Text: who, how much, how old; the stack is below each row. */
static const struct kmt_column columns[] = {
	{ "surviving_bytes", "SURVIVING", KMT_UNIT_BYTES, KMT_SHOWN, false },
	{ "surviving_objects", "SURVIVORS", KMT_UNIT_COUNT, KMT_SHOWN, false },
	{ "age_min_ns", "AGE MIN", KMT_UNIT_NS, KMT_HIDDEN, false },
	{ "age_p50_ns", "AGE P50", KMT_UNIT_NS, KMT_HIDDEN, false },
	{ "age_max_ns", "AGE MAX", KMT_UNIT_NS, KMT_SHOWN, false },
	{ "live_bytes_allocated", "LIVE", KMT_UNIT_BYTES, KMT_HIDDEN, false },
	{ "live_objects", "OBJS", KMT_UNIT_COUNT, KMT_HIDDEN, false },
	KMT_COLUMNS_RCU(KMT_IF_ANY),
	{ "allocs", "ALLOCS", KMT_UNIT_COUNT, KMT_SHOWN, false },
	{ "frees", "FREES", KMT_UNIT_COUNT, KMT_HIDDEN, false },
	KMT_COLUMN_UNTRACED(KMT_IF_ANY),
	{ "waste_bytes", "WASTE", KMT_UNIT_BYTES, KMT_HIDDEN, false },
	KMT_COLUMNS_SITE,
	{ "cache", "CACHE", KMT_UNIT_TEXT, KMT_SHOWN, true },
	KMT_COLUMNS_CACHE(KMT_HIDDEN, KMT_HIDDEN),
	KMT_COLUMNS_MORE,
};

struct survivors {
	uint64_t objects, bytes;
	uint64_t unloaded_ns;
};

static int count(void *ctx, const struct kmt_object *o)
{
	struct survivors *s = ctx;

	if (!o->awaiting && o->birth_ns && o->birth_ns <= s->unloaded_ns) {
		s->objects++;
		s->bytes = kmt_sat_add(s->bytes, o->bytes_alloc);
	}
	return 0;
}

static void find_survivors(const struct kmt_analysis_in *in, struct survivors *ret)
{
	*ret = (struct survivors){ .unloaded_ns = kmt_module_unloaded(in->module) };
	if (ret->unloaded_ns)
		kmt_session_each_object(in->session, count, ret);
}

/* A moment of the run, counted from its start; unknown: 0 and false. */
static int add_moment(struct kmt_fields *f, const char *key, const char *title, uint64_t since,
		      uint64_t at)
{
	int err = kmt_fields_int(f, key, title, KMT_UNIT_NS, kmt_cell_value(kmt_sat_sub(at, since)));

	if (!err)
		f->v[f->n - 1].cell.is_null = !at;
	return err;
}

static int add_number(struct kmt_fields *f, const char *key, const char *title, enum kmt_unit unit,
		      bool known, uint64_t v)
{
	int err = kmt_fields_int(f, key, title, unit, kmt_cell_value(v));

	if (!err)
		f->v[f->n - 1].cell.is_null = !known;
	return err;
}

static int add_summary(const struct kmt_analysis_in *in, const struct survivors *s,
		       struct kmt_fields *f)
{
	const struct kmt_module_life *m = in->module;
	const struct kmt_module_load *last = m->n ? &m->load[m->n - 1] : NULL;
	bool known = s->unloaded_ns && kmt_session_has_objects(in->session);
	uint64_t now = kmt_session_now(in->session);

	if (kmt_fields_text(f, "module", "module", m->name) ||
	    add_number(f, "module_loads", "loaded, times", KMT_UNIT_COUNT, true, m->loads) ||
	    add_moment(f, "module_loaded_ns", "loaded after", m->start_ns,
		       last ? last->loaded_ns : 0) ||
	    add_moment(f, "module_unloaded_ns", "unloaded after", m->start_ns,
		       last ? last->unloaded_ns : 0) ||
	    add_moment(f, "module_watched_ns", "watched since then", s->unloaded_ns,
		       s->unloaded_ns ? now : 0) ||
	    add_number(f, "surviving_objects", "survivors", KMT_UNIT_COUNT, known, s->objects))
		return -ENOMEM;
	return add_number(f, "surviving_bytes", "surviving, given", KMT_UNIT_BYTES, known, s->bytes);
}

static int note_life(const struct kmt_module_life *m, struct kmt_report *r)
{
	const struct kmt_module_load *last = m->n ? &m->load[m->n - 1] : NULL;
	char came[KMT_FMT_LEN] = "", went[KMT_FMT_LEN] = "", times[64] = "";

	if (!last)
		return kmt_report_note(r, "module '%s' was never loaded", m->name);
	kmt_fmt_duration(came, kmt_sat_sub(last->loaded_ns, m->start_ns));
	kmt_fmt_duration(went, kmt_sat_sub(last->unloaded_ns, m->start_ns));
	if (m->loads > 1)
		snprintf(times, sizeof(times), " %" PRIu64 " times, the last time", m->loads);
	return kmt_report_note(r, "module '%s' was loaded%s %s%s%s%s", m->name, times,
			       last->loaded_ns ? came : "before the start",
			       last->loaded_ns ? " after the start" : "",
			       last->unloaded_ns ? " and unloaded after " :
			       " and is still there: what is live now is in use",
			       last->unloaded_ns ? went : "");
}

/* Is there anything that a cache had when it was destroyed? */
static bool has_closed(const struct kmt_session *s)
{
	for (size_t i = 0; i < kmt_session_n_sites(s); i++)
		if (kmt_session_site(s, i)->closed)
			return true;
	return false;
}

static int note_survivors(const struct kmt_analysis_in *in, const struct survivors *s,
			  struct kmt_report *r)
{
	char watched[KMT_FMT_LEN], bytes[KMT_FMT_LEN];

	if (!s->unloaded_ns || !kmt_session_has_objects(in->session))
		return 0;
	if (!s->objects)
		return kmt_report_note(r, "nothing that its code allocated survives its unload%s",
				       has_closed(in->session) ? ", but for what was in caches "
				       "that were destroyed" : "");
	kmt_fmt_duration(watched, kmt_sat_sub(kmt_session_now(in->session), s->unloaded_ns));
	kmt_fmt_bytes(bytes, kmt_cell_value(s->bytes), false);
	return kmt_report_note(r, "%" PRIu64 " object%s that its code allocated survive%s its unload, "
			       "%s; frees were waited for until %s after it", s->objects,
			       s->objects == 1 ? "" : "s", s->objects == 1 ? "s" : "", bytes,
			       watched);
}

static int note_names(const struct kmt_module_life *m, struct kmt_report *r)
{
	int err = 0;

	if (m->has_no_names)
		err = kmt_report_note(r, "the symbols of '%s' could not be read: its call sites are "
				      "offsets into its text", m->name);
	if (!err && m->overlaps)
		err = kmt_report_note(r, "'%s' was loaded at different addresses that overlap: where "
				      "they do, call sites of earlier loads go by the names of the "
				      "last", m->name);
	return err;
}

int kmt_unload_fill(const struct kmt_analysis_in *in, struct kmt_report *r)
{
	struct survivors s;
	int err;

	if (!in->module)
		return 0;
	find_survivors(in, &s);
	err = add_summary(in, &s, &r->summary);
	if (!err)
		err = note_life(in->module, r);
	if (!err)
		err = note_survivors(in, &s, r);
	return err ? err : note_names(in->module, r);
}

/* All that is live of a module that is still there: nothing of it has survived anything. */
static bool wants(const struct kmt_row_source *s)
{
	return s->in->module && kmt_module_unloaded(s->in->module);
}

static int run(const struct kmt_analysis_in *in, struct kmt_report **ret_report)
{
	static const struct kmt_rows_view view = {
		.name = "unload", .by = KMT_GROUP_SITE | KMT_GROUP_CACHE, .columns = columns,
		.survivor_columns = columns, .n_columns = KMT_N(columns),
		.sort = "surviving_bytes", .wants = wants,
	};
	struct kmt_analysis_in old = *in;
	uint64_t unloaded = in->module ? kmt_module_unloaded(in->module) : 0, age;
	int err;

	/* what was there when it went is at least as old as that is long ago */
	age = unloaded ? kmt_sat_sub(kmt_session_now(in->session), unloaded) : 0;
	if (old.min_age_ns < age)
		old.min_age_ns = age;
	if (!old.min_age_ns)
		old.min_age_ns = 1;
	err = kmt_rows_run(&old, &view, ret_report);
	if (!err && !in->module && kmt_session_n_sites(in->session))
		err = kmt_report_note(*ret_report, "no module was followed: see 'kmemtrace stat "
				      "--module NAME'");
	return err;
}

const struct kmt_analysis kmt_analysis_unload = {
	.name = "unload",
	.aliases = { "unloaded" },
	.help = "what survives the unload of the module of --module",
	.needs = KMT_NEEDS_OBJECTS | KMT_NEEDS_STACKS,
	.run = run,
};
