// SPDX-License-Identifier: GPL-2.0-only
/* The tracing directory on tracers that trace nothing: paths, modes, texts, writes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "control/stat.h"
#include "control/tree.h"
#include "fake_control.h"

struct world {
	struct fake fake;
	struct kmt_control_ops ops;
	struct kmt_tree *tree;
	struct fake_tracer *made;	/* the last */
};

#define MAX_TEXTS	1024	/* bytes of statistics that are open */

static struct world *current;

static int make_noted(void *ctx, const char *name, void **ret_tracer)
{
	int err = fake_make(ctx, name, ret_tracer);

	if (!err)
		current->made = *ret_tracer;
	return err;
}

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct kmt_tree_opts opts = { .has_stat_group = true, .stat_gid = 77,
				      .max_stat_bytes = MAX_TEXTS };

	current = w;
	w->ops = fake_ops(&w->fake);
	w->ops.make = make_noted;
	opts.ops = &w->ops;
	*state = w;
	return kmt_tree_new(&opts, &w->tree);
}

static int tear_down(void **state)
{
	struct world *w = *state;

	kmt_tree_free(w->tree);
	assert_int_equal(w->fake.n_tracers, 0);
	free(w);
	return 0;
}

/* ---- helpers: as the shell does it ---- */

static kmt_node node(struct world *w, const char *path)
{
	kmt_node n = 0;

	if (kmt_tree_path(w->tree, path, &n))
		fail_msg("there is no %s", path);
	return n;
}

static struct kmt_file *open_path(struct world *w, const char *path, int flags)
{
	struct kmt_file *f = NULL;
	int err = kmt_tree_open(w->tree, node(w, path), flags, &f);

	if (err)
		fail_msg("%s: %d %s", path, err, kmt_err_text());
	return f;
}

/* cat PATH, in reads of 'step' bytes */
static char *cat_by(struct world *w, const char *path, size_t step)
{
	struct kmt_file *f = open_path(w, path, O_RDONLY);
	struct kmt_buf b = { 0 };
	char part[4096];
	ssize_t n;

	while ((n = kmt_file_read(f, part, step, b.len)) > 0)
		kmt_buf_add(&b, part, (size_t)n);
	assert_true(n == 0 || n == -EAGAIN);
	kmt_file_close(f);
	return kmt_buf_take(&b);
}

static void assert_cat(struct world *w, const char *path, const char *text)
{
	char *is = cat_by(w, path, 4096);

	assert_string_equal(is, text);
	free(is);
}

/* printf TEXT > PATH, or >> PATH; 0 or what was wrong */
static int put(struct world *w, const char *path, const char *text, int more_flags)
{
	struct kmt_file *f = NULL;
	int err = kmt_tree_open(w->tree, node(w, path), O_WRONLY | more_flags, &f);
	ssize_t n;

	if (err)
		return err;
	n = *text ? kmt_file_write(f, text, strlen(text)) : 0;
	kmt_file_close(f);
	return n < 0 ? (int)n : 0;
}

static int echo(struct world *w, const char *text, const char *path)
{
	char line[512];

	snprintf(line, sizeof(line), "%s\n", text);
	return put(w, path, line, O_TRUNC);
}

/* ---- what there is ---- */

static const struct {
	const char *name;
	mode_t mode;
} expected[] = {
	{ "README", 0440 }, { "available_tracers", 0440 }, { "current_tracer", 0640 },
	{ "tracing_on", 0640 }, { "trace", 0640 }, { "trace_pipe", 0440 },
	{ "trace_options", 0640 }, { "buffer_size_kb", 0640 }, { "buffer_total_size_kb", 0440 },
	{ "free_buffer", 0200 }, { "set_event_pid", 0640 }, { "cache_filter", 0640 },
	{ "cache_notrace", 0640 }, { "object_table_kb", 0640 }, { "call_site_table", 0640 },
	{ "overruns", 0440 }, { "error_log", 0640 }, { "options", 040750 },
	{ "trace_stat", 040750 }, { "instances", 040750 },
};
#define N_EXPECTED (sizeof(expected) / sizeof(expected[0]))

