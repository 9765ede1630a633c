// SPDX-License-Identifier: GPL-2.0-only
/*
 * kmemtrace boot: the kernel's own options that record its memory from the first
 * tracepoint on, and what came of them when this kernel was booted.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fmt.h"
#include "cmd/cmd.h"
#include "render/render.h"
#include "report/report.h"
#include "source/boot.h"
#include "source/tracefs_dir.h"
#include "tracers/tracers.h"

#define WIDTH 80
/* What an event takes of the buffer, about: 45 to 57 bytes were measured. */
#define EVENT_BYTES	52
#define STACK_BYTES	200

struct boot_opts {
	const char *tracer, *format, *instance;
	uint64_t buffer_bytes;
	bool line, stacks, keep_last;
};

#define OFF(f) offsetof(struct boot_opts, f)

static const struct kmt_option boot_options[] = {
	{ "line", 'l', KMT_OPT_FLAG, OFF(line), NULL, "print the options only, in one line", 0, 0, NULL },
	{ "tracer", 0, KMT_OPT_STRING, OFF(tracer), "A,B,...",
	  "slab, page, percpu or vmalloc (default: slab)", 0, 0, NULL },
	{ "buffer", 0, KMT_OPT_SIZE, OFF(buffer_bytes), "SIZE",
	  "buffer for each CPU (default: 1/16 of the memory for all, 1M to 64M for each)",
	  65536, 1ull << 32, NULL },
	{ "stacks", 0, KMT_OPT_FLAG, OFF(stacks), NULL, "with the kernel stack of each event",
	  0, 0, NULL },
	{ "last", 0, KMT_OPT_FLAG, OFF(keep_last), NULL,
	  "when the buffer is full keep the last events, not the first", 0, 0, NULL },
	{ "instance", 0, KMT_OPT_STRING, OFF(instance), "NAME",
	  "into a trace instance of its own instead of the top-level buffer", 0, 0, NULL },
	{ "format", 'F', KMT_OPT_STRING, OFF(format), "FORMAT", "text, json, csv or ndjson",
	  0, 0, NULL },
	{ 0 }
};
static const struct kmt_option *const boot_tables[] = { boot_options, NULL };

/* All that is found out, before anything is printed. */
struct findings {
	const struct boot_opts *o;
	struct kmt_boot_kernel kernel;
	uint64_t each;			/* bytes of a CPU's buffer */
	struct kmt_buf options;
	struct kmt_tracefs_dir tracefs;
	/* the present boot */
	struct kmt_boot_line line;
	bool booted, has_buffer;
	struct kmt_boot_buffer buffer;
	char no_buffer[256];		/* why there is none to be seen */
};

/* ---- looking ---- */

static void look_at_buffer(struct findings *f)
{
	char dir[400];

	if (f->tracefs.path[0] && !kmt_boot_dir(&f->tracefs, f->line.instance, dir, sizeof(dir)) &&
	    !kmt_boot_buffer_look(dir, &f->buffer))
		f->has_buffer = true;
	else
		snprintf(f->no_buffer, sizeof(f->no_buffer), "%s", kmt_err_text());
}

static int look(struct findings *f)
{
	const struct boot_opts *o = f->o;
	struct kmt_boot_wish wish = {
		.buffer_bytes = o->buffer_bytes, .instance = o->instance, .stacks = o->stacks,
		.keep_last = o->keep_last, .tracers = kmt_tracers_default(),
	};

	if (o->tracer && kmt_tracers_parse(o->tracer, &wish.tracers))
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--tracer: %s (see 'kmemtrace list')",
				    kmt_err_text());
	if (o->instance && (!*o->instance || strcspn(o->instance, ",^@/ \t") != strlen(o->instance) ||
			    strlen(o->instance) >= KMT_BOOT_NAME))
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--instance: '%s' is no name of a trace instance",
				    o->instance);
	kmt_boot_kernel_ask(&f->kernel);
	f->each = o->buffer_bytes ? o->buffer_bytes : kmt_boot_buffer_bytes(&f->kernel);
	f->booted = kmt_boot_line_running(&f->line);
	if (kmt_tracefs_dir_open(&f->tracefs))
		f->tracefs.path[0] = '\0';
	else
		wish.dir = &f->tracefs;
	if (f->booted)
		look_at_buffer(f);
	if (kmt_boot_options(&f->kernel, &wish, &f->options))
		return kmt_cmd_fail(KMT_EXIT_IMPOSSIBLE, "%s", kmt_err_text());
	return 0;
}

