// SPDX-License-Identifier: GPL-2.0-only
#include "source/ftrace_prefix.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/event.h"

#define NSEC 1000000000ULL
#define USEC 1000ULL
#define COMM_COLUMN 16	/* TASK_COMM_LEN */

static bool ends(struct kmt_word w, const char *s)
{
	size_t len = strlen(s);

	return w.len >= len && !memcmp(w.p + w.len - len, s, len);
}

static struct kmt_word inside(struct kmt_word w)
{
	return (struct kmt_word){ w.p + 1, w.len - 2 };
}

/* "5.000001", "5000001us", verbose "5000.001ms"; a count of another clock is a number. */
static bool parse_time(struct kmt_word w, struct kmt_ftrace_prefix *ret)
{
	struct kmt_word left = { w.p, w.len > 2 ? w.len - 2 : 0 };
	const char *dot = memchr(left.p, '.', left.len);
	uint64_t v, frac;

	ret->has_time = true;
	if (kmt_word_time(w, &ret->ts_ns))
		return true;
	if (ends(w, "us") && kmt_word_number(left, 10, UINT64_MAX / USEC, &v)) {
		ret->ts_ns = v * USEC;
		return true;
	}
	if (ends(w, "ms") && dot && left.len - (size_t)(dot - left.p) == 4 &&
	    kmt_word_number((struct kmt_word){ left.p, (size_t)(dot - left.p) }, 10,
			    UINT64_MAX / (USEC * USEC) - 1, &v) &&
	    kmt_word_number((struct kmt_word){ dot + 1, 3 }, 10, 999, &frac)) {
		ret->ts_ns = v * USEC * USEC + frac * USEC;
		return true;
	}
	ret->has_time = false;
	return kmt_word_number(w, 10, UINT64_MAX, &v);
}

/* "[001]" */
static bool parse_cpu(struct kmt_word w, struct kmt_ftrace_prefix *ret)
{
	uint64_t v;

	if (!kmt_word_in_brackets(w) || !kmt_word_number(inside(w), 10, UINT32_MAX - 1, &v))
		return false;
	ret->cpu = (uint32_t)v;
	ret->has_cpu = true;
	return true;
}

/* latency-format's "1d.h1.": the digits in front are the CPU, those behind counts. */
static bool parse_cpu_flags(struct kmt_word w, struct kmt_ftrace_prefix *ret)
{
	size_t digits = 0;
	uint64_t v;

	while (digits < w.len && w.p[digits] >= '0' && w.p[digits] <= '9')
		digits++;
	if (!kmt_word_number((struct kmt_word){ w.p, digits }, 10, UINT32_MAX - 1, &v))
		return false;
	ret->cpu = (uint32_t)v;
	ret->has_cpu = true;
	ret->flags = kmt_word_rest(w, digits);
	return true;
}

/* "(  123)" or "(-------)" at the end: the process. */
static void take_tgid(struct kmt_word *left, struct kmt_ftrace_prefix *ret)
{
	const char *open;
	struct kmt_word in;
	uint64_t v;

	if (!ends(*left, ")"))
		return;
	open = memrchr(left->p, '(', left->len);
	if (!open)
		return;
	in = (struct kmt_word){ open + 1, left->len - (size_t)(open - left->p) - 2 };
	if (kmt_word_number(kmt_word_trim(in), 10, INT32_MAX, &v))
		ret->tgid = (uint32_t)v;
	else if (!kmt_word_is(in, "-------") && !kmt_word_is(in, "-----"))
		return;		/* the task is called like this */
	left->len = (size_t)(open - left->p);
	*left = kmt_word_trim(*left);
}

/* trace-cmd puts the name of an instance and a colon before the column of the task's name. */
static struct kmt_word drop_instance(struct kmt_word comm)
{
	size_t column = comm.len > COMM_COLUMN ? comm.len - COMM_COLUMN : 0;

	while (column > 1 && (comm.p[column - 1] != ' ' || comm.p[column - 2] != ':'))
		column--;
	return column > 1 ? kmt_word_trim(kmt_word_rest(comm, column)) : comm;
}

static bool set_comm(struct kmt_word comm, struct kmt_ftrace_prefix *ret)
{
	comm = drop_instance(comm);
	ret->comm = comm;
	ret->has_task = true;
	return comm.len < KMT_FTRACE_COMM && !memchr(comm.p, '\0', comm.len);
}

/* perf script's "12" or "12/13" behind the name: process and thread. */
static bool parse_perf_ids(struct kmt_word w, struct kmt_ftrace_prefix *ret)
{
	const char *slash = memchr(w.p, '/', w.len);
	uint64_t tid, pid = 0;

	if (slash && !kmt_word_number((struct kmt_word){ w.p, (size_t)(slash - w.p) }, 10,
				      INT32_MAX, &pid))
		return false;
	if (slash)
		w = kmt_word_rest(w, (size_t)(slash - w.p) + 1);
	if (!kmt_word_number(w, 10, INT32_MAX, &tid))
		return false;
	ret->pid = (uint32_t)tid;
	ret->tgid = (uint32_t)pid;
	return true;
}