static void check_top(struct world *w, const char *dir, size_t n_expected)
{
	struct kmt_tree_entry *entries = NULL;
	size_t n = 0;

	assert_int_equal(kmt_tree_list(w->tree, node(w, dir), &entries, &n), 0);
	assert_int_equal(n, n_expected);
	for (size_t i = 0; i < n; i++) {
		struct kmt_tree_stat st;
		mode_t mode = expected[i].mode & S_IFDIR ? expected[i].mode :
			      S_IFREG | expected[i].mode;
		char path[300];

		assert_string_equal(entries[i].name, expected[i].name);
		snprintf(path, sizeof(path), "%s/%s", dir, entries[i].name);
		assert_int_equal(entries[i].node, node(w, path));
		assert_int_equal(kmt_tree_stat(w->tree, entries[i].node, &st), 0);
		assert_int_equal(st.mode, mode);
		assert_int_equal(entries[i].mode, mode);
	}
	kmt_tree_entries_free(entries, n);
}

static void test_what_there_is(void **state)
{
	struct world *w = *state;
	struct kmt_tree_stat st;
	struct kmt_file *f;
	kmt_node n;

	check_top(w, "", N_EXPECTED);
	assert_int_equal(kmt_tree_mkdir(w->tree, node(w, "instances"), "web", &n), 0);
	assert_int_equal(n, node(w, "instances/web"));
	check_top(w, "instances/web", N_EXPECTED - 1);	/* no instances/ in an instance */
	assert_int_equal(kmt_tree_path(w->tree, "instances/web/instances", &n), -ENOENT);
	assert_int_equal(kmt_tree_path(w->tree, "trace/x", &n), -ENOTDIR);
	assert_int_equal(kmt_tree_path(w->tree, "nothing", &n), -ENOENT);
	assert_int_equal(kmt_tree_open(w->tree, node(w, "options"), O_RDONLY, &f), -EISDIR);
	assert_int_equal(kmt_tree_stat(w->tree, node(w, ""), &st), 0);
	assert_int_equal(st.n_links, 5);	/* itself, its name, three directories */
	assert_int_equal(kmt_tree_stat(w->tree, node(w, "instances"), &st), 0);
	assert_int_equal(st.n_links, 3);
	assert_int_equal(kmt_tree_stat(w->tree, 0x999, &st), -ENOENT);
	assert_int_equal(kmt_tree_stat(w->tree, 99ull << 16 | 1, &st), -ENOENT);
}

static void test_group(void **state)
{
	static const char *const of_group[] = { "", "trace_stat", "instances",
						"trace_stat/call_site" };
	static const char *const of_root[] = { "options", "trace", "current_tracer", "trace_pipe" };
	struct world *w = *state;
	struct kmt_tree_stat st;

	for (size_t i = 0; i < sizeof(of_group) / sizeof(of_group[0]); i++) {
		assert_int_equal(kmt_tree_stat(w->tree, node(w, of_group[i]), &st), 0);
		assert_int_equal(st.gid, 77);
		assert_int_equal(st.mode & 037, S_ISDIR(st.mode) ? 010 : 0);
		assert_int_equal(st.mode & 040, 040);
	}
	for (size_t i = 0; i < sizeof(of_root) / sizeof(of_root[0]); i++) {
		assert_int_equal(kmt_tree_stat(w->tree, node(w, of_root[i]), &st), 0);
		assert_int_equal(st.gid, 0);
	}
}

/* ---- settings ---- */

