// SPDX-License-Identifier: GPL-2.0-only
#include "symbol/slabs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/hash.h"
#include "symbol/slabs_priv.h"

#define MAX_SLABS	65536
#define MAX_NAME	256

/* A link of /sys/kernel/slab: cache name -> directory of the merged caches. */
struct link {
	char *name;
	char *target;
};

struct links {
	struct link *v;
	size_t n, cap;
};

void kmt_slabs_free(struct kmt_slabs *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++) {
		free(s->v[i].name);
		free(s->v[i].target);
		kmt_buf_done(&s->v[i].aliases);
	}
	free(s->v);
	free(s);
}

static void cleanup_slabs(struct kmt_slabs **s)
{
	kmt_slabs_free(*s);
}

static void cleanup_links(struct links *l)
{
	for (size_t i = 0; i < l->n; i++) {
		free(l->v[i].name);
		free(l->v[i].target);
	}
	free(l->v);
}

static void cleanup_dir(DIR **d)
{
	if (*d)
		closedir(*d);
}

static int out_of_memory(void)
{
	return kmt_err(-ENOMEM, "out of memory for the list of slab caches");
}

/* Cut the last word off a line; false if it is no number. */
static bool take_number(char *line, size_t *len, uint64_t *ret)
{
	size_t end = *len;
	char *stop;

	while (end && line[end - 1] == ' ')
		end--;
	line[end] = '\0';
	while (end && line[end - 1] >= '0' && line[end - 1] <= '9')
		end--;
	if (!line[end] || !end || line[end - 1] != ' ')
		return false;
	errno = 0;
	*ret = strtoull(line + end, &stop, 10);
	*len = end;
	return !errno && !*stop;
}

/*
 * "name active num objsize objs_per_slab pages_per_slab : tunables ...". A name
 * may hold blanks, so the numbers are taken from the right.
 */
static int parse_line(char *line, struct kmt_slab_row *ret)
{
	char *colon = strstr(line, " : tunables");
	uint64_t pages, per_slab, size, num, active;
	size_t len;

	if (!colon)
		return -EINVAL;
	*colon = '\0';
	len = (size_t)(colon - line);
	if (!take_number(line, &len, &pages) || !take_number(line, &len, &per_slab) ||
	    !take_number(line, &len, &size) || !take_number(line, &len, &num) ||
	    !take_number(line, &len, &active))
		return -EINVAL;
	while (len && line[len - 1] == ' ')
		len--;
	line[len] = '\0';
	if (!len || len >= MAX_NAME || size > UINT32_MAX)
		return -EINVAL;
	*ret = (struct kmt_slab_row){
		.pub = {
			.active_objs = active,
			.num_objs = num,
			.object_size = (uint32_t)size,
			.objs_per_slab = per_slab > UINT32_MAX ? UINT32_MAX : (uint32_t)per_slab,
		},
		.name = strdup(line),
	};
	return ret->name ? 0 : out_of_memory();
}

static int append(struct kmt_slabs *s, struct kmt_slab_row *slab)
{
	if (s->n == s->cap) {
		size_t cap = s->cap ? s->cap * 2 : 256;
		struct kmt_slab_row *v = reallocarray(s->v, cap, sizeof(*v));

		if (!v)
			return out_of_memory();
		s->v = v;
		s->cap = cap;
	}
	s->v[s->n++] = *slab;
	return 0;
}

static int read_slabinfo(FILE *f, const char *path, struct kmt_slabs *s)
{
	_cleanup_free_ char *line = NULL;
	size_t cap = 0, line_no = 0;

	while (getline(&line, &cap, f) > 0) {
		struct kmt_slab_row slab;
		int err;

		line[strcspn(line, "\n")] = '\0';
		if (++line_no == 1 && strncmp(line, "slabinfo - version: 2.", 22))
			return kmt_err(-EINVAL, "'%s' is not slabinfo version 2", path);
		if (line_no == 1 || line[0] == '#' || !line[0])
			continue;
		if (s->n == MAX_SLABS)
			return kmt_err(-E2BIG, "'%s' has more than %d caches", path, MAX_SLABS);
		err = parse_line(line, &slab);
		if (err == -EINVAL)
			return kmt_err(err, "'%s': line %zu is not understood", path, line_no);
		if (err)
			return err;
		err = append(s, &slab);
		if (err) {
			free(slab.name);
			return err;
		}
	}
	if (ferror(f))
		return kmt_err(-EIO, "cannot read '%s'", path);
	if (!line_no)
		return kmt_err(-EINVAL, "'%s' is empty", path);
	return 0;
}

