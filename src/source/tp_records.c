// SPDX-License-Identifier: GPL-2.0-only
#include "source/tp_records.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "source/merge.h"

#define CLONE_THREAD_BIT 0x00010000ULL

/* Bits of common_flags: enum trace_flag_type, the same since 2.6.28. */
#define FLAG_HARDIRQ	0x08
#define FLAG_SOFTIRQ	0x10
#define FLAG_NMI	0x40

const struct kmt_record_fields kmt_record_fields[] = {
	{ KMT_RECORD_STACK,	"ftrace", "kernel_stack",	{ "caller", "size", NULL } },
	{ KMT_RECORD_BORN,	"task", "task_newtask",		{ "pid", "comm", "clone_flags" } },
	{ KMT_RECORD_RENAMED,	"task", "task_rename",		{ "pid", "newcomm", NULL } },
	{ KMT_RECORD_GONE,	"sched", "sched_process_free",	{ "pid", NULL, NULL } },
	{ 0 }
};

struct record {
	const void *data;
	size_t len;
	uint64_t ts_ns;
};

static const struct kmt_record_event *find_event(const struct kmt_records *r, int id)
{
	for (size_t i = 0; i < r->n_events; i++)
		if (r->event[i].id == id)
			return &r->event[i];
	return NULL;
}

static uint64_t number(const struct kmt_tp_field *f, const void *data, size_t len)
{
	return kmt_tp_number(f, false, data, len);
}

/* A fixed array of characters. */
static void copy_text(char out[KMT_NODE_TEXT], const struct kmt_tp_field *f, const char *data,
		      size_t len)
{
	size_t n = f->size < KMT_NODE_TEXT ? f->size : KMT_NODE_TEXT - 1;

	if ((size_t)f->offset + n > len)
		n = 0;
	n = strnlen(data + f->offset, n);
	memcpy(out, data + f->offset, n);
	out[n] = '\0';
}

static uint64_t context(const struct kmt_records *r, const void *data, size_t len)
{
	return (uint32_t)number(&r->common_pid, data, len) |
	       (uint64_t)(uint8_t)number(&r->common_flags, data, len) << 32 |
	       (uint64_t)(uint8_t)number(&r->common_preempt, data, len) << 40;
}

static int add_kmem(const struct kmt_records *r, struct kmt_stream *st,
		    const struct kmt_record_event *known, const struct record *rec)
{
	struct kmt_event read = { 0 }, *ev;
	struct kmt_node *node;
	int err = kmt_tp_decode(&known->layout, rec->data, rec->len, &read);

	if (err)
		return err;
	node = kmt_cpu_queue_push(&st->queue);
	node->ev = read;
	ev = &node->ev;
	node->ts_ns = rec->ts_ns;
	node->in_irq = number(&r->common_flags, rec->data, rec->len) &
		       (FLAG_HARDIRQ | FLAG_SOFTIRQ | FLAG_NMI);
	if (ev->cache)
		snprintf(node->text, sizeof(node->text), "%s", ev->cache);
	ev->has_time = true;
	ev->ts_ns = rec->ts_ns;
	ev->cpu = st->cpu;
	ev->pid = number(&r->common_pid, rec->data, rec->len);
	ev->real_node = -1;
	if (r->stacks)
		kmt_cpu_queue_await(&st->queue, context(r, rec->data, rec->len));
	return 0;
}

static void add_task(const struct kmt_records *r, struct kmt_stream *st,
		     const struct kmt_record_event *known, const struct record *rec)
{
	static const enum kmt_node_kind kinds[] = {
		[KMT_RECORD_BORN] = KMT_NODE_BORN, [KMT_RECORD_RENAMED] = KMT_NODE_RENAMED,
		[KMT_RECORD_GONE] = KMT_NODE_GONE,
	};
	struct kmt_node *node = kmt_cpu_queue_push(&st->queue);

	node->kind = kinds[known->kind];
	node->ts_ns = rec->ts_ns;
	node->ev.pid = number(&r->common_pid, rec->data, rec->len);
	node->tid = number(&known->field[0], rec->data, rec->len);
	if (known->kind != KMT_RECORD_GONE)
		copy_text(node->text, &known->field[1], rec->data, rec->len);
	if (known->kind == KMT_RECORD_BORN)
		node->is_thread = number(&known->field[2], rec->data, rec->len) & CLONE_THREAD_BIT;
}

/*
 * The format declares eight frames; how many there are says the size field,
 * and the record's length how many of them can be.
 */
static void add_stack(const struct kmt_records *r, struct kmt_stream *st,
		      const struct kmt_record_event *known, const struct record *rec)
{
	const struct kmt_tp_field *caller = &known->field[0];
	size_t n = number(&known->field[1], rec->data, rec->len);
	size_t room = rec->len > caller->offset ? (rec->len - caller->offset) / sizeof(long) : 0;
	uint64_t ips[KMT_NODE_IPS * 2];
	size_t i;

	n = n < room ? n : room;
	n = n < KMT_NODE_IPS * 2 ? n : KMT_NODE_IPS * 2;
	for (i = 0; i < n; i++) {
		unsigned long ip;

		memcpy(&ip, (const char *)rec->data + caller->offset + i * sizeof(ip), sizeof(ip));
		if (!ip || ip == ULONG_MAX)
			break;
		ips[i] = ip;
	}
	kmt_cpu_queue_stack(&st->queue, context(r, rec->data, rec->len), ips, i);
}

int kmt_records_take(const struct kmt_records *r, struct kmt_stream *st, const void *data,
		     size_t len, uint64_t ts_ns)
{
	const struct record rec = { .data = data, .len = len, .ts_ns = ts_ns };
	const struct kmt_record_event *known = find_event(r, number(&r->common_type, data, len));

	if (!known)
		return 0;
	if (known->kind == KMT_RECORD_KMEM)
		return add_kmem(r, st, known, &rec);
	if (known->kind == KMT_RECORD_STACK)
		add_stack(r, st, known, &rec);
	else
		add_task(r, st, known, &rec);
	return 0;
}