static void test_words(void **state)
{
	struct world *w = *state;
	char longest[400];

	assert_cat(w, "available_tracers", "kmemtrace nop\n");
	assert_cat(w, "current_tracer", "nop\n");
	assert_cat(w, "buffer_total_size_kb", "2816\n");
	assert_int_equal(echo(w, "kmemtrace", "current_tracer"), 0);
	assert_cat(w, "current_tracer", "kmemtrace\n");
	assert_int_equal(put(w, "current_tracer", "nop", 0), 0);	/* echo -n */
	assert_cat(w, "current_tracer", "nop\n");
	assert_int_equal(put(w, "buffer_size_kb", " \t64 \n", 0), 0);
	assert_cat(w, "buffer_size_kb", "64\n");
	assert_int_equal(echo(w, "function", "current_tracer"), -EINVAL);
	assert_int_equal(echo(w, "nop nop", "current_tracer"), -EINVAL);
	assert_int_equal(echo(w, "", "current_tracer"), -EINVAL);
	assert_int_equal(echo(w, "2", "tracing_on"), -EINVAL);
	assert_int_equal(put(w, "tracing_on", "1\x01\n", 0), -EINVAL);
	assert_int_equal(echo(w, "123456789", "buffer_size_kb"), -E2BIG);
	memset(longest, '1', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(put(w, "buffer_size_kb", longest, 0), -E2BIG);
	assert_int_equal(echo(w, "1", "buffer_total_size_kb"), -EINVAL);
	assert_int_equal(echo(w, "1", "README"), -EINVAL);
	assert_int_equal(echo(w, "kmemtrace", "current_tracer"), 0);
	assert_int_equal(echo(w, "128", "object_table_kb"), -EBUSY);
	assert_cat(w, "object_table_kb", "0\n");
	assert_cat(w, "buffer_size_kb", "64\n");
	assert_cat(w, "overruns", "ring: 0\nobjects: 3\n");
}

static void test_options(void **state)
{
	struct world *w = *state;

	assert_cat(w, "trace_options", "nokmem_minimalistic\nnokmem_alternative\nnokmem_gfp\n"
		   "nokmem_time\nnokmem_cache\nnokmem_real_node\nnostacktrace\n");
	assert_int_equal(echo(w, "kmem_minimalistic", "trace_options"), 0);
	assert_int_equal(echo(w, "stacktrace", "trace_options"), 0);
	/* one option with two names */
	assert_cat(w, "trace_options", "kmem_minimalistic\nkmem_alternative\nnokmem_gfp\n"
		   "nokmem_time\nnokmem_cache\nnokmem_real_node\nstacktrace\n");
	assert_cat(w, "options/kmem_minimalistic", "1\n");
	assert_cat(w, "options/kmem_gfp", "0\n");
	assert_int_equal(echo(w, "0", "options/kmem_alternative"), 0);
	assert_cat(w, "options/kmem_minimalistic", "0\n");
	assert_int_equal(echo(w, "nostacktrace", "trace_options"), 0);
	assert_cat(w, "options/stacktrace", "0\n");
	assert_int_equal(echo(w, "1", "options/kmem_time"), 0);
	assert_cat(w, "options/kmem_time", "1\n");
	assert_int_equal(echo(w, "2", "options/kmem_time"), -EINVAL);
	assert_int_equal(echo(w, "kmem_nothing", "trace_options"), -EINVAL);
	assert_int_equal(echo(w, "no", "trace_options"), -EINVAL);
	assert_int_equal(echo(w, "nonokmem_time", "trace_options"), -EINVAL);
	assert_int_equal(echo(w, "kmem_gfp kmem_time", "trace_options"), -EINVAL);
}

static void test_lists(void **state)
{
	struct world *w = *state;
	struct kmt_file *f;
	char *many = malloc(70000);

	assert_cat(w, "set_event_pid", "");
	assert_int_equal(echo(w, "12 34", "set_event_pid"), 0);
	assert_cat(w, "set_event_pid", "12\n34\n");
	assert_int_equal(put(w, "set_event_pid", "56\n", O_APPEND), 0);		/* >> */
	assert_string_equal(w->made->knob[KMT_KNOB_EVENT_PID], "12 34 56");
	assert_int_equal(put(w, "set_event_pid", "x\n", O_APPEND), -EINVAL);
	assert_string_equal(w->made->knob[KMT_KNOB_EVENT_PID], "12 34 56");
	assert_int_equal(put(w, "set_event_pid", "", O_TRUNC), 0);		/* : > */
	assert_cat(w, "set_event_pid", "");
	/* cat > set_event_pid: in pieces, also within a number; a bad one changes nothing */
	f = open_path(w, "set_event_pid", O_WRONLY | O_TRUNC);
	assert_int_equal(kmt_file_write(f, "1 2", 3), 3);
	assert_int_equal(kmt_file_write(f, "3\n4", 3), 3);
	assert_int_equal(kmt_file_write(f, " y", 2), -EINVAL);
	assert_int_equal(kmt_file_write(f, "\n\n5\n", 4), 4);
	kmt_file_close(f);
	assert_cat(w, "set_event_pid", "1\n23\n4\n5\n");
	assert_int_equal(echo(w, "dentry  inode_*", "cache_filter"), 0);
	assert_cat(w, "cache_filter", "dentry\ninode_*\n");
	assert_cat(w, "cache_notrace", "");
	assert_int_equal(echo(w, "", "cache_filter"), 0);
	assert_cat(w, "cache_filter", "");
	/* more than 64 KiB of words */
	f = open_path(w, "cache_notrace", O_WRONLY | O_TRUNC);
	memset(many, 'a', 70000);
	assert_int_equal(kmt_file_write(f, many, 65536), 65536);
	assert_int_equal(kmt_file_write(f, many, 1), -E2BIG);
	kmt_file_close(f);
	free(many);
}

static void test_readme(void **state)
{
	struct world *w = *state;
	char *text = cat_by(w, "README", 4096);

	for (size_t i = 0; i < N_EXPECTED; i++)
		if (strcmp(expected[i].name, "README"))
			assert_non_null(strstr(text, expected[i].name));
	for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1)
		assert_true(end - line <= 80);
	free(text);
}

