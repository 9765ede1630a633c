// SPDX-License-Identifier: GPL-2.0-only
#include "analysis/names.h"

#include <errno.h>
#include <string.h>

#include "analysis/analysis.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "core/site.h"
#include "report/report.h"
#include "symbol/frames.h"
#include "symbol/slabs.h"
#include "symbol/symbols.h"

#define BUILT_IN "vmlinux"

int kmt_name_take(struct kmt_buf *b, struct kmt_cell *cell)
{
	int err = b->error ? kmt_err(b->error, "out of memory")
			   : kmt_cell_text(cell, kmt_buf_str(b));

	kmt_buf_clear(b);
	return err;
}

/* "func+0x1c [mod]" */
static int module_of_name(const char *name, struct kmt_cell *module)
{
	_cleanup_buf_ struct kmt_buf b = { 0 };
	const char *open = strrchr(name, '[');

	if (!open || open[1] == ']')
		return kmt_cell_text(module, BUILT_IN);
	kmt_buf_add(&b, open + 1, strcspn(open + 1, "]"));
	return kmt_name_take(&b, module);
}

int kmt_name_address(const struct kmt_analysis_in *in, uint64_t addr, const char *name,
		     struct kmt_cell *site, struct kmt_cell *module)
{
	_cleanup_buf_ struct kmt_buf b = { 0 };
	struct kmt_symbol sym;
	int err = 0;

	if (name) {
		err = site ? kmt_cell_text(site, name) : 0;
		return err || !module ? err : module_of_name(name, module);
	}
	if (!addr)
		return 0;
	if (site) {
		kmt_symbols_print(in->symbols, addr, true, &b);
		err = kmt_name_take(&b, site);
	}
	if (err || !module || !kmt_symbols_find_any(in->symbols, addr, &sym))
		return err;
	return kmt_cell_text(module, sym.module ? sym.module : BUILT_IN);
}

uint32_t kmt_name_first_frame(const struct kmt_analysis_in *in, const struct kmt_site_key *key)
{
	return kmt_frames_first(in->symbols, key->call_site, key->ips, key->n_ips);
}

int kmt_name_key(const struct kmt_analysis_in *in, const struct kmt_site_key *key,
		 struct kmt_cell *site, struct kmt_cell *module)
{
	if (key->n_ips)
		return kmt_name_address(in, key->ips[kmt_name_first_frame(in, key)], NULL, site, module);
	return kmt_name_address(in, key->call_site, key->call_site_name, site, module);
}

uint64_t kmt_name_place(const struct kmt_analysis_in *in, const struct kmt_site_key *key)
{
	return key->n_ips ? key->ips[kmt_name_first_frame(in, key)] : key->call_site;
}

int kmt_name_stack(const struct kmt_analysis_in *in, const struct kmt_site_key *key,
		   struct kmt_row *row, struct kmt_cell *list)
{
	_cleanup_buf_ struct kmt_buf all = { 0 }, line = { 0 };
	int err;

	if (!key->n_ips)
		return 0;
	for (uint32_t i = kmt_name_first_frame(in, key); i < key->n_ips; i++) {
		kmt_symbols_print(in->symbols, key->ips[i], true, &line);
		if (line.error)
			return kmt_err(line.error, "out of memory");
		err = row ? kmt_row_detail(row, kmt_buf_str(&line)) : 0;
		if (err)
			return err;
		kmt_buf_printf(&all, "%s%s", all.len ? "\n" : "", kmt_buf_str(&line));
		kmt_buf_clear(&line);
	}
	return list ? kmt_name_take(&all, list) : 0;
}

int kmt_name_cache(const struct kmt_site_key *key, struct kmt_cell *cell)
{
	_cleanup_buf_ struct kmt_buf b = { 0 };

	if (!key->cache)
		return 0;
	kmt_buf_puts(&b, key->cache);
	if (key->cache_inferred)
		kmt_buf_puts(&b, " (inferred)");
	return kmt_name_take(&b, cell);
}

static void add_name(struct kmt_buf *b, const char *name, size_t len, const char *but)
{
	if (!len || (strlen(but) == len && !memcmp(name, but, len)))
		return;
	if (b->len)
		kmt_buf_puts(b, "\n");
	kmt_buf_add(b, name, len);
}

int kmt_name_aliases(const struct kmt_analysis_in *in, const char *cache, struct kmt_cell *cell)
{
	const struct kmt_slabs *slabs = in->slabs_end ? in->slabs_end : in->slabs_start;
	const struct kmt_slab *slab = slabs && cache ? kmt_slabs_find(slabs, cache) : NULL;
	_cleanup_buf_ struct kmt_buf b = { 0 };
	const char *p;

	if (!slab)
		return 0;
	add_name(&b, slab->name, strlen(slab->name), cache);
	for (p = slab->aliases; *p; p += strcspn(p, "\n"), p += *p == '\n')
		add_name(&b, p, strcspn(p, "\n"), cache);
	if (!b.len && !b.error)
		return 0;
	return kmt_name_take(&b, cell);
}
