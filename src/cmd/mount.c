// SPDX-License-Identifier: GPL-2.0-only
/* kmemtrace mount: tracers as a directory of files, until it is unmounted. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "cmd/child.h"
#include "cmd/cmd.h"
#include "cmd/mount_dir.h"
#include "cmd/mount_session.h"
#include "cmd/tracers.h"
#include "control/control.h"
#include "control/fuse.h"
#include "control/tree.h"

/*
 * It may serve for months. Texts and lists of many MB come and go in the heaps of many
 * threads, and left there what a moment needed would stay: from this size on memory
 * is the kernel's own to take back.
 */
#define OWN_MAPPING	(128 * 1024)
/* What a file that was closed may take on its way to the tree. */
#define CLOSE_WAIT_MS	2000

struct mount_opts {
	const char *options, *session, *stat_group;
	bool daemon;
};

#define OFF(f) offsetof(struct mount_opts, f)

static const struct kmt_option mount_options[] = {
	{ "daemon", 'd', KMT_OPT_FLAG, OFF(daemon), NULL,
	  "return when the directory can be used, and serve it in the background", 0, 0, NULL },
	{ "options", 'o', KMT_OPT_STRING, OFF(options), "A,B,...",
	  "options as of mount(8), such as allow_other", 0, 0, NULL },
	{ "session", 0, KMT_OPT_STRING, OFF(session), "NAME",
	  "show what a session of 'kmemtrace start' counts, read only", 0, 0, NULL },
	{ "stat-group", 0, KMT_OPT_STRING, OFF(stat_group), "GROUP",
	  "members of the group may read trace_stat/", 0, 0, NULL },
	{ 0 }
};
static const struct kmt_option *const mount_tables[] = { mount_options, NULL };

extern const struct kmt_command kmt_command_mount;

struct mount {
	const struct mount_opts *o;
	char	*path;		/* absolute */
	bool	has_group;
	gid_t	gid;
	int	told;		/* daemon: who started it waits at the other end; else -1 */
	struct kmt_control_ops ops;
};

/* ---- serving ---- */

/* The kernel has answered: nobody has to wait any more, or to see what comes later. */
static void now_mounted(void *ctx)
{
	struct mount *m = ctx;
	int null;

	if (m->told < 0) {
		printf("%s is mounted; ^C or 'umount' ends it\n", m->path);
		fflush(stdout);
		return;
	}
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; fd <= 2 && null >= 0; fd++)
		dup2(null, fd);
	if (null > 2)
		close(null);
	if (write(m->told, "", 1) != 1)
		return;		/* whoever started it is gone; it was started all the same */
	close(m->told);
	m->told = -1;
}

static int status_of(int err)
{
	return kmt_cmd_fail(err == -EINVAL ? KMT_EXIT_USAGE : KMT_EXIT_IMPOSSIBLE, "%s",
			    kmt_err_text());
}

static int serve_tree(struct mount *m, struct kmt_tree *tree)
{
	struct kmt_fuse_opts opts = {
		.dir = m->path, .options = m->o->options, .allow_other = m->has_group,
		.signals = true, .ready = now_mounted, .ctx = m,
	};
	struct kmt_fuse *fuse = NULL;
	int err = kmt_fuse_mount(tree, &opts, &fuse);

	if (err)
		return status_of(kmt_err_prefix(err, "cannot mount: "));
	err = kmt_fuse_serve(fuse);
	kmt_fuse_free(fuse);
	return err ? status_of(-EIO) : KMT_EXIT_OK;
}

static int serve_ops(struct mount *m)
{
	struct kmt_tree_opts opts = {
		.ops = &m->ops, .has_stat_group = m->has_group, .stat_gid = m->gid,
		.close_wait_ms = CLOSE_WAIT_MS,
	};
	struct kmt_tree *tree = NULL;
	int err = kmt_tree_new(&opts, &tree);
	int status = err ? status_of(-EIO) : serve_tree(m, tree);

	kmt_tree_free(tree);
	return status;
}

static int serve_session(struct mount *m)
{
	struct kmt_mount_session *session = NULL;
	int status = kmt_mount_session_new(m->o->session, &session);

	if (status)
		return status;
	kmt_mount_session_control(session, &m->ops);
	status = serve_ops(m);
	kmt_mount_session_free(session);
	return status;
}

static int serve(struct mount *m)
{
	struct kmt_tracers_opts opts = { .realtime = true };
	struct kmt_tracers *tracers = NULL;
	int status;

	mallopt(M_MMAP_THRESHOLD, OWN_MAPPING);
	if (m->o->session)
		return serve_session(m);
	if (kmt_tracers_new(&opts, &tracers))
		return status_of(-EIO);
	kmt_tracers_control(tracers, &m->ops);
	status = serve_ops(m);
	kmt_tracers_free(tracers);
	return status;
}