/* ---- events ---- */

static void test_trace(void **state)
{
	struct world *w = *state;
	struct kmt_file *f;
	struct kmt_buf all = { 0 };
	char part[4096];
	unsigned seed = 5;

	fake_events(w->made, 2);
	assert_cat(w, "trace", "# tracer: kmemtrace\n#\nevent 0\nevent 1\n");
	assert_cat(w, "trace", "# tracer: kmemtrace\n#\nevent 0\nevent 1\n");
	assert_int_equal(echo(w, "kmem_minimalistic", "trace_options"), 0);
	assert_cat(w, "trace", "# tracer: kmemtrace\n#\n+ 0\n+ 1\n");	/* the same events */
	assert_int_equal(put(w, "trace", "x\n", O_APPEND), 0);		/* says nothing */
	assert_cat(w, "trace", "# tracer: kmemtrace\n#\n+ 0\n+ 1\n");
	assert_int_equal(put(w, "trace", "", O_TRUNC), 0);
	assert_cat(w, "trace", "# tracer: kmemtrace\n#\n");
	fake_events(w->made, 1);
	assert_int_equal(kmt_tree_truncate(w->tree, node(w, "trace")), 0);
	assert_cat(w, "trace", "# tracer: kmemtrace\n#\n");
	/* any offset and size: the bytes of one sequential reading; later events change nothing */
	fake_events(w->made, 5000);
	f = open_path(w, "trace", O_RDONLY);
	fake_events(w->made, 5);
	for (ssize_t n; (n = kmt_file_read(f, part, sizeof(part), all.len)) > 0;)
		kmt_buf_add(&all, part, (size_t)n);
	assert_true(all.len > 5000 * 4);
	for (int i = 0; i < 2000; i++) {
		size_t offset = (size_t)rand_r(&seed) % (all.len + 100);
		size_t size = 1 + (size_t)rand_r(&seed) % sizeof(part), left = 0;

		if (offset < all.len)
			left = all.len - offset < size ? all.len - offset : size;
		assert_int_equal(kmt_file_read(f, part, size, offset), left);
		if (left)
			assert_memory_equal(part, all.data + offset, left);
	}
	kmt_file_close(f);
	kmt_buf_done(&all);
}

