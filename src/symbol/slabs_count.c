// SPDX-License-Identifier: GPL-2.0-only
/*
 * How far the kernel's own count of a cache can be from the truth.
 *
 * A cache's active objects are all objects of its slabs but the free ones on
 * the nodes' partial lists (get_slabinfo() in mm/slub.c). What is free and lies
 * elsewhere so counts as active:
 *
 *   on the slab each CPU allocates from, and its list of partial slabs
 *       cpu_slabs tells how many slabs these are
 *   in sheaves: each CPU's main, spare and RCU sheaf, each node's full ones
 *       (of some caches since Linux v6.18, of all since v7.0, where CPUs have
 *       no slabs any more)
 *       sheaf_capacity tells their size, nothing tells how full they are
 *
 * After a shrink all of them are empty, and what an allocation or a free brings
 * back at once is each CPU's slab and its main sheaf, filled in one go.
 *
 * All of these are upper bounds at one moment. Besides, since v6.10 a node's
 * partial list is counted to its 10000th slab and estimated from there.
 */
#include "symbol/slabs_priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/cpus.h"
#include "base/err.h"

#define CPU_SHEAVES	3	/* main, spare, rcu_free of struct slub_percpu_sheaves */
#define NODE_SHEAVES	10	/* MAX_FULL_SHEAVES */
#define PARTIAL_COUNTED	10000	/* MAX_PARTIAL_TO_SCAN */

struct machine {
	const char *root;
	int dir;			/* /sys/kernel/slab */
	uint64_t cpus, nodes;
	bool is_shrunk;
	bool has_sheaves;		/* this kernel knows them; each cache has the file then */
	bool tells_slabs;		/* and so of cpu_slabs */
};

static uint64_t how_many(const char *root, const char *name)
{
	char path[PATH_MAX];
	int n;

	if ((size_t)snprintf(path, sizeof(path), "%s/sys/devices/system/%s", root, name) >=
	    sizeof(path))
		return 1;
	n = kmt_cpus_file(path, NULL, NULL);
	return n > 0 ? (uint64_t)n : 1;
}

/* The first number of a cache's file; false: there is none. */
static bool read_number(const struct machine *m, const char *cache, const char *file,
			uint64_t *ret)
{
	_cleanup_close_ int fd = -1;
	char path[512], text[64], *end;
	ssize_t n;

	/* in sysfs a name has no slash: such a cache has another name there */
	if (strchr(cache, '/') ||
	    (size_t)snprintf(path, sizeof(path), "%s/%s", cache, file) >= sizeof(path))
		return false;
	fd = openat(m->dir, path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	if (n <= 0)
		return false;
	text[n] = '\0';
	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*ret = strtoull(text, &end, 10);
	return !errno && *ret < UINT32_MAX;
}

static void look_at(const struct machine *m, struct kmt_slab_row *row)
{
	struct kmt_slab *c = &row->pub;
	uint64_t slabs, partial = 0, over, under = 0, number;

	if (!c->reclaim && read_number(m, row->name, "reclaim_account", &number))
		c->reclaim = number ? KMT_RECLAIM_YES : KMT_RECLAIM_NO;
	/* of a cache without a slab nothing can be free: half of a kernel's, as a rule */
	c->has_bounds = m->tells_slabs && !c->num_objs;
	if (c->has_bounds)
		return;
	if (!read_number(m, row->name, "cpu_slabs", &slabs))
		return;
	if (m->has_sheaves && !row->has_capacity)
		read_number(m, row->name, "sheaf_capacity", &row->capacity);
	row->has_capacity = true;
	if (c->objs_per_slab && c->num_objs / c->objs_per_slab > PARTIAL_COUNTED)
		read_number(m, row->name, "partial", &partial);
	over = slabs * c->objs_per_slab;
	over += row->capacity * (m->is_shrunk ? m->cpus :
			    m->cpus * CPU_SHEAVES + m->nodes * NODE_SHEAVES);
	if (partial > PARTIAL_COUNTED)
		under = (partial - PARTIAL_COUNTED) * c->objs_per_slab;
	over += under;
	c->over_most = over;
	c->under_most = under;
	c->has_bounds = true;
}

static void look_at_all(struct machine *m, struct kmt_slabs *s)
{
	uint64_t number;

	for (size_t i = 0; m->dir >= 0 && !m->has_sheaves && i < s->n && i < 8; i++) {
		m->has_sheaves = read_number(m, s->v[i].name, "sheaf_capacity", &number);
		m->tells_slabs |= read_number(m, s->v[i].name, "cpu_slabs", &number);
	}
	for (size_t i = 0; m->dir >= 0 && i < s->n; i++)
		look_at(m, &s->v[i]);
}

static void read_memory(const char *root, struct kmt_slabs_memory *ret)
{
	_cleanup_fclose_ FILE *f = NULL;
	char path[PATH_MAX], line[256];
	unsigned found = 0;
	uint64_t kb;

	if ((size_t)snprintf(path, sizeof(path), "%s/proc/meminfo", root) >= sizeof(path))
		return;
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "SReclaimable: %" SCNu64 " kB", &kb) == 1) {
			ret->reclaimable = kb * 1024;
			found |= 1;
		} else if (sscanf(line, "SUnreclaim: %" SCNu64 " kB", &kb) == 1) {
			ret->unreclaimable = kb * 1024;
			found |= 2;
		}
	}
	ret->is_known = found == 3;
}

