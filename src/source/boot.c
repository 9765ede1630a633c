// SPDX-License-Identifier: GPL-2.0-only
#include "source/boot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/cpus.h"
#include "base/err.h"
#include "source/tp_fields.h"
#include "source/tracefs_dir.h"
#include "symbol/kallsyms.h"
#include "tracers/tracers.h"

#define MIB		(1ULL << 20)
#define SHARE		16		/* of the memory, for all buffers together */
#define LEAST		(1 * MIB)
#define MOST		(64 * MIB)
#define TEXT_MAX	65536

/* ---- what the running kernel can be asked for ------------------------------ */

/*
 * The functions that take the options out of the command line. They are gone
 * after the boot, but their names stay in the list of symbols.
 */
void kmt_boot_kernel_look(FILE *kallsyms, struct kmt_boot_kernel *k)
{
	const struct {
		const char *function;
		bool *has;
	} options[] = {
		{ "setup_trace_event", &k->has_event }, { "set_buf_size", &k->has_size },
		{ "set_trace_boot_clock", &k->has_clock },
		{ "set_trace_boot_options", &k->has_options },
		{ "boot_instance", &k->has_instance },
	};
	_cleanup_free_ char *line = NULL;
	size_t cap = 0;
	const char *name;

	while ((name = kmt_kallsyms_next(kallsyms, &line, &cap))) {
		k->looked = true;
		for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
			*options[i].has |= !strcmp(name, options[i].function);
	}
}

void kmt_boot_kernel_ask(struct kmt_boot_kernel *ret)
{
	_cleanup_fclose_ FILE *f = fopen(KMT_KALLSYMS, "re");
	int n = kmt_cpus_file("/sys/devices/system/cpu/possible", NULL, NULL);
	struct sysinfo si;

	*ret = (struct kmt_boot_kernel){ .n_cpus = n > 0 ? n : 1 };
	if (f)
		kmt_boot_kernel_look(f, ret);
	if (!sysinfo(&si))
		ret->ram_bytes = (uint64_t)si.totalram * si.mem_unit;
}

uint64_t kmt_boot_buffer_bytes(const struct kmt_boot_kernel *k)
{
	uint64_t each = k->ram_bytes / SHARE / (k->n_cpus ? k->n_cpus : 1);

	each = each / MIB * MIB;
	return each < LEAST ? LEAST : each > MOST ? MOST : each;
}

static bool has_event(const struct kmt_tracefs_dir *dir, const char *system, const char *name)
{
	char path[400];

	return !dir || (snprintf(path, sizeof(path), "%s/events/%s/%s/enable", dir->path, system,
				 name) < (int)sizeof(path) && !access(path, F_OK));
}

/* "kmem:kmalloc,kmem:kfree,..."; frees first, as the kernel switches them on in this order. */
static void add_events(const struct kmt_boot_wish *w, struct kmt_buf *out)
{
	const char *comma = "";

	for (size_t i = 0; kmt_tp_events[i]; i++) {
		const char *name = kmt_tp_events[i], *system = kmt_tp_system(name);

		if (!(kmt_tracers_of_event(name) & w->tracers) || !has_event(w->dir, system, name))
			continue;
		kmt_buf_printf(out, "%s%s:%s", comma, system, name);
		comma = ",";
	}
}

static int lacks(const char *option)
{
	return kmt_err(-ENOTSUP, "this kernel has no option %s", option);
}

int kmt_boot_options(const struct kmt_boot_kernel *k, const struct kmt_boot_wish *w,
		     struct kmt_buf *out)
{
	uint64_t bytes = w->buffer_bytes ? w->buffer_bytes : kmt_boot_buffer_bytes(k);
	bool stacks = w->stacks || (w->tracers & (KMT_TRACER_BIT(page) | KMT_TRACER_BIT(vmalloc)));