static void test_free_buffer(void **state)
{
	struct world *w = *state;
	struct kmt_file *f;

	fake_events(w->made, 3);
	assert_int_equal(kmt_tree_truncate(w->tree, node(w, "free_buffer")), 0);
	f = open_path(w, "free_buffer", O_WRONLY);
	assert_int_equal(kmt_file_write(f, "1\n", 2), 2);
	assert_int_equal(w->made->next - w->made->first, 3);	/* not before it is closed */
	kmt_file_close(f);
	assert_int_equal(w->made->next - w->made->first, 0);
	assert_cat(w, "free_buffer", "");
}

static void test_pipe(void **state)
{
	struct world *w = *state;
	struct kmt_file *f = open_path(w, "trace_pipe", O_RDONLY), *g;
	char part[4096];

	assert_true(kmt_file_is_pipe(f));
	/* nothing was read yet: it waits, whether or not something traces */
	assert_int_equal(kmt_file_read(f, part, sizeof(part), 0), -EAGAIN);
	assert_false(kmt_file_is_ready(f));
	assert_int_equal(echo(w, "kmemtrace", "current_tracer"), 0);
	fake_events(w->made, 2);
	assert_true(kmt_file_is_ready(f));
	assert_int_equal(kmt_file_read(f, part, 3, 0), 3);	/* less than a line */
	assert_memory_equal(part, "eve", 3);
	/* what one reader took is not there for another */
	g = open_path(w, "trace_pipe", O_RDONLY);
	assert_int_equal(kmt_file_read(g, part, sizeof(part), 0), -EAGAIN);
	kmt_file_close(g);
	assert_int_equal(kmt_file_read(f, part, sizeof(part), 77), 13);
	assert_memory_equal(part, "nt 0\nevent 1\n", 13);
	assert_int_equal(kmt_file_read(f, part, sizeof(part), 0), -EAGAIN);
	/* the end: it read something, nothing is left, and nothing traces */
	fake_events(w->made, 1);
	assert_int_equal(echo(w, "nop", "current_tracer"), 0);
	assert_true(kmt_file_is_ready(f));
	assert_int_equal(kmt_file_read(f, part, sizeof(part), 0), 8);
	assert_true(kmt_file_is_ready(f));
	assert_int_equal(kmt_file_read(f, part, sizeof(part), 0), 0);
	assert_int_equal(echo(w, "kmemtrace", "current_tracer"), 0);
	assert_int_equal(kmt_file_read(f, part, sizeof(part), 0), -EAGAIN);
	assert_int_equal(echo(w, "0", "tracing_on"), 0);
	assert_int_equal(kmt_file_read(f, part, sizeof(part), 0), 0);
	kmt_file_close(f);
	/* reading it leaves 'trace' as it is */
	assert_cat(w, "trace", "# tracer: kmemtrace\n#\nevent 0\nevent 1\nevent 2\n");
}

/* ---- statistics ---- */

static void test_stat_files(void **state)
{
	struct world *w = *state;
	char *text = cat_by(w, "trace_stat/call_site", 7);
	char *large = strstr(text, "large_site+0x2\n"), *small = strstr(text, "small_site+0x1\n");

	assert_memory_equal(text, "allocs ", 7);
	assert_true(large && small && large < small);
	assert_non_null(strstr(text, " 8192 "));
	free(text);
	text = cat_by(w, "trace_stat/overflow", 4096);	/* of 'overruns' */
	assert_non_null(strstr(text, "3 objects\n"));
	free(text);
	assert_int_equal(echo(w, "0", "trace_stat/call_site"), 0);
	assert_int_equal(w->made->n_resets, 1);
	assert_int_equal(echo(w, "1", "trace_stat/call_site"), -EINVAL);
	assert_int_equal(put(w, "trace_stat/call_site", "", O_TRUNC), 0);
	assert_int_equal(w->made->n_resets, 1);
	w->fake.never_traced = true;
	text = cat_by(w, "trace_stat/call_site", 4096);
	assert_memory_equal(text, "allocs ", 7);
	assert_ptr_equal(strchr(text, '\n') + 1, text + strlen(text));	/* titles alone */
	free(text);
}