/* By how much the count moves meanwhile is how far it can be off at any moment of it. */
static void count_again(struct kmt_slab *c, const struct kmt_slab *now)
{
	uint64_t a = c->active_objs, b = now->active_objs, moved = a > b ? a - b : b - a;

	c->active_objs = b;
	c->num_objs = now->num_objs;
	if (!c->has_bounds)
		return;
	if (c->over_most > b)	/* no more than all of them can be free */
		c->over_most = b;
	c->over_most += moved;
	c->under_most += moved;
}

int kmt_slabs_recount(const char *root, struct kmt_slabs *s)
{
	struct kmt_slabs *now;
	int err = kmt_slabs_load_counts(root, &now);

	if (err)
		return err;
	for (size_t i = 0; i < s->n; i++) {
		const struct kmt_slab_row *row = kmt_slab_row_of(now, s->v[i].name);

		if (row)
			count_again(&s->v[i].pub, &row->pub);
	}
	kmt_slabs_free(now);
	read_memory(root ? root : "", &s->memory);
	return 0;
}

static int open_dir(const char *root)
{
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s/sys/kernel/slab", root) >= sizeof(path))
		return -ENAMETOOLONG;
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int kmt_slabs_count_again(const char *root, const struct kmt_slabs *before, bool is_shrunk,
			  struct kmt_slabs **ret)
{
	_cleanup_close_ int dir = open_dir(root ? root : "");
	struct machine m = {
		.dir = dir,
		.cpus = how_many(root ? root : "", "cpu/online"),
		.nodes = how_many(root ? root : "", "node/online"),
		.is_shrunk = is_shrunk,
	};
	struct kmt_slabs *s;
	int err = kmt_slabs_load_again(root, before, &s);

	if (err)
		return err;
	look_at_all(&m, s);
	err = kmt_slabs_recount(root, s);
	if (err) {
		kmt_slabs_free(s);
		return err;
	}
	s->memory.is_shrunk = is_shrunk;
	*ret = s;
	return 0;
}

int kmt_slabs_count_now(const char *root, bool is_shrunk, struct kmt_slabs **ret)
{
	return kmt_slabs_count_again(root, NULL, is_shrunk, ret);
}

/* ---- shrinking ---- */

static bool shrink(int dir, const char *name)
{
	_cleanup_close_ int fd = -1;
	char path[512];

	if ((size_t)snprintf(path, sizeof(path), "%s/shrink", name) >= sizeof(path))
		return false;
	fd = openat(dir, path, O_WRONLY | O_CLOEXEC);
	return fd >= 0 && write(fd, "1", 1) == 1;
}

int kmt_slabs_shrink(const char *root)
{
	int fd = open_dir(root ? root : ""), n = 0;
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	int err = dir ? 0 : errno;
	struct dirent *e;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return kmt_err(-err, "cannot open /sys/kernel/slab: %s", strerror(err));
	}
	while ((e = readdir(dir))) {
		/* a link is another name of a cache that has its turn anyway */
		if (e->d_name[0] == '.' || e->d_type == DT_LNK)
			continue;
		if (shrink(fd, e->d_name))
			n++;
		else
			err = errno;
	}
	closedir(dir);
	if (!n)
		return kmt_err(err ? -err : -ENOENT, "cannot shrink the slab caches: %s",
			       err ? strerror(err) : "/sys/kernel/slab has none");
	return n;
}

