// SPDX-License-Identifier: GPL-2.0-only
/* Which nodes there are: instances come and go, all else is fixed. */
#include "control/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "control/deadline.h"
#include "control/stat.h"
#include "control/tree_priv.h"

/* A node: the instance's number, and a slot in it: */
#define SLOT_BITS	16
enum slot {
	SLOT_TOP = 1,		/* the instance's own directory */
	SLOT_OPTIONS,
	SLOT_STATS,
	SLOT_INSTANCES,		/* the root's only */
	SLOT_FILE = 0x1000,	/* + row of files.def */
	SLOT_OPTION = 0x2000,	/* + row of the options */
	SLOT_STAT = 0x3000,	/* + row of stats.def */
	SLOT_END = 0x4000,
};

#define MAX_STAT_BYTES	(512u << 20)
#define DIR_MODE	(S_IFDIR | 0750)
#define STAT_MODE	(S_IFREG | 0640)

static kmt_node node_of(const struct kmt_instance *i, unsigned slot)
{
	return i->number << SLOT_BITS | slot;
}

static unsigned slot_of(kmt_node node)
{
	return node & ((1u << SLOT_BITS) - 1);
}

static size_t rows_count(const struct kmt_file_row *rows)
{
	size_t n = 0;

	while (rows[n].name)
		n++;
	return n;
}

/* ---- instances; the lock is held ---- */

static struct kmt_instance *instance_find(struct kmt_tree *t, uint64_t number)
{
	for (struct kmt_instance *i = t->first; i; i = i->next)
		if (i->number == number)
			return i->state == KMT_INSTANCE_LIVE ? i : NULL;
	return NULL;
}

static struct kmt_instance *instance_named(struct kmt_tree *t, const char *name)
{
	for (struct kmt_instance *i = t->first ? t->first->next : NULL; i; i = i->next)
		if (!strcmp(i->name, name))
			return i;
	return NULL;
}

/* Behind all others; its tracer is not yet made. */
static struct kmt_instance *instance_add(struct kmt_tree *t, const char *name)
{
	struct kmt_instance **at = &t->first, *i = calloc(1, sizeof(*i));

	if (!i)
		return NULL;
	i->name = strdup(name);
	if (!i->name) {
		free(i);
		return NULL;
	}
	i->tree = t;
	i->number = t->n_made++;
	i->state = KMT_INSTANCE_MAKING;
	while (*at)
		at = &(*at)->next;
	*at = i;
	return i;
}

static void instance_remove(struct kmt_tree *t, struct kmt_instance *i)
{
	for (struct kmt_instance **at = &t->first; *at; at = &(*at)->next) {
		if (*at != i)
			continue;
		*at = i->next;
		break;
	}
	kmt_error_log_clear(&i->errors);
	free(i->name);
	free(i);
}

/* ---- the tree ---- */

/* A new instance with its tracer; the lock is not held. */
static int instance_make(struct kmt_tree *t, const char *name, kmt_node *ret_node)
{
	struct kmt_instance *i = NULL, *other;
	int err = 0;

	pthread_mutex_lock(&t->lock);
	other = instance_named(t, name);
	if (other)
		err = other->state == KMT_INSTANCE_ENDING ? -EBUSY : -EEXIST;
	else
		i = instance_add(t, name);
	pthread_mutex_unlock(&t->lock);
	if (err)
		return kmt_err(err, err == -EBUSY ? "the instance of that name is still ending" :
			       "there is an instance of that name");
	if (!i)
		return kmt_err(-ENOMEM, "no memory for an instance");
	err = t->ops->make(t->ops->ctx, name, &i->tracer);
	pthread_mutex_lock(&t->lock);
	if (err) {
		instance_remove(t, i);
	} else {
		i->state = KMT_INSTANCE_LIVE;
		*ret_node = node_of(i, SLOT_TOP);
	}
	pthread_mutex_unlock(&t->lock);
	return err;
}