	if (k->looked && !w->instance && !k->has_event)
		return lacks("trace_event= (CONFIG_EVENT_TRACING)");
	if (k->looked && w->instance && !k->has_instance)
		return lacks("trace_instance= (Linux 6.3 or newer)");
	if (w->instance)
		kmt_buf_printf(out, "trace_instance=%s,", w->instance);
	else
		kmt_buf_puts(out, "trace_event=");
	add_events(w, out);
	if (!k->looked || k->has_size)
		kmt_buf_printf(out, " trace_buf_size=%llu%s", (unsigned long long)
			       (bytes % MIB ? bytes / 1024 : bytes / MIB), bytes % MIB ? "K" : "M");
	/* without it a kernel that distrusts its clock later takes another and forgets all events */
	if (!w->instance && (!k->looked || k->has_clock))
		kmt_buf_puts(out, " trace_clock=mono");
	if ((stacks || !w->keep_last) && (!k->looked || k->has_options))
		kmt_buf_printf(out, " trace_options=%s%s%s", w->keep_last ? "" : "nooverwrite",
			       stacks && !w->keep_last ? "," : "", stacks ? "stacktrace" : "");
	return out->error ? kmt_err(out->error, "out of memory") : 0;
}

/* ---- what the running kernel was asked for --------------------------------- */

/* Is "kmem:kmalloc", "kmem:*", "kmem" or "kmalloc" this event, or has it among others? */
static bool names_event(const char *word, size_t len, const char *event)
{
	const char *system = kmt_tp_system(event);
	const char *colon = memchr(word, ':', len);
	size_t n = colon ? (size_t)(colon - word) : len;
	const char *name = colon ? colon + 1 : word;
	size_t name_len = colon ? len - n - 1 : len;

	if (n == strlen(system) && !memcmp(word, system, n) &&
	    (!colon || !name_len || (name_len == 1 && *name == '*')))
		return true;
	if (colon && (n != strlen(system) || memcmp(word, system, n)))
		return false;
	return name_len == strlen(event) && !memcmp(name, event, name_len);
}

/* The tracers that have an event in a list with commas. */
static uint32_t tracers_of(const char *list, size_t len)
{
	uint32_t set = 0;

	while (len) {
		const char *comma = memchr(list, ',', len);
		size_t n = comma ? (size_t)(comma - list) : len;

		for (size_t i = 0; n && kmt_tp_events[i]; i++)
			if (names_event(list, n, kmt_tp_events[i]))
				set |= kmt_tracers_of_event(kmt_tp_events[i]);
		list += n + !!comma;
		len -= n + !!comma;
	}
	return set;
}

/* "NAME,event,..." or "NAME^flags,..." or "NAME@address:size,...". */
static void take_instance(const char *word, size_t len, struct kmt_boot_line *ret)
{
	size_t n = 0;
	uint32_t tracers;

	while (n < len && !strchr(",^@", word[n]))
		n++;
	if (!n || n >= sizeof(ret->instance) || memchr(word, '/', n))
		return;
	tracers = tracers_of(word + n, len - n);
	if (!tracers || ret->tracers)
		return;		/* the top-level buffer has them from an earlier moment on */
	ret->tracers = tracers;
	memcpy(ret->instance, word, n);
	ret->instance[n] = '\0';
}

static const char *after(const char *word, size_t len, const char *key)
{
	size_t n = strlen(key);

	return len >= n && !memcmp(word, key, n) ? word + n : NULL;
}

bool kmt_boot_line_parse(const char *cmdline, struct kmt_boot_line *ret)
{
	size_t used = 0;

	*ret = (struct kmt_boot_line){ 0 };
	while (*cmdline) {
		size_t len = strcspn(cmdline, " \t\n");
		const char *rest;

		if (after(cmdline, len, "trace_") && memchr(cmdline, '=', len) &&
		    used + len + 2 < sizeof(ret->options)) {
			used += (size_t)snprintf(ret->options + used, sizeof(ret->options) - used,
						 "%s%.*s", used ? " " : "", (int)len, cmdline);
		}
		rest = after(cmdline, len, "trace_event=");
		if (rest) {
			uint32_t set = tracers_of(rest, len - (size_t)(rest - cmdline));

			if (set && ret->instance[0])
				*ret->instance = '\0', ret->tracers = 0;
			ret->tracers |= set;
		}
		rest = after(cmdline, len, "trace_instance=");
		if (rest)
			take_instance(rest, len - (size_t)(rest - cmdline), ret);
		cmdline += len;
		cmdline += strspn(cmdline, " \t\n");
	}
	return ret->tracers != 0;
}