/* "this kernel was booted with ...: N events are in the buffer, M were lost" */
static void present(const struct findings *f, struct kmt_buf *out)
{
	const struct kmt_boot_buffer *b = &f->buffer;
	char at[KMT_FMT_LEN];

	if (!f->booted) {
		kmt_buf_puts(out, "this kernel was not booted with them");
		if (f->line.options[0]) {
			kmt_buf_puts(out, ", but with ");
			kmt_buf_escape(out, f->line.options, SIZE_MAX);
		}
		return;
	}
	kmt_buf_puts(out, "this kernel was booted with ");
	kmt_buf_escape(out, f->line.options, SIZE_MAX);
	if (!f->has_buffer) {
		kmt_buf_printf(out, ": the buffer cannot be seen (%s)", f->no_buffer);
		return;
	}
	kmt_buf_printf(out, ": %" PRIu64 " events are in the buffer, %" PRIu64 " were lost", b->entries,
		       b->lost);
	if (b->read)
		kmt_buf_printf(out, ", %" PRIu64 " were taken out", b->read);
	if (b->entries && kmt_boot_clock_has_time(b->clock))
		kmt_buf_printf(out, "; the oldest is of %s after the boot",
			       kmt_fmt_duration(at, b->first_ns));
	kmt_buf_puts(out, b->is_on ? "; recording goes on" : "; recording is off");
}

/* ---- as text ---- */

/* A list of events is one long word: it is broken at its commas, to be seen on 80 columns. */
static void print_broken(const char *text, size_t indent)
{
	size_t col = indent;

	printf("%*s", (int)indent, "");
	while (*text) {
		size_t len = strcspn(text, " ,");

		len += text[len] == ',';
		if (col + len > WIDTH && col > indent) {
			printf("\n%*s", (int)indent, "");
			col = indent;
		}
		printf("%.*s", (int)len, text);
		col += len;
		text += len;
		if (*text != ' ')
			continue;
		text++;
		/* the next word, at least up to its first comma, or a line of its own */
		if (col + 2 + strcspn(text, " ,") < WIDTH) {
			putchar(' ');
			col++;
		} else {
			printf("\n%*s", (int)indent, "");
			col = indent;
		}
	}
	putchar('\n');
}

static void print_wrapped(const char *text)
{
	_cleanup_(kmt_buf_done) struct kmt_buf out = { 0 };

	kmt_buf_wrap(&out, text, 0, 0, WIDTH);
	printf("%s\n", kmt_buf_str(&out));
}

static void print_costs(const struct findings *f)
{
	const struct boot_opts *o = f->o;
	_cleanup_(kmt_buf_done) struct kmt_buf text = { 0 };
	char each[KMT_FMT_LEN], all[KMT_FMT_LEN];

	kmt_fmt_bytes(each, (int64_t)f->each, false);
	kmt_fmt_bytes(all, (int64_t)(f->each * f->kernel.n_cpus), false);
	kmt_buf_printf(&text, "Costs: %s for each of %u CPUs (%s), room for about %" PRIu64
		       " events on each, and about %s an event for as long as they are on. ", each,
		       f->kernel.n_cpus, all, f->each / (o->stacks ? STACK_BYTES : EVENT_BYTES),
		       o->stacks ? "2 us" : "0.2 us");
	kmt_buf_puts(&text, o->keep_last ? "When a buffer is full its oldest events are overwritten "
		     "and counted. " : "When a buffer is full later events are dropped and counted: "
		     "the boot stays. ");
	if (o->instance)
		kmt_buf_puts(&text, "A trace instance begins a little later than the top-level buffer, "
			     "and its clock is that of each CPU. ");
	kmt_buf_puts(&text, "What the kernel allocates before its first tracepoint is not seen.");
	if (!f->kernel.looked)
		kmt_buf_puts(&text, " The kernel's symbols cannot be read: whether it knows these "
			     "options is unknown.");
	print_wrapped(kmt_buf_str(&text));
}

static void print_text(const struct findings *f, const char *now)
{
	print_wrapped("Boot with these options on the kernel's command line, in one line (--line prints "
		      "it; on Debian: GRUB_CMDLINE_LINUX in /etc/default/grub, then update-grub):");
	putchar('\n');
	print_broken(kmt_buf_str(&f->options), 2);
	putchar('\n');
	print_costs(f);
	printf("\nAfterwards, as root:\n\n"
	       "  kmemtrace record --from-boot -o boot.kmt   the buffer into a recording\n"
	       "  kmemtrace report boot.kmt                  what took memory during boot\n"
	       "  kmemtrace report boot.kmt slabinfo         set against the kernel's own counts\n\n");
	print_broken(now, 0);
}

/* ---- as a report ---- */

static const struct kmt_column columns[] = {
	{ .key = "cpu", .title = "CPU", .unit = KMT_UNIT_COUNT, .frozen = true },
	{ .key = "events", .title = "EVENTS", .unit = KMT_UNIT_COUNT },
	{ .key = "overwritten", .title = "OVERWRITTEN", .unit = KMT_UNIT_COUNT },
	{ .key = "dropped", .title = "DROPPED", .unit = KMT_UNIT_COUNT },
	{ .key = "taken_out", .title = "TAKEN OUT", .unit = KMT_UNIT_COUNT },
	{ .key = "oldest_ns", .title = "OLDEST", .unit = KMT_UNIT_NS },
};
#define N_COLUMNS (sizeof(columns) / sizeof(columns[0]))

