// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/books.h"

#include "base/buf.h"
#include "cmd/recorder.h"
#include "cmd/view.h"
#include "source/kept.h"

int kmt_books_write(const struct kmt_view *v, struct kmt_recorder *r, char **own_argv)
{
	const struct kmt_ask *a = v->ask;
	const struct kmt_facts *kept = a->select.session ? kmt_kept_facts(a->select.source) : NULL;
	uint64_t temporary_ns = kept ? kept->temporary_ns : a->temporary_ns;
	_cleanup_buf_ struct kmt_buf filters = { 0 };
	const struct kmt_recorder_opts ro = {
		.symbols = a->select.symbols, .gfp_names = a->select.gfp_names, .argv = own_argv,
		.source = a->select.source->ops->name,
		.filters = kmt_select_filters_text(&a->select, &filters),
		.temporary_ns = temporary_ns ? temporary_ns : 1000000,
	};

	return kmt_recorder_books(r, &ro, kept ? kept->slabs_start : v->slabs_start, v->slabs_end,
				  v->session);
}
