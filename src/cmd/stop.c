// SPDX-License-Identifier: GPL-2.0-only
/* kmemtrace stop: end sessions, of whatever version. */
#include "base/cleanup.h"
#include "base/err.h"
#include "cmd/cmd.h"
#include "cmd/kept.h"

struct stop_opts {
	bool all;
};

static const struct kmt_option stop_options[] = {
	{ "all", 'a', KMT_OPT_FLAG, offsetof(struct stop_opts, all), NULL, "every session", 0, 0,
	  NULL },
	{ 0 }
};

static const struct kmt_option *const stop_tables[] = { stop_options, NULL };

extern const struct kmt_command kmt_command_stop;

/* One that cannot be ended is told of, and the others end all the same. */
static int stop_each(struct kmt_kept *k, const char *const *names, size_t n)
{
	int status = 0;

	for (size_t i = 0; i < n; i++) {
		int err = kmt_kept_remove(k, names[i]);

		if (err)
			status = kmt_kept_fail(err);
	}
	return status;
}

static int stop_all(struct kmt_kept *k)
{
	_cleanup_(kmt_kept_names_done) struct kmt_strlist names = { 0 };
	int err = kmt_kept_names(k, &names);

	return err ? kmt_kept_fail(err) : stop_each(k, names.v, names.n);
}

static int stop(const struct stop_opts *o, const char *const *names, size_t n)
{
	struct kmt_kept k = KMT_KEPT_NONE;
	int status, err;

	if (o->all != !n)
		return kmt_cmd_fail(KMT_EXIT_USAGE, "stop needs the NAME of a session, or --all");
	for (size_t i = 0; i < n; i++)
		if (kmt_kept_check_name(names[i]))
			return kmt_cmd_fail(KMT_EXIT_USAGE, "%s", kmt_err_text());
	status = kmt_kept_find(false, &k);
	if (status)
		return status;
	err = kmt_kept_lock(&k);
	if (err)
		status = kmt_kept_fail(err);
	else
		status = o->all ? stop_all(&k) : stop_each(&k, names, n);
	kmt_kept_unlock(&k);
	kmt_kept_done(&k);
	return status;
}

static int run(int argc, char **argv)
{
	struct stop_opts o = { 0 };
	const char *names[64] = { 0 };
	bool help = false;
	size_t n = 0;
	int status = kmt_cmd_parse(&kmt_command_stop, &o, argc, argv, names, 64, &n, &help);

	if (status)
		return status;
	return help ? kmt_cmd_help(&kmt_command_stop) : stop(&o, names, n);
}

const struct kmt_command kmt_command_stop = {
	.name = "stop",
	.synopsis = "stop NAME...|--all",
	.help = "end sessions",
	.options = stop_tables,
	.run = run,
};
