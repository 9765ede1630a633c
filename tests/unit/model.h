/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a session must say, done the slow and obvious way: plain arrays, linear
 * search, no sharing with the code under test but the public structs. For
 * small numbers only.
 */
#ifndef KMT_TESTS_UNIT_MODEL_H
#define KMT_TESTS_UNIT_MODEL_H

#include <stdbool.h>
#include <string.h>

#include "core/session.h"

#define MODEL_SITES	2048
#define MODEL_OBJECTS	512

struct model_object {
	uint64_t addr, req, alloc, birth;
	uint32_t cpu;
	bool pages;		/* in the page layer */
	bool awaiting;		/* RCU, since birth */
	int site;
};

struct model {
	struct kmt_session_opts opts;
	struct kmt_site site[MODEL_SITES];
	int n_sites;
	struct kmt_free_site free_site[MODEL_SITES];
	int n_free_sites;
	struct model_object object[MODEL_OBJECTS];
	int n_objects;
	uint64_t events, allocs, frees, failures, nulls, unknown, unknown_given, untraced;
	uint64_t no_site, no_object;
	uint64_t peak, now, first;
	uint64_t given_up, waits_freed, waits_reused, given_up_twice, over;
	uint64_t steps_back, mismatched, replaced_by_nothing;	/* coverage of the streams */
};

static bool model_same(const char *a, const char *b)
{
	return (!a && !b) || (a && b && !strcmp(a, b));
}

static bool model_is(const struct model *m, const struct kmt_site_key *k,
		     const struct kmt_event *ev)
{
	if (k->type != ev->type || k->size != ev->bytes_alloc || !model_same(k->cache, ev->cache) ||
	    k->cache_inferred != ev->cache_inferred)
		return false;
	if (m->opts.by_task)
		return k->tgid == (ev->tgid ? ev->tgid : ev->pid);
	if (m->opts.by_stack && (ev->n_ips || k->n_ips)) {
		if (k->n_ips != ev->n_ips)
			return false;
		for (uint32_t i = 0; i < ev->n_ips; i++)
			if (k->ips[i] != ev->ips[i])
				return false;
		return true;
	}
	return k->call_site == ev->call_site && model_same(k->call_site_name, ev->call_site_name);
}

/* The names and frames that the streams use are constants: kept by pointer. */
static int model_site(struct model *m, const struct kmt_event *ev)
{
	for (int i = 0; i < m->n_sites; i++)
		if (model_is(m, &m->site[i].key, ev))
			return i;
	if ((uint64_t)m->n_sites >= m->opts.max_sites)
		return -1;
	m->site[m->n_sites].key = (struct kmt_site_key){
		.type = ev->type, .size = ev->bytes_alloc, .cache = ev->cache,
		.cache_inferred = ev->cache_inferred, .call_site = ev->call_site,
		.call_site_name = ev->call_site_name, .tgid = ev->tgid ? ev->tgid : ev->pid,
		.ips = ev->ips, .n_ips = m->opts.by_stack ? ev->n_ips : 0,
	};
	return m->n_sites++;
}

static int model_find(const struct model *m, const struct kmt_event *ev)
{
	for (int i = 0; i < m->n_objects; i++)
		if (m->object[i].addr == ev->addr &&
		    m->object[i].pages == (ev->type == KMT_TYPE_PAGES))
			return i;
	return -1;
}

static uint64_t model_live(const struct model *m, int site)
{
	uint64_t sum = 0;

	for (int i = 0; i < m->n_objects; i++)
		if (!m->object[i].awaiting && (site < 0 || m->object[i].site == site))
			sum += m->object[i].alloc;
	return sum;
}

static void model_drop(struct model *m, int i)
{
	struct kmt_counts *c = &m->site[m->object[i].site].counts;

	c->bytes_req_freed += m->object[i].req;
	c->bytes_alloc_freed += m->object[i].alloc;
	m->object[i] = m->object[--m->n_objects];
}

static void model_alloc(struct model *m, const struct kmt_event *ev)
{
	int old = ev->addr ? model_find(m, ev) : -1;
	struct kmt_counts *c;
	int site;

	if (ev->addr >= 1 && ev->addr <= 16) {
		m->nulls++;
		return;
	}
	if (old >= 0 && m->object[old].awaiting) {
		m->waits_reused++;
		m->object[old] = m->object[--m->n_objects];
	} else if (old >= 0) {
		m->untraced++;
		m->site[m->object[old].site].counts.untraced_frees++;
		model_drop(m, old);
	}
	site = model_site(m, ev);
	if (site < 0) {
		m->no_site++;
		m->replaced_by_nothing += old >= 0;
		return;
	}
	m->site[site].gfp |= ev->gfp;
	c = &m->site[site].counts;
	if (!ev->addr) {
		m->failures++;
		c->failures++;
		return;
	}
	m->allocs++;
	c->allocs++;
	c->bytes_req += ev->bytes_req;
	c->bytes_alloc += ev->bytes_alloc;
	if ((uint64_t)m->n_objects >= m->opts.max_objects) {
		m->no_object++;
		c->untracked++;
		c->bytes_req_untracked += ev->bytes_req;
		c->bytes_alloc_untracked += ev->bytes_alloc;
		return;
	}
	m->object[m->n_objects++] = (struct model_object){
		.addr = ev->addr, .req = ev->bytes_req, .alloc = ev->bytes_alloc,
		.birth = ev->has_time ? ev->ts_ns : 0, .cpu = ev->cpu, .site = site,
		.pages = ev->type == KMT_TYPE_PAGES,
	};
	if (model_live(m, site) > c->peak_bytes)
		c->peak_bytes = model_live(m, site);
	if (model_live(m, -1) > m->peak)
		m->peak = model_live(m, -1);
}

