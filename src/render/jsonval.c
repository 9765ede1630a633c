// SPDX-License-Identifier: GPL-2.0-only
#include "render/jsonval.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fmt.h"
#include "render/emit.h"

/* Readers with doubles keep integers up to here. */
#define EXACT_MAX (1LL << 53)

void kmt_json_init(struct kmt_json *j)
{
	j->object = json_object();
	j->failed = !j->object;
}

void kmt_json_done(struct kmt_json *j)
{
	json_decref(j->object);
	j->object = NULL;
}

/* Takes the value over; NULL is a failure to make it. */
static void set(struct kmt_json *j, const char *key, json_t *value)
{
	if (j->failed || json_object_set_new(j->object, key, value)) {
		if (j->failed)
			json_decref(value);
		j->failed = true;
	}
}

static json_t *text_value(const char *text, size_t len)
{
	struct kmt_buf b = { 0 };
	json_t *v;

	kmt_buf_escape(&b, text, len);
	v = b.error ? NULL : json_stringn(kmt_buf_str(&b), b.len);
	kmt_buf_done(&b);
	return v;
}

static json_t *int_value(int64_t i)
{
	char out[KMT_FMT_LEN];

	if (i > EXACT_MAX || i < -EXACT_MAX)
		return json_string(kmt_fmt_count(out, i));
	return json_integer(i);
}

static json_t *percent_value(double d)
{
	int64_t hundredths;

	if (!kmt_emit_hundredths(d, &hundredths))
		return json_null();
	return json_real((double)hundredths / 100);
}

static json_t *list_value(const char *text)
{
	json_t *array = json_array();

	while (array && *text) {
		size_t len = strcspn(text, "\n");

		if (json_array_append_new(array, text_value(text, len))) {
			json_decref(array);
			return NULL;
		}
		text += len + (text[len] == '\n');
	}
	return array;
}

static json_t *cell_value(enum kmt_unit unit, const struct kmt_cell *c)
{
	char out[KMT_FMT_LEN];

	if (kmt_cell_is_null(c, unit))
		return json_null();
	switch (unit) {
	case KMT_UNIT_TEXT:
		return text_value(c->text, SIZE_MAX);
	case KMT_UNIT_LIST:
		return list_value(c->text);
	case KMT_UNIT_PERCENT:
	case KMT_UNIT_BAR:
		return percent_value(c->d);
	case KMT_UNIT_ADDR:
		return json_string(kmt_fmt_addr(out, (uint64_t)c->i));
	default:
		return int_value(c->i);
	}
}

void kmt_json_text(struct kmt_json *j, const char *key, const char *text)
{
	set(j, key, text ? text_value(text, SIZE_MAX) : json_null());
}

void kmt_json_int(struct kmt_json *j, const char *key, int64_t v)
{
	set(j, key, int_value(v));
}

void kmt_json_strings(struct kmt_json *j, const char *key, char *const *v, size_t n)
{
	json_t *array = json_array();

	for (size_t i = 0; i < n && array; i++)
		if (json_array_append_new(array, text_value(v[i], SIZE_MAX)))
			j->failed = true;
	set(j, key, array);
}

/* The object that 'key' names a member of; *key moves on to the member's name. */
static json_t *descend(struct kmt_json *j, const char **key)
{
	json_t *object = j->object;
	const char *dot;

	while (object && (dot = strchr(*key, '.'))) {
		json_t *inner = json_object_getn(object, *key, dot - *key);

		if (!inner) {
			inner = json_object();
			if (json_object_setn_new(object, *key, dot - *key, inner))
				return NULL;
		} else if (!json_is_object(inner)) {
			break;	/* "a" is a value already: keep "a.b" as the name */
		}
		object = inner;
		*key = dot + 1;
	}
	return object;
}

void kmt_json_cell(struct kmt_json *j, const char *key, bool nest, enum kmt_unit unit,
		   const struct kmt_cell *c)
{
	json_t *object;

	if (!nest || j->failed) {
		set(j, key, cell_value(unit, c));
		return;
	}
	object = descend(j, &key);
	if (!object || json_object_set_new(object, key, cell_value(unit, c)))
		j->failed = true;
}

void kmt_json_fields(struct kmt_json *j, const char *key, const struct kmt_fields *f)
{
	struct kmt_json inner;

	kmt_json_init(&inner);
	for (size_t i = 0; i < f->n; i++)
		kmt_json_cell(&inner, f->v[i].key, true, f->v[i].unit, &f->v[i].cell);
	j->failed |= inner.failed;
	set(j, key, inner.object);
}

static int append(const char *data, size_t size, void *arg)
{
	struct kmt_buf *out = arg;

	kmt_buf_add(out, data, size);
	return out->error;
}

int kmt_json_dump(const struct kmt_json *j, struct kmt_buf *out)
{
	/* 15 digits: what has two decimals is printed with two */
	if (j->failed || json_dump_callback(j->object, append, out,
					    JSON_COMPACT | JSON_REAL_PRECISION(15)))
		return kmt_err(-ENOMEM, "out of memory");
	return 0;
}