static int link_add(struct links *l, const char *name, const char *target)
{
	if (l->n == l->cap) {
		size_t cap = l->cap ? l->cap * 2 : 256;
		struct link *v = reallocarray(l->v, cap, sizeof(*v));

		if (!v)
			return out_of_memory();
		l->v = v;
		l->cap = cap;
	}

	struct link *link = &l->v[l->n];

	link->name = strdup(name);
	link->target = strdup(target);
	l->n++;
	return link->name && link->target ? 0 : out_of_memory();
}

/* No directory is no error: SLAB had none, SLUB without sysfs has none. */
static int read_links(const char *path, struct links *l)
{
	_cleanup_(cleanup_dir) DIR *dir = opendir(path);
	struct dirent *e;

	while (dir && (e = readdir(dir)) && l->n < MAX_SLABS) {
		char target[PATH_MAX];
		ssize_t len;
		const char *base;
		int err;

		if (e->d_name[0] == '.' || (e->d_type != DT_LNK && e->d_type != DT_UNKNOWN))
			continue;
		len = readlinkat(dirfd(dir), e->d_name, target, sizeof(target) - 1);
		if (len <= 0)
			continue;
		target[len] = '\0';
		base = strrchr(target, '/');
		err = link_add(l, e->d_name, base ? base + 1 : target);
		if (err)
			return err;
	}
	return 0;
}