/* ---- instances ---- */

static void test_instances(void **state)
{
	struct world *w = *state;
	kmt_node dir = node(w, "instances"), n, other;
	struct kmt_file *f;
	struct kmt_tree_stat st;

	assert_int_equal(kmt_tree_mkdir(w->tree, dir, "web", &n), 0);
	assert_int_equal(kmt_tree_mkdir(w->tree, dir, "web", &other), -EEXIST);
	assert_int_equal(kmt_tree_mkdir(w->tree, dir, "a\nb", &other), -EINVAL);
	assert_int_equal(kmt_tree_mkdir(w->tree, node(w, ""), "web", &other), -EPERM);
	assert_int_equal(kmt_tree_mkdir(w->tree, node(w, "trace_stat"), "x", &other), -EPERM);
	assert_int_equal(w->fake.n_tracers, 2);
	/* settings and events of its own */
	assert_int_equal(echo(w, "kmemtrace", "instances/web/current_tracer"), 0);
	assert_cat(w, "current_tracer", "nop\n");
	fake_events(w->made, 1);
	assert_cat(w, "trace", "# tracer: kmemtrace\n#\n");
	assert_cat(w, "instances/web/trace", "# tracer: kmemtrace\n#\nevent 0\n");
	/* not while a file is open; also not while it is only being waited for */
	f = open_path(w, "instances/web/trace_pipe", O_RDONLY);
	assert_int_equal(kmt_tree_rmdir(w->tree, dir, "web"), -EBUSY);
	kmt_file_close(f);
	assert_int_equal(kmt_tree_rmdir(w->tree, dir, "web"), 0);
	assert_int_equal(w->fake.n_tracers, 1);
	assert_int_equal(kmt_tree_rmdir(w->tree, dir, "web"), -ENOENT);
	assert_int_equal(kmt_tree_rmdir(w->tree, node(w, ""), "options"), -EPERM);
	assert_int_equal(kmt_tree_stat(w->tree, n, &st), -ENOENT);
	/* a new one of the same name is another one */
	assert_int_equal(kmt_tree_mkdir(w->tree, dir, "web", &other), 0);
	assert_int_not_equal(n, other);
	assert_cat(w, "instances/web/current_tracer", "nop\n");
	w->fake.may_not_make = true;
	assert_int_equal(kmt_tree_mkdir(w->tree, dir, "more", &n), -EPERM);
	assert_int_equal(kmt_tree_path(w->tree, "instances/more", &n), -ENOENT);
}

/* ---- error_log ---- */

/* The log without its times: "[    1.234567] x" becomes "x". */
static char *log_text(struct world *w, const char *path)
{
	char *text = cat_by(w, path, 4096), *out = text;

	for (char *line = text, *end; *line; line = end) {
		end = strchr(line, '\n') + 1;
		if (*line == '[') {
			char *close = strchr(line, ']');

			assert_non_null(close);
			assert_int_equal(close[-7], '.');
			assert_true(close - line >= 13);
			line = close + 2;
		}
		memmove(out, line, (size_t)(end - line));
		out += end - line;
	}
	*out = '\0';
	return text;
}

static void assert_log(struct world *w, const char *path, const char *text)
{
	char *is = log_text(w, path);

	assert_string_equal(is, text);
	free(is);
}