static int fill_rows(const struct findings *f, struct kmt_report *r)
{
	for (size_t i = 0; i < f->buffer.n_cpus; i++) {
		const struct kmt_boot_cpu *c = &f->buffer.cpu[i];
		struct kmt_row *row = kmt_report_row(r);

		if (!row)
			return -ENOMEM;
		kmt_cell_int(&row->cells[0], c->cpu);
		kmt_cell_int(&row->cells[1], (int64_t)c->entries);
		kmt_cell_int(&row->cells[2], (int64_t)c->overrun);
		kmt_cell_int(&row->cells[3], (int64_t)(c->commit_overrun + c->dropped));
		kmt_cell_int(&row->cells[4], (int64_t)c->read);
		if (c->entries && kmt_boot_clock_has_time(f->buffer.clock))
			kmt_cell_int(&row->cells[5], (int64_t)c->first_ns);
	}
	r->rows_total = r->n_rows;
	return 0;
}

static int fill_summary(const struct findings *f, struct kmt_fields *s)
{
	int err = kmt_fields_text(s, "kernel_options", "options", kmt_buf_str(&f->options));

	if (!err)
		err = kmt_fields_int(s, "buffer_bytes_per_cpu", "buffer of a CPU", KMT_UNIT_BYTES,
				     (int64_t)f->each);
	if (!err)
		err = kmt_fields_int(s, "cpus", "CPUs", KMT_UNIT_COUNT, f->kernel.n_cpus);
	if (!err)
		err = kmt_fields_text(s, "booted_with", "booted with", f->booted ? f->line.options : NULL);
	if (err || !f->has_buffer)
		return err;
	err = kmt_fields_int(s, "events", "events", KMT_UNIT_COUNT, (int64_t)f->buffer.entries);
	if (!err)
		err = kmt_fields_int(s, "lost", "lost", KMT_UNIT_COUNT, (int64_t)f->buffer.lost);
	if (!err)
		err = kmt_fields_int(s, "taken_out", "taken out", KMT_UNIT_COUNT,
				     (int64_t)f->buffer.read);
	if (!err)
		err = kmt_fields_text(s, "clock", "clock", f->buffer.clock);
	return err ? err : kmt_fields_text(s, "recording", "recording", f->buffer.is_on ? "on" : "off");
}

static int print_report(const struct kmt_renderer *renderer, const struct findings *f,
			const char *now)
{
	struct kmt_render_opts opts = { .first = true };
	struct kmt_report *r = NULL;
	struct utsname un;
	int err = kmt_report_new("boot", "cpus", columns, N_COLUMNS, &r);

	if (!err && !uname(&un))
		r->kernel = strdup(un.release);
	if (!err)
		err = fill_summary(f, &r->summary);
	if (!err)
		err = fill_rows(f, r);
	if (!err)
		err = kmt_report_note(r, "%s", now);
	if (!err)
		err = renderer->render(r, &opts, stdout);
	kmt_report_free(r);
	if (err && err != -EPIPE)
		return kmt_cmd_fail(KMT_EXIT_IMPOSSIBLE, err == -ENOMEM ? "no memory for the report" :
				    "%s", kmt_err_text());
	return KMT_EXIT_OK;
}

static int run_boot(const struct boot_opts *o, const struct kmt_renderer *renderer)
{
	struct findings f = { .o = o, .tracefs = { .mount_fd = -1 } };
	_cleanup_(kmt_buf_done) struct kmt_buf now = { 0 };
	int status = look(&f);

	present(&f, &now);
	if (!status && o->line)
		printf("%s\n", kmt_buf_str(&f.options));
	else if (!status && renderer)
		status = print_report(renderer, &f, kmt_buf_str(&now));
	else if (!status)
		print_text(&f, kmt_buf_str(&now));
	kmt_buf_done(&f.options);
	kmt_boot_buffer_done(&f.buffer);
	kmt_tracefs_dir_close(&f.tracefs);
	return status;
}

static int run(int argc, char **argv)
{
	struct boot_opts o = { .format = "text" };
	const struct kmt_renderer *renderer;
	bool help = false;
	int next = argc;

	if (kmt_options_parse(boot_tables, &o, argc, argv, &next, &help))
		return kmt_cmd_usage_error("boot");
	if (help)
		return kmt_cmd_help(kmt_command_find("boot"));
	renderer = kmt_renderer_find(o.format);
	if (!renderer) {
		kmt_err(-EINVAL, "--format: there is no format '%s'", o.format);
		return kmt_cmd_usage_error("boot");
	}
	if (next < argc) {
		kmt_err(-EINVAL, "unexpected argument '%s'", argv[next]);
		return kmt_cmd_usage_error("boot");
	}
	return run_boot(&o, strcmp(o.format, "text") ? renderer : NULL);
}

extern const struct kmt_command kmt_command_boot;
const struct kmt_command kmt_command_boot = {
	.name = "boot",
	.synopsis = "boot [OPTIONS]",
	.help = "the kernel's options that record its memory from the boot on",
	.options = boot_tables,
	.run = run,
};