static int by_name(const void *a, const void *b)
{
	const struct link *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int by_cache(const void *a, const void *b)
{
	const struct kmt_slab_row *x = a, *y = b;

	return strcmp(x->name, y->name);
}

struct kmt_slab_row *kmt_slab_row_of(const struct kmt_slabs *s, const char *name)
{
	const struct kmt_slab_row key = { .name = (char *)name };

	return s->n ? bsearch(&key, s->v, s->n, sizeof(*s->v), by_cache) : NULL;
}

/*
 * Names whose links lead to the same directory are one cache; slabinfo shows
 * the one it was created as, the others are its aliases, sorted by name.
 */
static int join_aliases(struct kmt_slabs *s, struct links *l)
{
	if (l->n)
		qsort(l->v, l->n, sizeof(*l->v), by_name);
	for (size_t i = 0; i < l->n; i++) {
		struct kmt_slab_row *slab = kmt_slab_row_of(s, l->v[i].name);

		if (slab && !slab->target)
			slab->target = take_ptr(l->v[i].target);
	}
	for (size_t i = 0; i < l->n; i++) {
		if (!l->v[i].target || kmt_slab_row_of(s, l->v[i].name))
			continue;
		for (size_t k = 0; k < s->n; k++) {
			struct kmt_slab_row *slab = &s->v[k];
			const char *own = slab->target ? slab->target : slab->name;

			if (strcmp(own, l->v[i].target))
				continue;
			if (slab->aliases.len)
				kmt_buf_puts(&slab->aliases, "\n");
			kmt_buf_puts(&slab->aliases, l->v[i].name);
			break;
		}
	}
	return 0;
}

int kmt_slabs_load_counts(const char *root, struct kmt_slabs **ret)
{
	_cleanup_(cleanup_slabs) struct kmt_slabs *s = calloc(1, sizeof(*s));
	_cleanup_fclose_ FILE *f = NULL;
	char path[PATH_MAX];
	int err;

	if (!s)
		return out_of_memory();
	if (!root)
		root = "";
	if ((size_t)snprintf(path, sizeof(path), "%s/proc/slabinfo", root) >= sizeof(path))
		return kmt_err(-ENAMETOOLONG, "'%.32s...' is too long a path", root);
	f = fopen(path, "re");
	if (!f)
		return kmt_err_errno(-errno, "cannot open '%s'", path);
	err = read_slabinfo(f, path, s);
	if (err)
		return err;
	if (s->n)
		qsort(s->v, s->n, sizeof(*s->v), by_cache);
	*ret = take_ptr(s);
	return 0;
}

/*
 * What tells one state of the directory from another: a cache that is made anew has
 * another inode, also under the same name. 0: there is none.
 */
static uint64_t listing_of(const char *path)
{
	_cleanup_(cleanup_dir) DIR *dir = opendir(path);
	uint64_t hash = 1;
	struct dirent *e;

	while (dir && (e = readdir(dir)))
		hash = kmt_hash_mix(kmt_hash_str(hash, e->d_name), e->d_ino);
	return dir ? hash : 0;
}

/* False: a cache is new, and all is to be asked again. */
static bool take_over(struct kmt_slabs *s, const struct kmt_slabs *before)
{
	for (size_t i = 0; i < s->n; i++)
		if (!kmt_slab_row_of(before, s->v[i].name))
			return false;
	for (size_t i = 0; i < s->n; i++) {
		const struct kmt_slab_row *old = kmt_slab_row_of(before, s->v[i].name);

		kmt_buf_puts(&s->v[i].aliases, kmt_buf_str(&old->aliases));
		s->v[i].capacity = old->capacity;
		s->v[i].has_capacity = old->has_capacity;
		s->v[i].pub.reclaim = old->pub.reclaim;
	}
	return true;
}

static int publish(struct kmt_slabs *s)
{
	for (size_t k = 0; k < s->n; k++) {
		if (s->v[k].aliases.error)
			return out_of_memory();
		s->v[k].pub.name = s->v[k].name;
		s->v[k].pub.aliases = kmt_buf_str(&s->v[k].aliases);
	}
	return 0;
}

static int ask_aliases(const char *path, struct kmt_slabs *s)
{
	_cleanup_(cleanup_links) struct links links = { 0 };
	int err = read_links(path, &links);

	return err ? err : join_aliases(s, &links);
}

int kmt_slabs_load_again(const char *root, const struct kmt_slabs *before, struct kmt_slabs **ret)
{
	_cleanup_(cleanup_slabs) struct kmt_slabs *s = NULL;
	char path[PATH_MAX];
	int err = kmt_slabs_load_counts(root, &s);
	bool is_same;

	if (err)
		return err;
	if (!root)
		root = "";
	if ((size_t)snprintf(path, sizeof(path), "%s/sys/kernel/slab", root) >= sizeof(path))
		return kmt_err(-ENAMETOOLONG, "'%.32s...' is too long a path", root);
	s->listing = listing_of(path);
	is_same = before && s->listing && s->listing == before->listing;
	if (!is_same || !take_over(s, before))
		err = ask_aliases(path, s);
	if (!err)
		err = publish(s);
	if (err)
		return err;
	*ret = take_ptr(s);
	return 0;
}

int kmt_slabs_load(const char *root, struct kmt_slabs **ret)
{
	return kmt_slabs_load_again(root, NULL, ret);
}

/* One stored line, without its newline; it is cut up in place. */
static int parse_stored(char *line, struct kmt_slab_row *ret)
{
	uint64_t v[4];
	char *p = line, *tab;

	for (size_t i = 0; i < 4; i++) {
		char *end;

		if (*p < '0' || *p > '9')
			return -EINVAL;
		errno = 0;
		v[i] = strtoull(p, &end, 10);
		if (errno || *end != ' ')
			return -EINVAL;
		p = end + 1;
	}
	tab = strchr(p, '\t');
	if (tab)
		*tab++ = '\0';
	if (!*p || strlen(p) >= MAX_NAME || v[2] > UINT32_MAX || v[3] > UINT32_MAX)
		return -EINVAL;
	*ret = (struct kmt_slab_row){
		.pub = { .active_objs = v[0], .num_objs = v[1], .object_size = (uint32_t)v[2],
			 .objs_per_slab = (uint32_t)v[3] },
		.name = strdup(p),
	};
	for (; tab && *tab; tab++)
		kmt_buf_add(&ret->aliases, *tab == '\t' ? "\n" : tab, 1);
	return ret->name && !ret->aliases.error ? 0 : out_of_memory();
}

static int parse_lines(char *text, const char *what, struct kmt_slabs *s)
{
	size_t line_no = 0;

	for (char *line = text, *next; *line; line = next) {
		size_t len = strcspn(line, "\n");
		struct kmt_slab_row slab = { 0 };
		int err;

		next = line + len + (line[len] == '\n');
		line[len] = '\0';
		line_no++;
		err = s->n == MAX_SLABS ? -E2BIG : parse_stored(line, &slab);
		if (err == -EINVAL || err == -E2BIG)
			return kmt_err(err, "%s: line %zu is not understood", what, line_no);
		if (!err)
			err = append(s, &slab);
		if (err) {
			free(slab.name);
			kmt_buf_done(&slab.aliases);
			return err;
		}
	}
	return 0;
}

int kmt_slabs_parse(const char *text, size_t len, const char *what, struct kmt_slabs **ret)
{
	_cleanup_(cleanup_slabs) struct kmt_slabs *s = calloc(1, sizeof(*s));
	_cleanup_free_ char *copy = strndup(text, len);
	int err;

	if (!s || !copy)
		return out_of_memory();
	err = parse_lines(copy, what, s);
	if (err)
		return err;
	if (s->n)
		qsort(s->v, s->n, sizeof(*s->v), by_cache);
	for (size_t i = 0; i < s->n; i++) {
		s->v[i].pub.name = s->v[i].name;
		s->v[i].pub.aliases = kmt_buf_str(&s->v[i].aliases);
	}
	*ret = take_ptr(s);
	return 0;
}

/* A name from the kernel must not end the line or the field it stands in. */
static void store_name(struct kmt_buf *out, const char *name, char keep)
{
	for (; *name; name++) {
		bool bad = (*name == '\n' && keep != '\n') || *name == '\t';
		const char *c = bad ? "?" : *name == '\n' ? "\t" : name;

		kmt_buf_add(out, c, 1);
	}
}

void kmt_slabs_store(const struct kmt_slabs *s, struct kmt_buf *out)
{
	for (size_t i = 0; s && i < s->n; i++) {
		const struct kmt_slab *c = &s->v[i].pub;

		kmt_buf_printf(out, "%llu %llu %u %u ", (unsigned long long)c->active_objs,
			       (unsigned long long)c->num_objs, c->object_size, c->objs_per_slab);
		store_name(out, c->name, '\0');
		if (*c->aliases)
			kmt_buf_puts(out, "\t");
		store_name(out, c->aliases, '\n');
		kmt_buf_puts(out, "\n");
	}
}

bool kmt_slab_held(const struct kmt_slab *s, uint64_t *ret_bytes)
{
	uint64_t used = (uint64_t)s->objs_per_slab * s->object_size, size = 1;
	unsigned __int128 held;

	if (!used || used > UINT32_MAX)
		return false;
	while (size < used)
		size *= 2;
	/* a smaller slab, where memory was short, has a smaller part of the objects */
	held = (unsigned __int128)s->num_objs * size / s->objs_per_slab;
	if (held > UINT64_MAX)
		return false;
	*ret_bytes = (uint64_t)held;
	return true;
}

size_t kmt_slabs_count(const struct kmt_slabs *s)
{
	return s ? s->n : 0;
}

const struct kmt_slab *kmt_slabs_at(const struct kmt_slabs *s, size_t i)
{
	return i < kmt_slabs_count(s) ? &s->v[i].pub : NULL;
}

bool kmt_slabs_none_active(const struct kmt_slabs *s)
{
	for (size_t i = 0; i < kmt_slabs_count(s); i++)
		if (kmt_slabs_at(s, i)->active_objs)
			return false;
	return kmt_slabs_count(s) > 0;
}

static bool has_line(const char *lines, const char *name)
{
	size_t len = strlen(name);

	while (*lines) {
		size_t n = strcspn(lines, "\n");

		if (n == len && !memcmp(lines, name, n))
			return true;
		lines += n + (lines[n] == '\n');
	}
	return false;
}

const struct kmt_slab *kmt_slabs_find(const struct kmt_slabs *s, const char *name)
{
	const struct kmt_slab_row *slab = s ? kmt_slab_row_of(s, name) : NULL;

	if (slab)
		return &slab->pub;
	for (size_t i = 0; s && i < s->n; i++)
		if (has_line(s->v[i].pub.aliases, name))
			return &s->v[i].pub;
	return NULL;
}