int kmt_tree_new(const struct kmt_tree_opts *opts, struct kmt_tree **ret_tree)
{
	struct kmt_tree *t = calloc(1, sizeof(*t));
	kmt_node root;
	int err;

	if (!t)
		return kmt_err(-ENOMEM, "no memory for the tree");
	t->opts = *opts;
	t->ops = opts->ops;
	if (!t->opts.max_stat_bytes)
		t->opts.max_stat_bytes = MAX_STAT_BYTES;
	pthread_mutex_init(&t->lock, NULL);
	kmt_cond_init(&t->dropped);
	err = instance_make(t, "", &root);
	if (err)
		kmt_tree_free(t);
	else
		*ret_tree = t;
	return err;
}

void kmt_tree_free(struct kmt_tree *t)
{
	if (!t)
		return;
	while (t->first) {
		if (t->first->state == KMT_INSTANCE_LIVE)
			t->ops->end(t->first->tracer);
		instance_remove(t, t->first);
	}
	pthread_cond_destroy(&t->dropped);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

void kmt_tree_drop(struct kmt_instance *i)
{
	pthread_mutex_lock(&i->tree->lock);
	if (!--i->n_users)
		pthread_cond_broadcast(&i->tree->dropped);
	pthread_mutex_unlock(&i->tree->lock);
}

/* ---- nodes ---- */

static bool is_dir_slot(const struct kmt_instance *i, unsigned slot)
{
	return slot == SLOT_TOP || slot == SLOT_OPTIONS || slot == SLOT_STATS ||
	       (slot == SLOT_INSTANCES && !i->number);
}

static bool file_row(unsigned slot, struct kmt_file_row *ret_row)
{
	if (slot >= SLOT_STAT && slot - SLOT_STAT < kmt_n_stat_files) {
		const struct kmt_stat_file *s = &kmt_stat_files[slot - SLOT_STAT];

		*ret_row = (struct kmt_file_row){
			.dir = "trace_stat/", .name = s->name, .mode = STAT_MODE,
			.type = &kmt_type_stat, .knob = KMT_KNOB_MAX, .stat = s,
		};
		return true;
	}
	if (slot >= SLOT_OPTION && slot - SLOT_OPTION < rows_count(kmt_option_files)) {
		*ret_row = kmt_option_files[slot - SLOT_OPTION];
		return true;
	}
	if (slot >= SLOT_FILE && slot - SLOT_FILE < rows_count(kmt_root_files)) {
		*ret_row = kmt_root_files[slot - SLOT_FILE];
		return true;
	}
	return false;
}

int kmt_tree_hold(struct kmt_tree *t, kmt_node node, struct kmt_file_row *ret_row,
		  struct kmt_instance **ret_instance)
{
	struct kmt_file_row row = { 0 };
	struct kmt_instance *i;
	int err = -ENOENT;

	pthread_mutex_lock(&t->lock);
	i = instance_find(t, node >> SLOT_BITS);
	if (i && is_dir_slot(i, slot_of(node)))
		err = -EISDIR;
	else if (i && file_row(slot_of(node), &row))
		err = 0;
	if (!err) {
		i->n_users++;
		*ret_row = row;
		*ret_instance = i;
	}
	pthread_mutex_unlock(&t->lock);
	return err;
}

static unsigned count_links(struct kmt_tree *t, const struct kmt_instance *i, unsigned slot)
{
	unsigned n = 2;

	if (slot == SLOT_TOP)
		return n + 2 + !i->number;
	if (slot != SLOT_INSTANCES)
		return n;
	for (i = t->first->next; i; i = i->next)
		n += i->state == KMT_INSTANCE_LIVE;
	return n;
}

int kmt_tree_stat(struct kmt_tree *t, kmt_node node, struct kmt_tree_stat *ret_stat)
{
	struct kmt_tree_stat st = { .n_links = 1 };
	unsigned slot = slot_of(node);
	struct kmt_file_row row;
	struct kmt_instance *i;
	int err = 0;

	pthread_mutex_lock(&t->lock);
	i = instance_find(t, node >> SLOT_BITS);
	if (i && is_dir_slot(i, slot)) {
		st.mode = DIR_MODE;
		st.n_links = count_links(t, i, slot);
		/* whoever may read the statistics must get there */
		if (t->opts.has_stat_group && slot != SLOT_OPTIONS)
			st.gid = t->opts.stat_gid;
	} else if (i && file_row(slot, &row)) {
		st.mode = S_IFREG | row.mode;
		if (t->opts.has_stat_group && row.stat)
			st.gid = t->opts.stat_gid;
	} else {
		err = -ENOENT;
	}
	pthread_mutex_unlock(&t->lock);
	if (!err)
		*ret_stat = st;
	return err;
}

/* ---- directories ---- */

/* Visits what is in a directory until 'each' answers true; the lock is held. */
struct visit {
	bool (*each)(void *arg, const char *name, kmt_node node, mode_t mode);
	void *arg;
};

static bool visit_rows(const struct visit *v, const struct kmt_instance *i,
		       const struct kmt_file_row *rows, unsigned slot)
{
	for (; rows->name; rows++, slot++)
		if (v->each(v->arg, rows->name, node_of(i, slot), S_IFREG | rows->mode))
			return true;
	return false;
}

static bool visit_top(const struct visit *v, const struct kmt_instance *i)
{
	return visit_rows(v, i, kmt_root_files, SLOT_FILE) ||
	       v->each(v->arg, "options", node_of(i, SLOT_OPTIONS), DIR_MODE) ||
	       v->each(v->arg, "trace_stat", node_of(i, SLOT_STATS), DIR_MODE) ||
	       (!i->number && v->each(v->arg, "instances", node_of(i, SLOT_INSTANCES), DIR_MODE));
}

static bool visit_stats(const struct visit *v, const struct kmt_instance *i)
{
	for (unsigned n = 0; n < kmt_n_stat_files; n++)
		if (v->each(v->arg, kmt_stat_files[n].name, node_of(i, SLOT_STAT + n), STAT_MODE))
			return true;
	return false;
}

static bool visit_instances(const struct visit *v, struct kmt_tree *t)
{
	for (struct kmt_instance *i = t->first->next; i; i = i->next)
		if (i->state == KMT_INSTANCE_LIVE &&
		    v->each(v->arg, i->name, node_of(i, SLOT_TOP), DIR_MODE))
			return true;
	return false;
}

static int visit_dir(struct kmt_tree *t, kmt_node dir, const struct visit *v)
{
	struct kmt_instance *i;
	int err = 0;

	pthread_mutex_lock(&t->lock);
	i = instance_find(t, dir >> SLOT_BITS);
	if (!i)
		err = -ENOENT;
	else if (!is_dir_slot(i, slot_of(dir)))
		err = -ENOTDIR;
	else if (slot_of(dir) == SLOT_TOP)
		visit_top(v, i);
	else if (slot_of(dir) == SLOT_OPTIONS)
		visit_rows(v, i, kmt_option_files, SLOT_OPTION);
	else if (slot_of(dir) == SLOT_STATS)
		visit_stats(v, i);
	else
		visit_instances(v, t);
	pthread_mutex_unlock(&t->lock);
	return err;
}

struct wanted {
	const char *name;
	kmt_node node;
};

static bool is_wanted(void *arg, const char *name, kmt_node node, mode_t mode)
{
	struct wanted *w = arg;

	if (strcmp(w->name, name))
		return false;
	w->node = node;
	return true;
}

int kmt_tree_lookup(struct kmt_tree *t, kmt_node dir, const char *name, kmt_node *ret_node)
{
	struct wanted w = { .name = name };
	int err = visit_dir(t, dir, &(struct visit){ is_wanted, &w });

	if (!err && !w.node)
		err = -ENOENT;
	if (!err)
		*ret_node = w.node;
	return err;
}

int kmt_tree_path(struct kmt_tree *t, const char *path, kmt_node *ret_node)
{
	_cleanup_free_ char *copy = strdup(path);
	kmt_node node = KMT_NODE_ROOT;
	char *rest = copy, *name;
	int err = copy ? 0 : -ENOMEM;

	while (!err && (name = strsep(&rest, "/")))
		if (*name)
			err = kmt_tree_lookup(t, node, name, &node);
	if (!err)
		*ret_node = node;
	return err;
}

struct listing {
	struct kmt_tree_entry *v;
	size_t n;
	int err;
};

static bool list_one(void *arg, const char *name, kmt_node node, mode_t mode)
{
	struct listing *l = arg;
	struct kmt_tree_entry *v = reallocarray(l->v, l->n + 1, sizeof(*v));
	char *copy = strdup(name);

	if (v)
		l->v = v;
	if (!v || !copy) {
		free(copy);
		l->err = -ENOMEM;
		return true;
	}
	l->v[l->n++] = (struct kmt_tree_entry){ .name = copy, .node = node, .mode = mode };
	return false;
}

int kmt_tree_list(struct kmt_tree *t, kmt_node dir, struct kmt_tree_entry **ret_entries,
		  size_t *ret_n)
{
	struct listing l = { 0 };
	int err = visit_dir(t, dir, &(struct visit){ list_one, &l });

	if (!err)
		err = l.err;
	if (err) {
		kmt_tree_entries_free(l.v, l.n);
		return err;
	}
	*ret_entries = l.v;
	*ret_n = l.n;
	return 0;
}

void kmt_tree_entries_free(struct kmt_tree_entry *entries, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(entries[i].name);
	free(entries);
}

/* ---- instances as directories ---- */

/* Refused in the name of the root: the instance has no error_log. */
static int refused_dir(struct kmt_tree *t, int err, const char *name)
{
	kmt_tree_refused(t->first, "instances", err, name, strlen(name));
	return err;
}

int kmt_tree_mkdir(struct kmt_tree *t, kmt_node dir, const char *name, kmt_node *ret_node)
{
	int err;

	if (dir != node_of(t->first, SLOT_INSTANCES))
		return -EPERM;
	for (const char *c = name; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return refused_dir(t, kmt_err(-EINVAL, "a name with control characters"),
					   name);
	if (!*name)
		return -EINVAL;
	err = instance_make(t, name, ret_node);
	return err && err != -EEXIST ? refused_dir(t, err, name) : err;
}

/* The live instance of that name without users, for which it waits; the lock is held. */
static int find_unused(struct kmt_tree *t, const char *name, struct kmt_instance **ret_instance)
{
	struct timespec until = kmt_deadline(t->opts.close_wait_ms);
	int timed_out = !t->opts.close_wait_ms;

	for (;;) {
		struct kmt_instance *i = instance_named(t, name);

		if (!i || i->state != KMT_INSTANCE_LIVE)
			return -ENOENT;
		if (!i->n_users) {
			*ret_instance = i;
			return 0;
		}
		if (timed_out)
			return kmt_err(-EBUSY, "one of its files is open");
		timed_out = pthread_cond_timedwait(&t->dropped, &t->lock, &until);
	}
}

int kmt_tree_rmdir(struct kmt_tree *t, kmt_node dir, const char *name)
{
	struct kmt_instance *i = NULL;
	kmt_node node;
	int err;

	if (dir != node_of(t->first, SLOT_INSTANCES)) {
		err = kmt_tree_lookup(t, dir, name, &node);
		return err ? err : -EPERM;
	}
	pthread_mutex_lock(&t->lock);
	err = find_unused(t, name, &i);
	if (!err)
		i->state = KMT_INSTANCE_ENDING;
	pthread_mutex_unlock(&t->lock);
	if (err)
		return err == -EBUSY ? refused_dir(t, err, name) : err;
	t->ops->end(i->tracer);
	pthread_mutex_lock(&t->lock);
	instance_remove(t, i);
	pthread_mutex_unlock(&t->lock);
	return 0;
}