/* ---- in the background ---- */

/* What the child says; 0: it has ended; -1: a signal asks us to end. */
static ssize_t hear(struct kmt_run *run, int fd)
{
	struct pollfd p[] = { { .fd = fd, .events = POLLIN }, { .fd = run->signal_fd, .events = POLLIN } };
	char said;

	while (!kmt_run_over(run) && (poll(p, 2, -1) < 0 || !p[0].revents))
		;
	return run->signal ? -1 : read(fd, &said, 1);
}

/* Until the child says that it serves, and it does; its own words are on standard error. */
static int wait_for_child(const struct mount *m, struct kmt_run *run, pid_t child, int fd)
{
	char file[4096 + 16];
	struct stat st;
	int status = 0;
	ssize_t n = hear(run, fd);
	bool answers;

	snprintf(file, sizeof(file), "%s/README", m->path);
	answers = n == 1 && !stat(file, &st);
	/* while it was asked a signal may have come: who is told of one must not leave a child */
	if (kmt_run_over(run))
		kill(child, SIGTERM);
	else if (answers)
		return KMT_EXIT_OK;
	else if (n == 1)
		return kmt_cmd_fail(KMT_EXIT_IMPOSSIBLE, "%s: mounted, but it does not answer", m->path);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (run->signal)
		return 128 + run->signal;
	if (!WIFEXITED(status))
		return kmt_cmd_fail(KMT_EXIT_IMPOSSIBLE, "the background process was killed");
	return WEXITSTATUS(status);
}

/* Of all that was inherited, which others may wait to see closed; -1 and errno. */
static int keep_only(int fd)
{
	int kept = fd == 3 ? fd : dup3(fd, 3, O_CLOEXEC);

	return kept < 0 || close_range(4, ~0u, 0) ? -1 : kept;
}

static int serve_behind(struct mount *m)
{
	struct kmt_run run = KMT_RUN_NONE;
	int fds[2], status;
	pid_t child;

	if (pipe2(fds, O_CLOEXEC))
		return kmt_cmd_fail(KMT_EXIT_IMPOSSIBLE, "no pipe: %s", strerror(errno));
	if (kmt_run_init(&run, NULL))
		return status_of(-EIO);
	fflush(NULL);
	child = fork();
	if (child < 0)
		return kmt_cmd_fail(KMT_EXIT_IMPOSSIBLE, "no process: %s", strerror(errno));
	if (child) {
		close(fds[1]);
		status = wait_for_child(m, &run, child, fds[0]);
		close(fds[0]);
		/* once it serves no signal shall end us with another status than "mounted" */
		if (status)
			kmt_run_done(&run);
		return status;
	}
	kmt_run_done(&run);
	setsid();
	m->told = keep_only(fds[1]);
	if (m->told < 0 || chdir("/"))
		return kmt_cmd_fail(KMT_EXIT_IMPOSSIBLE, "%s", strerror(errno));
	return serve(m);
}

/* ---- the command ---- */

static int find_group(struct mount *m)
{
	const struct group *g;

	if (!m->o->stat_group)
		return 0;
	g = getgrnam(m->o->stat_group);
	if (!g)
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--stat-group: there is no group '%s'",
				    m->o->stat_group);
	m->has_group = true;
	m->gid = g->gr_gid;
	return 0;
}

static int run_mount(const struct mount_opts *o, const char *dir)
{
	struct mount m = { .o = o, .told = -1 };
	bool stale = false;
	int status = find_group(&m);

	if (status)
		return status;
	if (geteuid())
		return kmt_cmd_fail(KMT_EXIT_IMPOSSIBLE, "only root can trace the kernel and mount");
	if (kmt_mount_dir(dir, &m.path, &stale))
		return kmt_cmd_fail(KMT_EXIT_USAGE, "%s", kmt_err_text());
	if (stale)
		kmt_cmd_warn("%s: the mount of a kmemtrace that was killed is replaced", dir);
	status = o->daemon ? serve_behind(&m) : serve(&m);
	free(m.path);
	return status;
}

static int run(int argc, char **argv)
{
	struct mount_opts o = { 0 };
	const char *dir = NULL;
	bool help = false;
	size_t n = 0;
	int status = kmt_cmd_parse(&kmt_command_mount, &o, argc, argv, &dir, 1, &n, &help);

	if (status)
		return status;
	if (help)
		return kmt_cmd_help(&kmt_command_mount);
	if (!n) {
		kmt_err(-EINVAL, "which directory?");
		return kmt_cmd_usage_error("mount");
	}
	return run_mount(&o, dir);
}

const struct kmt_command kmt_command_mount = {
	.name = "mount",
	.synopsis = "mount [OPTIONS] DIR",
	.help = "tracers as a directory of files, as in tracefs",
	.options = mount_tables,
	.run = run,
};