static void model_free_site(struct model *m, const struct kmt_event *ev)
{
	int i;

	for (i = 0; i < m->n_free_sites; i++)
		if (m->free_site[i].call_site == ev->call_site &&
		    m->free_site[i].type == ev->type)
			break;
	if (i == m->n_free_sites) {
		if ((uint64_t)i >= m->opts.max_sites) {
			m->no_site++;
			return;
		}
		m->free_site[m->n_free_sites++] = (struct kmt_free_site){
			.call_site = ev->call_site, .type = ev->type };
	}
	m->free_site[i].frees++;
}

static void model_free(struct model *m, const struct kmt_event *ev)
{
	int i = model_find(m, ev);
	/* what a file calls a giving up of pages is a free */
	bool gives_up = ev->op == KMT_OP_GIVE_UP && ev->type != KMT_TYPE_PAGES;
	struct kmt_site *site;

	if (ev->addr <= 16) {
		m->nulls++;
		return;
	}
	if (i >= 0 && m->object[i].awaiting && !gives_up) {
		m->waits_freed++;
		m->object[i] = m->object[--m->n_objects];
		return;
	}
	model_free_site(m, ev);
	if (i >= 0 && m->object[i].awaiting) {
		m->unknown_given++;
		m->given_up_twice++;
		m->object[i].birth = ev->has_time ? ev->ts_ns : 0;
		return;
	}
	if (i < 0) {
		*(gives_up ? &m->unknown_given : &m->unknown) += 1;
		return;
	}
	m->frees++;
	site = &m->site[m->object[i].site];
	site->counts.frees++;
	m->mismatched += site->key.type != ev->type;
	if (m->object[i].cpu != ev->cpu)
		site->counts.cross_cpu_frees++;
	if (m->object[i].birth && ev->has_time) {
		uint64_t age = ev->ts_ns < m->object[i].birth ? 0 : ev->ts_ns - m->object[i].birth;
		int bucket = 0;

		m->steps_back += ev->ts_ns < m->object[i].birth;
		/* 2.048 us, 4.096 us, ... are the upper ends of the buckets */
		while (bucket < 31 && age >= (UINT64_C(2048) << bucket))
			bucket++;
		site->lifetimes[bucket]++;
		if (age < m->opts.temporary_ns)
			site->counts.temporary++;
	}
	if (!gives_up) {
		model_drop(m, i);
		return;
	}
	m->given_up++;
	site->counts.given_up++;
	site->counts.bytes_req_freed += m->object[i].req;
	site->counts.bytes_alloc_freed += m->object[i].alloc;
	m->object[i].awaiting = true;
	m->object[i].birth = ev->has_time ? ev->ts_ns : 0;
}

/* 30 s after it was given up, what is not seen again awaits no more. */
static bool model_waits(const struct model *m, const struct model_object *o)
{
	return o->awaiting && (!o->birth || m->now < o->birth ||
			       m->now - o->birth <= UINT64_C(30000000000));
}

/* What awaits at this moment; returns the number of objects that a walk must show. */
static int model_settle(struct model *m)
{
	int shown = 0;

	for (int i = 0; i < m->n_sites; i++)
		m->site[i].counts.awaiting = m->site[i].counts.bytes_awaiting = 0;
	for (int i = 0; i < m->n_objects; i++) {
		struct kmt_counts *c = &m->site[m->object[i].site].counts;

		shown += !m->object[i].awaiting || model_waits(m, &m->object[i]);
		m->over += m->object[i].awaiting && !model_waits(m, &m->object[i]);
		if (!model_waits(m, &m->object[i]))
			continue;
		c->awaiting++;
		c->bytes_awaiting += m->object[i].alloc;
	}
	return shown;
}

static void model_event(struct model *m, const struct kmt_event *ev)
{
	m->events++;
	if (ev->has_time) {
		if (!m->first || ev->ts_ns < m->first)
			m->first = ev->ts_ns;
		if (ev->ts_ns > m->now)
			m->now = ev->ts_ns;
	}
	if (ev->op == KMT_OP_ALLOC)
		model_alloc(m, ev);
	else
		model_free(m, ev);
}

#endif