/* "comm-12", or perf's "comm 12/13" */
static bool parse_task(struct kmt_word who, struct kmt_ftrace_prefix *ret)
{
	struct kmt_word left = who, last;
	const char *dash;
	uint64_t v;

	take_tgid(&left, ret);
	who = left;
	last = kmt_word_pop(&left);
	if (parse_perf_ids(last, ret))
		return set_comm(kmt_word_trim(left), ret);
	dash = who.len ? memrchr(who.p, '-', who.len) : NULL;
	if (!dash || !kmt_word_number(kmt_word_rest(who, (size_t)(dash - who.p) + 1), 10,
				      INT32_MAX, &v))
		return false;
	ret->pid = (uint32_t)v;
	return set_comm((struct kmt_word){ who.p, (size_t)(dash - who.p) }, ret);
}

/* No "[001]": perf's "comm 12/13", or trace-cmd's latency format "comm-12 1d.h1." */
static bool parse_cpuless(struct kmt_word last, struct kmt_word left, struct kmt_ftrace_prefix *ret)
{
	if (parse_perf_ids(last, ret))
		return set_comm(kmt_word_trim(left), ret);
	return parse_cpu_flags(last, ret) && parse_task(kmt_word_trim(left), ret);
}

/* verbose: "comm 12 1 0 00000000 00000003 [1b]"; what stands in brackets is a time */
static bool parse_verbose(struct kmt_word left, struct kmt_ftrace_prefix *ret)
{
	uint64_t v[5];

	for (unsigned i = 0; i < 5; i++)	/* index, flags, preempt count, CPU, thread */
		if (!kmt_word_number(kmt_word_pop(&left), i < 2 ? 16 : 10, INT32_MAX, &v[i]))
			return false;
	ret->cpu = (uint32_t)v[3];
	ret->has_cpu = true;
	ret->pid = (uint32_t)v[4];
	return set_comm(kmt_word_trim(left), ret);
}

/* What an annotated time ends with: how long it was until the next event. */
static struct kmt_word drop_delay(struct kmt_word text)
{
	if (text.len > 3 && strchr("+!#*@$", text.p[text.len - 1]) && text.p[text.len - 1] &&
	    ends((struct kmt_word){ text.p, text.len - 1 }, "us"))
		text.len--;
	return text;
}

static bool drop_verbose_delay(struct kmt_word *text)
{
	struct kmt_word left = *text, delay = kmt_word_pop(&left);

	if (!kmt_word_starts(delay, "(+") || !ends(delay, "ms)"))
		return false;
	*text = kmt_word_trim(left);
	return true;
}

bool kmt_ftrace_prefix_parse(struct kmt_word text, struct kmt_ftrace_prefix *ret)
{
	struct kmt_word left = drop_delay(kmt_word_trim(text)), when, word;
	bool is_verbose = drop_verbose_delay(&left), is_latency;

	*ret = (struct kmt_ftrace_prefix){ 0 };
	when = kmt_word_pop(&left);
	if (!parse_time(when, ret))
		return false;
	is_latency = ends(when, "us");
	word = kmt_word_pop(&left);
	if (is_verbose)
		return kmt_word_in_brackets(word) && parse_verbose(left, ret);
	if (is_latency)
		return parse_cpu_flags(word, ret) && parse_task(kmt_word_trim(left), ret);
	if (!parse_cpu(word, ret)) {
		struct kmt_word before = left;

		if (!parse_cpu(kmt_word_pop(&left), ret))
			return ret->has_time && parse_cpuless(word, before, ret);
		ret->flags = word;
	}
	return parse_task(kmt_word_trim(left), ret);
}

const char *kmt_ftrace_comm(const struct kmt_ftrace_prefix *pre, char *out, size_t size)
{
	if (!pre->has_task || kmt_word_is(pre->comm, "<...>"))
		return NULL;
	if (kmt_word_is(pre->comm, "<idle>") && !pre->pid)
		snprintf(out, size, "swapper/%" PRIu32, pre->cpu);
	else
		snprintf(out, size, "%.*s", (int)pre->comm.len, pre->comm.p);
	return out;
}

bool kmt_ftrace_lost_parse(struct kmt_word line, struct kmt_lost *ret)
{
	struct kmt_lost lost = { .reason = KMT_LOSS_RING, .cpu = UINT32_MAX };
	bool is_lost = false, is_events = false;
	struct kmt_words w;
	unsigned i = 0;
	uint64_t v;

	if (!kmt_words_split(line, &w) || !w.n || w.n > 5)
		return false;
	if (kmt_word_starts(w.v[0], "CPU:")) {
		if (!kmt_word_number(kmt_word_rest(w.v[0], 4), 10, UINT32_MAX - 1, &v))
			return false;
		lost.cpu = (uint32_t)v;
		i++;
	}
	if (i == w.n || w.v[i].p[0] != '[' || !ends(w.v[w.n - 1], "]"))
		return false;
	w.v[i] = kmt_word_rest(w.v[i], 1);
	w.v[w.n - 1].len--;
	for (; i < w.n; i++) {
		is_lost |= kmt_word_is(w.v[i], "LOST") || kmt_word_is(w.v[i], "DROPPED") ||
			   kmt_word_is(w.v[i], "MISSED");
		is_events |= kmt_word_is(w.v[i], "EVENTS");
		if (kmt_word_number(w.v[i], 10, UINT64_MAX, &v))
			lost.events = v;
	}
	if (is_lost && is_events)
		*ret = lost;
	return is_lost && is_events;
}
