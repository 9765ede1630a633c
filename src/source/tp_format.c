// SPDX-License-Identifier: GPL-2.0-only
#include "source/tp_format.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"

struct text {
	const char *p;
	size_t len;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool starts(struct text t, const char *with)
{
	size_t n = strlen(with);

	return t.len >= n && !memcmp(t.p, with, n);
}

static bool contains(struct text t, const char *what)
{
	return memmem(t.p, t.len, what, strlen(what));
}

/* Cut the text before the first 'c' off *t; all of it if there is none. */
static struct text take_until(struct text *t, char c)
{
	const char *at = memchr(t->p, c, t->len);
	struct text head = { t->p, at ? (size_t)(at - t->p) : t->len };
	size_t used = head.len + (at ? 1 : 0);

	t->p += used;
	t->len -= used;
	return head;
}

static struct text strip(struct text t)
{
	while (t.len && is_blank(*t.p)) {
		t.p++;
		t.len--;
	}
	while (t.len && is_blank(t.p[t.len - 1]))
		t.len--;
	return t;
}

/* "key:NUMBER" with nothing else: false if it is not that. */
static bool number_of(struct text t, const char *key, uint32_t *ret)
{
	uint64_t v = 0;

	if (!starts(t, key) || t.len == strlen(key))
		return false;
	for (size_t i = strlen(key); i < t.len; i++) {
		if (t.p[i] < '0' || t.p[i] > '9')
			return false;
		v = v * 10 + (uint64_t)(t.p[i] - '0');
		if (v > UINT32_MAX)
			return false;
	}
	*ret = (uint32_t)v;
	return true;
}

static bool copy_name(char out[KMT_TP_FORMAT_NAME], struct text t)
{
	if (!t.len || t.len >= KMT_TP_FORMAT_NAME || memchr(t.p, '\0', t.len))
		return false;
	memcpy(out, t.p, t.len);
	out[t.len] = '\0';
	return true;
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

/* The declared name: the last word before "[N]", if there is any. */
static struct text declared(struct text decl)
{
	const char *open = memchr(decl.p, '[', decl.len);
	size_t end, start;

	decl = strip(decl);
	/* "__data_loc char[] name" has its brackets in the middle */
	if (open && decl.p[decl.len - 1] == ']')
		decl.len = (size_t)(open - decl.p);
	decl = strip(decl);
	for (end = start = decl.len; start && is_word(decl.p[start - 1]); start--)
		;
	return (struct text){ decl.p + start, end - start };
}

/*
 * "field:TYPE NAME;\toffset:N;\tsize:N;\tsigned:N;" - v2.6.32 and older say
 * nothing about the sign: what is not called unsigned has one.
 */
static void add_field(struct kmt_tp_format *f, struct text line)
{
	struct text decl = strip(take_until(&line, ';')), part;
	struct kmt_tp_field *to = &f->field[f->n];
	uint32_t sign = 2;
	bool has_offset = false, has_size = false;

	if (f->n == KMT_TP_FORMAT_FIELDS)
		return;
	*to = (struct kmt_tp_field){ .name = f->names[f->n] };
	while (line.len) {
		part = strip(take_until(&line, ';'));
		has_offset = number_of(part, "offset:", &to->offset) || has_offset;
		has_size = number_of(part, "size:", &to->size) || has_size;
		number_of(part, "signed:", &sign);
	}
	take_until(&decl, ':');
	if (!has_offset || !has_size || !copy_name(f->names[f->n], declared(decl)))
		return;
	to->is_dynamic = starts(strip(decl), "__data_loc ") || starts(strip(decl), "__rel_loc ");
	to->is_relative = starts(strip(decl), "__rel_loc ");
	to->is_signed = sign == 1 ||
			(sign == 2 && !contains(decl, "unsigned") && !contains(decl, "*"));
	f->n++;
}

int kmt_tp_format_parse(const char *text, size_t len, struct kmt_tp_format *ret)
{
	struct text left = { text, len };
	bool has_id = false;

	ret->n = 0;
	ret->name[0] = '\0';
	while (left.len) {
		struct text line = strip(take_until(&left, '\n'));

		if (starts(line, "print fmt:"))
			break;
		if (starts(line, "name:") && !ret->name[0]) {
			take_until(&line, ':');
			copy_name(ret->name, strip(line));
		} else if (starts(line, "ID:") && !has_id) {
			take_until(&line, ':');
			has_id = number_of(strip(line), "", &ret->id);
		} else if (starts(line, "field:") || starts(line, "field ")) {
			add_field(ret, line);
		}
	}
	if (!ret->name[0] || !has_id || !ret->n)
		return kmt_err(-EPROTO, "an event format without name, number or fields");
	return 0;
}

const struct kmt_tp_field *kmt_tp_format_field(const struct kmt_tp_format *f, const char *name)
{
	for (size_t i = 0; i < f->n; i++)
		if (!strcmp(f->field[i].name, name))
			return &f->field[i];
	return NULL;
}
