// SPDX-License-Identifier: GPL-2.0-only
/* What reading and writing does, for each type of file. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "control/stat.h"
#include "control/tree_priv.h"
#include "report/report.h"

#define WORD_MAX_LEN	255	/* bytes of a value */
#define LIST_MAX_LEN	65536	/* bytes of all words of a list */
#define PIPE_CHUNK	8192	/* what is asked for when a reader takes less than a line */

static const struct kmt_control_ops *ops_of(const struct kmt_file *f)
{
	return f->instance->tree->ops;
}

static void *tracer_of(const struct kmt_file *f)
{
	return f->instance->tracer;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* No bytes that no value has; blanks are none of them. */
static int check_bytes(const char *data, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (((unsigned char)data[i] < ' ' || data[i] == 0x7f) && !is_blank(data[i]))
			return kmt_err(-EINVAL, "a control character in the value");
	return 0;
}

/* One word, with blanks around it at most; "" is an error too. */
static int parse_word(const char *data, size_t size, char word[static WORD_MAX_LEN + 1])
{
	int err = check_bytes(data, size);

	if (err)
		return err;
	while (size && is_blank(data[size - 1]))
		size--;
	while (size && is_blank(*data)) {
		data++;
		size--;
	}
	if (!size)
		return kmt_err(-EINVAL, "a value is missing");
	if (size > WORD_MAX_LEN)
		return kmt_err(-E2BIG, "a value of more than %d bytes", WORD_MAX_LEN);
	for (size_t i = 0; i < size; i++)
		if (is_blank(data[i]))
			return kmt_err(-EINVAL, "more than one word");
	memcpy(word, data, size);
	word[size] = '\0';
	return 0;
}

/* ---- word: one value ---- */

static int word_text(struct kmt_file *f, struct kmt_buf *out)
{
	int err = ops_of(f)->get(tracer_of(f), f->row.knob, out);

	kmt_buf_puts(out, "\n");
	return err;
}

static int word_write(struct kmt_file *f, const char *data, size_t size)
{
	char word[WORD_MAX_LEN + 1];
	int err = parse_word(data, size, word);

	return err ? err : ops_of(f)->set(tracer_of(f), f->row.knob, word);
}

static const struct kmt_file_type type_word = { .text = word_text, .write = word_write };

/* ---- flag: an option's own file ---- */

static int set_flag(struct kmt_file *f, enum kmt_knob knob, bool on)
{
	return ops_of(f)->set(tracer_of(f), knob, on ? "1" : "0");
}

static int flag_write(struct kmt_file *f, const char *data, size_t size)
{
	char word[WORD_MAX_LEN + 1];
	int err = parse_word(data, size, word);

	if (err)
		return err;
	if (strcmp(word, "0") && strcmp(word, "1"))
		return kmt_err(-EINVAL, "neither 0 nor 1");
	return set_flag(f, f->row.knob, *word == '1');
}

static const struct kmt_file_type type_flag = { .text = word_text, .write = flag_write };

/* ---- list: words, also in pieces ---- */

/* One a line, as tracefs lists process numbers. */
static int list_text(struct kmt_file *f, struct kmt_buf *out)
{
	_cleanup_buf_ struct kmt_buf value = { 0 };
	int err = ops_of(f)->get(tracer_of(f), f->row.knob, &value);
	char *rest = value.data, *word;

	while (rest && (word = strsep(&rest, " \t\n")))
		if (*word)
			kmt_buf_printf(out, "%s\n", word);
	return err ? err : value.error;
}

static int list_set(struct kmt_file *f, const struct kmt_buf *text)
{
	_cleanup_buf_ struct kmt_buf words = { 0 };

	for (size_t i = 0; i < text->len; i++) {
		bool begins = !is_blank(text->data[i]) && (!i || is_blank(text->data[i - 1]));

		if (begins && words.len)
			kmt_buf_puts(&words, " ");
		if (!is_blank(text->data[i]))
			kmt_buf_add(&words, &text->data[i], 1);
	}
	if (words.error)
		return kmt_err(words.error, "no memory for the list");
	return ops_of(f)->set(tracer_of(f), f->row.knob, kmt_buf_str(&words));
}

/* Each piece is in force at once, so that a writer learns what was wrong with it. */
static int list_write(struct kmt_file *f, const char *data, size_t size)
{
	size_t before = f->list.len;
	int err = check_bytes(data, size);

	if (err)
		return err;
	if (!f->list.data && !(f->flags & O_TRUNC)) {
		err = list_text(f, &f->list);
		before = f->list.len;
	}
	if (!err && size > LIST_MAX_LEN - before)
		err = kmt_err(-E2BIG, "a list of more than %d bytes", LIST_MAX_LEN);
	if (err)
		return err;
	kmt_buf_add(&f->list, data, size);
	if (f->list.error)
		return kmt_err(f->list.error, "no memory for the list");
	err = list_set(f, &f->list);
	if (err)
		f->list.len = before;	/* a later piece has nothing to do with it */
	return err;
}

static int list_truncate(struct kmt_file *f)
{
	return ops_of(f)->set(tracer_of(f), f->row.knob, "");
}

static const struct kmt_file_type type_list = {
	.text = list_text, .write = list_write, .truncate = list_truncate,
};

/* ---- trace ---- */

static int trace_open(struct kmt_file *f)
{
	return ops_of(f)->text_open(tracer_of(f), &f->kept);
}

static ssize_t trace_read(struct kmt_file *f, char *out, size_t size, uint64_t offset)
{
	return ops_of(f)->text_read(f->kept, out, size, offset);
}

/* As in ftrace only O_TRUNC forgets the events: what is written says nothing. */
static int ignore_write(struct kmt_file *f, const char *data, size_t size)
{
	return 0;
}

static int trace_truncate(struct kmt_file *f)
{
	return ops_of(f)->clear(tracer_of(f));
}

static void trace_close(struct kmt_file *f)
{
	if (f->kept)
		ops_of(f)->text_close(f->kept);
}

static const struct kmt_file_type type_trace = {
	.open = trace_open, .read = trace_read, .write = ignore_write, .truncate = trace_truncate,
	.close = trace_close,
};

/* ---- trace_pipe ---- */

static bool knob_is(const struct kmt_file *f, enum kmt_knob knob, const char *value)
{
	_cleanup_buf_ struct kmt_buf b = { 0 };

	return !ops_of(f)->get(tracer_of(f), knob, &b) && !strcmp(kmt_buf_str(&b), value);
}

/*
 * As in ftrace: who has read something is told the end when nothing more can come;
 * who has not may have opened the file in order to start the tracer then.
 */
static bool pipe_at_end(const struct kmt_file *f)
{
	return f->has_read && (knob_is(f, KMT_KNOB_TRACER, "nop") ||
			       knob_is(f, KMT_KNOB_TRACING_ON, "0"));
}

static ssize_t pipe_take(struct kmt_file *f, char *out, size_t size)
{
	ssize_t n;

	if (size >= PIPE_CHUNK)
		return ops_of(f)->pipe_read(tracer_of(f), out, size);
	/* less than a line may have been asked for: the rest waits for the next read */
	kmt_buf_clear(&f->left);
	kmt_buf_reserve(&f->left, PIPE_CHUNK);
	if (f->left.error)
		return f->left.error;
	n = ops_of(f)->pipe_read(tracer_of(f), f->left.data, PIPE_CHUNK);
	if (n <= 0)
		return n;
	f->left.len = (size_t)n;
	f->left_pos = size < (size_t)n ? size : (size_t)n;
	memcpy(out, f->left.data, f->left_pos);
	return (ssize_t)f->left_pos;
}

static ssize_t pipe_read(struct kmt_file *f, char *out, size_t size, uint64_t offset)
{
	size_t left = f->left.len - f->left_pos;
	bool at_end;
	ssize_t n;

	if (left) {
		if (left > size)
			left = size;
		memcpy(out, f->left.data + f->left_pos, left);
		f->left_pos += left;
		return (ssize_t)left;
	}
	f->left.len = f->left_pos = 0;
	at_end = pipe_at_end(f);	/* first, or the last events could come in between */
	n = pipe_take(f, out, size);
	if (n > 0)
		f->has_read = true;
	return n || at_end ? n : -EAGAIN;
}

static const struct kmt_file_type type_pipe = { .read = pipe_read, .is_pipe = true };

bool kmt_file_is_ready(struct kmt_file *f)
{
	bool ready;

	if (!f->row.type->is_pipe)
		return true;
	pthread_mutex_lock(&f->lock);
	ready = f->left.len > f->left_pos || ops_of(f)->pipe_ready(tracer_of(f)) || pipe_at_end(f);
	pthread_mutex_unlock(&f->lock);
	return ready;
}

/* ---- free_buffer ---- */

static void free_buffer_close(struct kmt_file *f)
{
	ops_of(f)->clear(tracer_of(f));
}

static const struct kmt_file_type type_free_buffer = {
	.write = ignore_write, .close = free_buffer_close,
};

/* ---- trace_options ---- */

static int options_text(struct kmt_file *f, struct kmt_buf *out)
{
	for (const struct kmt_file_row *o = kmt_option_files; o->name; o++) {
		_cleanup_buf_ struct kmt_buf value = { 0 };
		int err = ops_of(f)->get(tracer_of(f), o->knob, &value);

		if (err)
			return err;
		kmt_buf_printf(out, "%s%s\n", strcmp(kmt_buf_str(&value), "0") ? "" : "no", o->name);
	}
	return 0;
}

static int options_write(struct kmt_file *f, const char *data, size_t size)
{
	char word[WORD_MAX_LEN + 1];
	bool off;
	int err = parse_word(data, size, word);

	if (err)
		return err;
	off = !strncmp(word, "no", 2);
	for (const struct kmt_file_row *o = kmt_option_files; o->name; o++)
		if (!strcmp(word + (off ? 2 : 0), o->name))
			return set_flag(f, o->knob, !off);
	return kmt_err(-EINVAL, "there is no such option");
}

static const struct kmt_file_type type_options = { .text = options_text, .write = options_write };

/* ---- what is only told ---- */

static int tracers_text(struct kmt_file *f, struct kmt_buf *out)
{
	kmt_buf_puts(out, "kmemtrace nop\n");
	return 0;
}

static const struct kmt_file_type type_tracers = { .text = tracers_text };

static int readme_text(struct kmt_file *f, struct kmt_buf *out)
{
	kmt_buf_puts(out, kmt_readme);
	return 0;
}

static const struct kmt_file_type type_readme = { .text = readme_text };

static int overruns_text(struct kmt_file *f, struct kmt_buf *out)
{
	return ops_of(f)->overruns(tracer_of(f), out);
}

static const struct kmt_file_type type_overruns = { .text = overruns_text };

/* ---- error_log ---- */

static int error_log_text(struct kmt_file *f, struct kmt_buf *out)
{
	pthread_mutex_lock(&f->instance->tree->lock);
	kmt_error_log_print(&f->instance->errors, out);
	pthread_mutex_unlock(&f->instance->tree->lock);
	return 0;
}

static int error_log_clear(struct kmt_file *f)
{
	pthread_mutex_lock(&f->instance->tree->lock);
	kmt_error_log_clear(&f->instance->errors);
	pthread_mutex_unlock(&f->instance->tree->lock);
	return 0;
}

static int error_log_write(struct kmt_file *f, const char *data, size_t size)
{
	return error_log_clear(f);
}

static const struct kmt_file_type type_error_log = {
	.text = error_log_text, .write = error_log_write, .truncate = error_log_clear,
};

/* ---- trace_stat/ ---- */

static int losses_report(struct kmt_file *f, struct kmt_report **ret_report)
{
	_cleanup_buf_ struct kmt_buf lines = { 0 };
	int err = ops_of(f)->overruns(tracer_of(f), &lines);

	if (!err && lines.error)
		err = kmt_err(lines.error, "no memory for the losses");
	return err ? err : kmt_stat_losses(kmt_buf_str(&lines), ret_report);
}

static int stat_text(struct kmt_file *f, struct kmt_buf *out)
{
	const struct kmt_stat_file *s = f->row.stat;
	struct kmt_report *r = NULL;
	int err = s->analysis ? ops_of(f)->report(tracer_of(f), s->analysis, &r) :
		  losses_report(f, &r);

	if (!err || err == -ENODATA)	/* it never traced: the titles alone */
		err = s->text(s, r, out);
	kmt_report_free(r);
	return err;
}

static int stat_write(struct kmt_file *f, const char *data, size_t size)
{
	char word[WORD_MAX_LEN + 1];
	int err = parse_word(data, size, word);

	if (err)
		return err;
	if (strcmp(word, "0"))
		return kmt_err(-EINVAL, "only 0 can be written, which resets the statistics");
	return ops_of(f)->reset(tracer_of(f));
}

const struct kmt_file_type kmt_type_stat = { .text = stat_text, .write = stat_write };

/* ---- the tables ---- */

const struct kmt_file_row kmt_root_files[] = {
#define CONTROL_FILE(name_, mode_, what_, knob_) \
	{ .dir = "", .name = #name_, .mode = (mode_), .type = &type_##what_, .knob = (knob_) },
#include "control/files.def"
#undef CONTROL_FILE
	{ 0 }
};

/* kmem_alternative is the better name that its author thought of too late. */
const struct kmt_file_row kmt_option_files[] = {
#define OPTION(name_, knob_) \
	{ .dir = "options/", .name = name_, .mode = 0640, .type = &type_flag, .knob = (knob_) }
	OPTION("kmem_minimalistic", KMT_KNOB_MINIMALISTIC),
	OPTION("kmem_alternative", KMT_KNOB_MINIMALISTIC),
	OPTION("kmem_gfp", KMT_KNOB_GFP),
	OPTION("kmem_time", KMT_KNOB_TIME),
	OPTION("kmem_cache", KMT_KNOB_CACHE),
	OPTION("kmem_real_node", KMT_KNOB_REAL_NODE),
	OPTION("stacktrace", KMT_KNOB_STACKTRACE),
#undef OPTION
	{ 0 }
};