static void test_error_log(void **state)
{
	struct world *w = *state;
	struct kmt_file *f;
	kmt_node n;
	char name[20];

	assert_cat(w, "error_log", "");
	assert_int_equal(echo(w, "function", "current_tracer"), -EINVAL);
	assert_int_equal(echo(w, "2\x1b[0m", "options/kmem_gfp"), -EINVAL);
	assert_log(w, "error_log", "current_tracer: error: there is no tracer 'function'\n"
		   "  Command: function\n"
		   "options/kmem_gfp: error: a control character in the value\n"
		   "  Command: 2\\x1b[0m\n");
	assert_int_equal(echo(w, "", "error_log"), 0);
	assert_cat(w, "error_log", "");
	/* eight, the newest last */
	for (int i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "t%d", i);
		assert_int_equal(echo(w, name, "current_tracer"), -EINVAL);
	}
	{
		char *text = log_text(w, "error_log");

		assert_null(strstr(text, "t1"));
		assert_memory_equal(text, "current_tracer: error: there is no tracer 't2'\n", 47);
		assert_non_null(strstr(text, "  Command: t9\n"));
		free(text);
	}
	assert_int_equal(put(w, "error_log", "", O_TRUNC), 0);
	assert_cat(w, "error_log", "");
	/* each tracer has its own; directories are told in the root's */
	assert_int_equal(kmt_tree_mkdir(w->tree, node(w, "instances"), "web", &n), 0);
	assert_int_equal(echo(w, "3", "instances/web/tracing_on"), -EINVAL);
	assert_cat(w, "error_log", "");
	assert_log(w, "instances/web/error_log", "tracing_on: error: neither 0 nor 1\n"
		   "  Command: 3\n");
	f = open_path(w, "instances/web/trace", O_RDONLY);
	assert_int_equal(kmt_tree_rmdir(w->tree, node(w, "instances"), "web"), -EBUSY);
	kmt_file_close(f);
	assert_log(w, "error_log", "instances: error: one of its files is open\n"
		   "  Command: web\n");
}

/* ---- how files are used ---- */

/* Who opens again and again does not get all memory; what is closed makes room. */
static void test_many_texts(void **state)
{
	static const char path[] = "trace_stat/call_site";
	struct world *w = *state;
	struct kmt_file *f[MAX_TEXTS], *one;
	char *text = cat_by(w, path, 4096);
	size_t n = 0, most = MAX_TEXTS / strlen(text);

	while (n <= most && !kmt_tree_open(w->tree, node(w, path), O_RDONLY, &f[n]))
		n++;
	assert_in_range(n, 2, most);
	assert_int_equal(kmt_tree_open(w->tree, node(w, path), O_RDONLY, &one), -ENOMEM);
	assert_cat(w, "tracing_on", "1\n");	/* no statistics */
	kmt_file_close(f[n - 1]);
	f[n - 1] = open_path(w, path, O_RDONLY);
	while (n)
		kmt_file_close(f[--n]);
	free(text);
	text = log_text(w, "error_log");
	assert_non_null(strstr(text, "trace_stat/call_site: error: open files of trace_stat/ take "));
	free(text);
}

static void test_access(void **state)
{
	struct world *w = *state;
	struct kmt_file *f = open_path(w, "tracing_on", O_RDWR);
	char c[8];

	/* what it says is what it said when it was opened */
	assert_int_equal(kmt_file_write(f, "0\n", 2), 2);
	assert_int_equal(kmt_file_read(f, c, sizeof(c), 0), 2);
	assert_memory_equal(c, "1\n", 2);
	assert_true(kmt_file_is_ready(f));
	kmt_file_close(f);
	f = open_path(w, "tracing_on", O_WRONLY);
	assert_int_equal(kmt_file_read(f, c, sizeof(c), 0), -EBADF);
	kmt_file_close(f);
	f = open_path(w, "tracing_on", O_RDONLY);
	assert_int_equal(kmt_file_write(f, "1\n", 2), -EBADF);
	assert_int_equal(kmt_file_read(f, c, 1, 0), 1);
	assert_int_equal(*c, '0');
	assert_int_equal(kmt_file_read(f, c, 8, 1), 1);
	assert_int_equal(kmt_file_read(f, c, 8, 2), 0);
	assert_int_equal(kmt_file_read(f, c, 8, UINT64_MAX), 0);
	assert_int_equal(kmt_file_read(f, c, 0, 0), 0);
	kmt_file_close(f);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_what_there_is), TEST(test_group), TEST(test_words), TEST(test_options),
		TEST(test_lists), TEST(test_readme), TEST(test_trace), TEST(test_free_buffer),
		TEST(test_pipe), TEST(test_stat_files),
		TEST(test_instances), TEST(test_error_log), TEST(test_many_texts),
		TEST(test_access),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