/* A small file as text; NULL if it cannot be read. */
static char *read_text(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_free_ char *text = malloc(TEXT_MAX + 1);
	size_t len = 0;
	ssize_t got = -1;

	while (fd >= 0 && text && len < TEXT_MAX && (got = read(fd, text + len, TEXT_MAX - len)) > 0)
		len += (size_t)got;
	if (got < 0)
		return NULL;
	text[len] = '\0';
	return take_ptr(text);
}

bool kmt_boot_line_running(struct kmt_boot_line *ret)
{
	_cleanup_free_ char *text = read_text("/proc/cmdline");

	return kmt_boot_line_parse(text ? text : "", ret);
}

/* ---- the buffer -------------------------------------------------------------- */

/* "    13.179356" to nanoseconds; a clock that counts no time has no point. */
static uint64_t stat_time(const char *text)
{
	char *end;
	uint64_t sec = strtoull(text, &end, 10), frac = 0, unit = 1000000000;

	if (*end != '.')
		return sec;
	for (end++; *end >= '0' && *end <= '9' && unit > 1; end++) {
		frac = frac * 10 + (uint64_t)(*end - '0');
		unit /= 10;
	}
	return sec * 1000000000ULL + frac * unit;
}

void kmt_boot_stats_parse(const char *text, struct kmt_boot_cpu *ret)
{
	const struct {
		const char *key;
		uint64_t *to;
		bool is_time;
	} rows[] = {
		{ "entries: ", &ret->entries, false }, { "overrun: ", &ret->overrun, false },
		{ "commit overrun: ", &ret->commit_overrun, false },
		{ "dropped events: ", &ret->dropped, false }, { "read events: ", &ret->read, false },
		{ "oldest event ts: ", &ret->first_ns, true }, { "now ts: ", &ret->now_ns, true },
	};

	while (text && *text) {
		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			size_t n = strlen(rows[i].key);

			if (!strncmp(text, rows[i].key, n))
				*rows[i].to = rows[i].is_time ? stat_time(text + n) :
					      strtoull(text + n, NULL, 10);
		}
		text = strchr(text, '\n');
		text = text ? text + 1 : NULL;
	}
}

void kmt_boot_clock_parse(const char *text, char *out, size_t size)
{
	const char *start = strchr(text, '['), *end = start ? strchr(start, ']') : NULL;
	size_t n = end ? (size_t)(end - start - 1) : 0;

	if (n >= size)
		n = 0;
	memcpy(out, n ? start + 1 : "", n);
	out[n] = '\0';
}

bool kmt_boot_clock_has_time(const char *clock)
{
	static const char *const clocks[] = { "local", "global", "perf", "mono", "mono_raw", "boot",
					      "tai" };

	for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++)
		if (!strcmp(clock, clocks[i]))
			return true;
	return false;
}

int kmt_boot_dir(const struct kmt_tracefs_dir *d, const char *instance, char *out, size_t size)
{
	int n = instance[0] ? snprintf(out, size, "%s/instances/%s", d->path, instance) :
		snprintf(out, size, "%s", d->path);

	if (n < 0 || (size_t)n >= size)
		return kmt_err(-ENAMETOOLONG, "the path of tracefs is too long");
	if (access(out, X_OK))
		return kmt_err_errno(-errno, "cannot look into the trace buffer '%s'",
				     instance[0] ? instance : "(top level)");
	return 0;
}

static char *read_in(const char *dir, const char *file)
{
	char path[600];

	if (snprintf(path, sizeof(path), "%s/%s", dir, file) >= (int)sizeof(path))
		return NULL;
	return read_text(path);
}