/* ---- stored ---- */

static const char *const reclaim_text[] = {
	[KMT_RECLAIM_NO] = "unreclaimable",
	[KMT_RECLAIM_YES] = "reclaimable",
};

void kmt_slabs_store_bounds(const struct kmt_slabs *s, struct kmt_buf *out)
{
	if (!s)
		return;
	if (s->memory.is_known)
		kmt_buf_printf(out, "memory %" PRIu64 " %" PRIu64 " %d\n", s->memory.reclaimable,
			       s->memory.unreclaimable, s->memory.is_shrunk);
	for (size_t i = 0; i < s->n; i++) {
		const struct kmt_slab *c = &s->v[i].pub;

		if (strpbrk(c->name, "\t\n"))
			continue;
		if (c->has_bounds)
			kmt_buf_printf(out, "%" PRIu64 " %" PRIu64 " %s\n", c->over_most,
				       c->under_most, c->name);
		if (c->reclaim)
			kmt_buf_printf(out, "%s %s\n", reclaim_text[c->reclaim], c->name);
	}
}

/* "N N " at the beginning; NULL: not there. */
static const char *two_numbers(const char *p, uint64_t ret[2])
{
	for (int i = 0; i < 2; i++) {
		char *end;

		if (*p < '0' || *p > '9')
			return NULL;
		errno = 0;
		ret[i] = strtoull(p, &end, 10);
		if (errno || *end != ' ')
			return NULL;
		p = end + 1;
	}
	return *p ? p : NULL;
}

/* "reclaimable NAME" or "unreclaimable NAME"; false: it is no such line. */
static bool parse_reclaim(struct kmt_slabs *s, const char *line)
{
	for (int i = KMT_RECLAIM_NO; i <= KMT_RECLAIM_YES; i++) {
		size_t len = strlen(reclaim_text[i]);
		struct kmt_slab_row *row;

		if (strncmp(line, reclaim_text[i], len) || line[len] != ' ' || !line[len + 1])
			continue;
		row = kmt_slab_row_of(s, line + len + 1);
		if (row)
			row->pub.reclaim = (enum kmt_reclaim)i;
		return true;
	}
	return false;
}

static int parse_line(struct kmt_slabs *s, const char *line)
{
	bool is_memory = !strncmp(line, "memory ", 7);
	struct kmt_slab_row *row;
	uint64_t v[2];
	const char *rest = two_numbers(is_memory ? line + 7 : line, v);

	if (parse_reclaim(s, line))
		return 0;
	if (!rest || (is_memory && strcmp(rest, "0") && strcmp(rest, "1")))
		return -EINVAL;
	if (is_memory) {
		s->memory = (struct kmt_slabs_memory){ .reclaimable = v[0], .unreclaimable = v[1],
						       .is_known = true, .is_shrunk = *rest == '1' };
		return 0;
	}
	row = kmt_slab_row_of(s, rest);
	if (row) {
		row->pub.over_most = v[0];
		row->pub.under_most = v[1];
		row->pub.has_bounds = true;
	}
	return 0;
}

int kmt_slabs_parse_bounds(const char *text, size_t len, const char *what, struct kmt_slabs *s)
{
	_cleanup_free_ char *copy = strndup(text, len);
	size_t line_no = 0;

	if (!copy)
		return kmt_err(-ENOMEM, "out of memory for the list of slab caches");
	for (char *line = copy, *next; *line; line = next) {
		size_t n = strcspn(line, "\n");

		next = line + n + (line[n] == '\n');
		line[n] = '\0';
		line_no++;
		if (parse_line(s, line))
			return kmt_err(-EINVAL, "%s: line %zu is not understood", what, line_no);
	}
	return 0;
}

const struct kmt_slabs_memory *kmt_slabs_memory(const struct kmt_slabs *s)
{
	return s && s->memory.is_known ? &s->memory : NULL;
}
