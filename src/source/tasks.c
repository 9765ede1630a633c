// SPDX-License-Identifier: GPL-2.0-only
#include "source/tasks.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"

#define FIRST_CAP 1024
#define MAX_TASKS (1U << 20)	/* 48 MiB; more threads than that are not named */

struct kmt_tasks {
	char *root;
	struct kmt_task *slot;	/* used[] says which are taken; linear probing */
	uint8_t *used;
	size_t cap, n;
};

static void cleanup_dir(DIR **d)
{
	if (*d)
		closedir(*d);
}

int kmt_tasks_new(const char *root, struct kmt_tasks **ret)
{
	struct kmt_tasks *t = calloc(1, sizeof(*t));

	if (t)
		t->root = strdup(root ? root : "");
	if (!t || !t->root) {
		kmt_tasks_free(t);
		return kmt_err(-ENOMEM, "no memory for the task table");
	}
	*ret = t;
	return 0;
}

void kmt_tasks_free(struct kmt_tasks *t)
{
	if (!t)
		return;
	free(t->root);
	free(t->slot);
	free(t->used);
	free(t);
}

static size_t home(const struct kmt_tasks *t, uint32_t tid)
{
	return tid * 0x9e3779b1U & (t->cap - 1);
}

static size_t find(const struct kmt_tasks *t, uint32_t tid)
{
	size_t i = home(t, tid);

	while (t->used[i] && t->slot[i].tid != tid)
		i = (i + 1) & (t->cap - 1);
	return i;
}

static bool grow(struct kmt_tasks *t)
{
	struct kmt_tasks bigger = { .root = t->root, .n = t->n,
				    .cap = t->cap ? t->cap * 2 : FIRST_CAP };

	bigger.slot = calloc(bigger.cap, sizeof(*bigger.slot));
	bigger.used = calloc(bigger.cap, 1);
	if (!bigger.slot || !bigger.used) {
		free(bigger.slot);
		free(bigger.used);
		return false;
	}
	for (size_t i = 0; i < t->cap; i++) {
		if (!t->used[i])
			continue;
		size_t at = find(&bigger, t->slot[i].tid);

		bigger.slot[at] = t->slot[i];
		bigger.used[at] = 1;
	}
	free(t->slot);
	free(t->used);
	*t = bigger;
	return true;
}

/* The task's row, empty if it was not there. */
static struct kmt_task *row(struct kmt_tasks *t, uint32_t tid, bool *ret_new)
{
	size_t i = t->cap ? find(t, tid) : 0;

	*ret_new = false;
	if (t->cap && t->used[i])
		return &t->slot[i];
	if (t->n >= MAX_TASKS || (t->n + 1 > t->cap / 4 * 3 && !grow(t)))
		return NULL;
	i = find(t, tid);
	t->used[i] = 1;
	t->n++;
	t->slot[i] = (struct kmt_task){ .tid = tid };
	*ret_new = true;
	return &t->slot[i];
}

static void set_comm(struct kmt_task *task, const char *comm)
{
	size_t len = strnlen(comm, KMT_TASK_COMM - 1);

	memcpy(task->comm, comm, len);
	task->comm[len] = '\0';
	task->known = true;
}

/* Name and Tgid from the head of the status file. */
static void read_proc(const struct kmt_tasks *t, struct kmt_task *task)
{
	char path[256], text[512];
	_cleanup_close_ int fd = -1;
	ssize_t len;
	char *p;

	snprintf(path, sizeof(path), "%s/proc/%u/status", t->root, task->tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (len <= 0)
		return;
	text[len] = '\0';
	p = strstr(text, "\nTgid:");
	if (p)
		task->tgid = strtoul(p + 6, NULL, 10);
	/* "Name:" has blanks escaped; comm has the name as it is */
	snprintf(path, sizeof(path), "%s/proc/%u/comm", t->root, task->tid);
	close(fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	len = fd < 0 ? -1 : read(fd, text, KMT_TASK_COMM);
	if (len <= 0)
		return;
	text[len - (text[len - 1] == '\n')] = '\0';
	set_comm(task, text);
}

struct kmt_task *kmt_tasks_get(struct kmt_tasks *t, uint32_t tid)
{
	bool is_new;
	struct kmt_task *task = row(t, tid, &is_new);

	/* thread 0 is every CPU's idle task; /proc does not show it */
	if (task && is_new && tid)
		read_proc(t, task);
	return task;
}

static int scan_process(struct kmt_tasks *t, unsigned pid)
{
	char path[256];
	_cleanup_(cleanup_dir) DIR *dir = NULL;
	struct dirent *de;

	snprintf(path, sizeof(path), "%s/proc/%u/task", t->root, pid);
	dir = opendir(path);
	while (dir && (de = readdir(dir)))
		if (isdigit((unsigned char)de->d_name[0]) &&
		    !kmt_tasks_get(t, strtoul(de->d_name, NULL, 10)))
			return kmt_err(-ENOMEM, "no memory for the task table");
	return 0;
}

int kmt_tasks_scan(struct kmt_tasks *t)
{
	char path[256];
	_cleanup_(cleanup_dir) DIR *dir = NULL;
	struct dirent *de;
	int err = 0;

	snprintf(path, sizeof(path), "%s/proc", t->root);
	dir = opendir(path);
	if (!dir)
		return kmt_err_errno(-errno, "cannot read '%s'", path);
	while (!err && (de = readdir(dir)))
		if (isdigit((unsigned char)de->d_name[0]))
			err = scan_process(t, strtoul(de->d_name, NULL, 10));
	return err;
}

struct kmt_task *kmt_tasks_born(struct kmt_tasks *t, uint32_t parent, uint32_t tid, bool thread,
				const char *comm)
{
	struct kmt_task *p = kmt_tasks_get(t, parent);
	struct kmt_task mother = p ? *p : (struct kmt_task){ 0 };
	bool is_new;
	struct kmt_task *task = row(t, tid, &is_new);

	if (!task)
		return NULL;
	/* an old row is a dead thread whose number was given out again */
	*task = (struct kmt_task){ .tid = tid, .tgid = thread ? mother.tgid : tid,
				   .followed = mother.followed, .in_cgroup = mother.in_cgroup,
				   .no_cgroup = mother.no_cgroup, .cgroup_ns = mother.cgroup_ns };
	set_comm(task, comm);
	return task;
}

void kmt_tasks_rename(struct kmt_tasks *t, uint32_t tid, const char *comm)
{
	struct kmt_task *task = kmt_tasks_get(t, tid);

	if (task)
		set_comm(task, comm);
}

const char *kmt_task_name(const struct kmt_task *task, uint32_t tid, uint32_t cpu,
			  char idle[KMT_TASK_COMM])
{
	if (tid)
		return task && task->known ? task->comm : NULL;
	snprintf(idle, KMT_TASK_COMM, "swapper/%u", cpu);
	return idle;
}

void kmt_tasks_forget(struct kmt_tasks *t, uint32_t tid)
{
	size_t hole = t->cap ? find(t, tid) : 0;

	if (!t->cap || !t->used[hole])
		return;
	for (size_t i = (hole + 1) & (t->cap - 1); t->used[i]; i = (i + 1) & (t->cap - 1)) {
		size_t want = home(t, t->slot[i].tid);

		if (((i - want) & (t->cap - 1)) < ((i - hole) & (t->cap - 1)))
			continue;
		t->slot[hole] = t->slot[i];
		hole = i;
	}
	t->used[hole] = 0;
	t->n--;
}