static bool is_set(const char *dir, const char *file)
{
	_cleanup_free_ char *text = read_in(dir, file);

	return text && *text == '1';
}

static int look_at_cpus(const char *dir, struct kmt_boot_buffer *b)
{
	_cleanup_free_ uint32_t *ids = NULL;
	char path[600];
	int err;

	snprintf(path, sizeof(path), "%s/per_cpu", dir);
	err = kmt_tracefs_cpus(path, &ids, &b->n_cpus);
	if (err)
		return err;
	b->cpu = calloc(b->n_cpus, sizeof(*b->cpu));
	if (!b->cpu)
		return kmt_err(-ENOMEM, "no memory for %zu CPUs", b->n_cpus);
	for (size_t i = 0; i < b->n_cpus; i++) {
		struct kmt_boot_cpu *c = &b->cpu[i];
		_cleanup_free_ char *text = NULL;

		snprintf(path, sizeof(path), "%s/per_cpu/cpu%u/stats", dir, ids[i]);
		text = read_text(path);
		if (!text)
			return kmt_err_errno(-errno, "cannot read the trace buffer's state of CPU %u",
					     ids[i]);
		c->cpu = ids[i];
		kmt_boot_stats_parse(text, c);
		b->lost += c->overrun + c->commit_overrun + c->dropped;
		b->read += c->read;
		if (c->entries && (!b->entries || c->first_ns < b->first_ns))
			b->first_ns = c->first_ns;
		b->entries += c->entries;
		b->now_ns = c->now_ns > b->now_ns ? c->now_ns : b->now_ns;
	}
	return 0;
}

int kmt_boot_buffer_look(const char *dir, struct kmt_boot_buffer *ret)
{
	struct kmt_boot_buffer b = { 0 };
	_cleanup_free_ char *clock = read_in(dir, "trace_clock");
	_cleanup_free_ char *size = read_in(dir, "buffer_total_size_kb");
	int err = look_at_cpus(dir, &b);

	if (err) {
		kmt_boot_buffer_done(&b);
		return err;
	}
	kmt_boot_clock_parse(clock ? clock : "", b.clock, sizeof(b.clock));
	b.bytes = size ? strtoull(size, NULL, 10) * 1024 : 0;
	b.is_on = is_set(dir, "tracing_on");
	b.has_stacks = is_set(dir, "options/stacktrace");
	b.overwrites = is_set(dir, "options/overwrite");
	*ret = b;
	return 0;
}

void kmt_boot_buffer_done(struct kmt_boot_buffer *b)
{
	free(b->cpu);
	*b = (struct kmt_boot_buffer){ 0 };
}

static int write_in(const char *dir, const char *file, const char *text, int flags)
{
	char path[600];
	_cleanup_close_ int fd = -1;

	if (snprintf(path, sizeof(path), "%s/%s", dir, file) >= (int)sizeof(path))
		return kmt_err(-ENAMETOOLONG, "the path of tracefs is too long");
	fd = open(path, O_WRONLY | O_CLOEXEC | flags);
	if (fd < 0 || (*text && write(fd, text, strlen(text)) < 0))
		return kmt_err_errno(-errno, "cannot write to tracefs '%s'", file);
	return 0;
}

int kmt_boot_stop(const char *dir, uint32_t tracers)
{
	int err = 0;

	for (size_t i = 0; !err && kmt_tp_events[i]; i++) {
		const char *name = kmt_tp_events[i];
		char file[128];

		if (!(kmt_tracers_of_event(name) & tracers))
			continue;
		snprintf(file, sizeof(file), "events/%s/%s/enable", kmt_tp_system(name), name);
		err = write_in(dir, file, "0", 0);
		if (err == -ENOENT)
			err = 0;	/* not in this kernel */
	}
	return err;
}

int kmt_boot_clear(const char *dir)
{
	/* opened for writing and cut, as a shell's '>' does, it empties the buffer */
	return write_in(dir, "trace", "", O_TRUNC);
}
