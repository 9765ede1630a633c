// SPDX-License-Identifier: GPL-2.0-only
/* Rows by what the allocating function calls itself: ext4_, tcp_, nf_, ... */
#include "analysis/subsystem.h"

#include <stdbool.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/columns.h"
#include "analysis/group.h"
#include "analysis/names.h"
#include "analysis/rows.h"
#include "base/buf.h"
#include "report/report.h"

extern const struct kmt_analysis kmt_analysis_subsystem;

#define COLUMNS(survivors) KMT_COLUMNS_LABEL(survivors, "subsystem", "SUBSYSTEM")

static const struct kmt_column columns[] = COLUMNS(false);
static const struct kmt_column survivor_columns[] = COLUMNS(true);

/* Names of functions that are system calls' entries, whatever they are about. */
static bool is_syscall(const char *name)
{
	static const char *const prefixes[] = {
		"__x64_sys_", "__ia32_sys_", "__arm64_sys_", "__riscv_sys_", "__s390x_sys_",
		"__se_sys_", "__do_sys_", "__x64_compat_sys_", "__ia32_compat_sys_",
		"__arm64_compat_sys_", "__se_compat_sys_", "__do_compat_sys_", "ksys_", "sys_",
		"SyS_",
	};

	for (size_t i = 0; i < KMT_N(prefixes); i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

/* What is done rather than what it is done to; "alloc_skb" is about skb. */
static bool is_verb(const char *word, size_t len)
{
	static const char *const verbs[] = {
		"add", "alloc", "allocate", "build", "clone", "copy", "create", "do", "dup",
		"fill", "find", "generic", "get", "grow", "handle", "init", "insert", "load",
		"lookup", "make", "new", "prepare", "really", "register", "set", "setup", "try",
	};

	for (size_t i = 0; i < KMT_N(verbs); i++)
		if (strlen(verbs[i]) == len && !strncmp(word, verbs[i], len))
			return true;
	return false;
}

void kmt_subsystem_of(const char *site, struct kmt_buf *out)
{
	/* the name alone: no offset, no module, none of the compiler's ".isra.0" */
	const char *end = site + strcspn(site, "+ ."), *word = site;
	size_t len;

	if (site[0] == '0' && site[1] == 'x')
		return;
	if (is_syscall(site)) {
		kmt_buf_puts(out, "sys");
		return;
	}
	for (;;) {
		while (*word == '_')
			word++;
		len = strcspn(word, "_+ .");
		if (word + len >= end || !is_verb(word, len) || !strcspn(word + len + 1, "_+ ."))
			break;
		word += len;
	}
	if (len == 1 && *word == 'd')	/* d_alloc(), d_instantiate(), ... */
		kmt_buf_puts(out, "dcache");
	else
		kmt_buf_add(out, word, len);
}

static int label(const struct kmt_analysis_in *in, const struct kmt_site_key *key,
		 struct kmt_buf *out)
{
	struct kmt_cell site = { .is_null = true };
	int err = kmt_name_key(in, key, &site, NULL);

	if (!err && site.text)
		kmt_subsystem_of(site.text, out);
	kmt_cell_text(&site, NULL);
	return err;
}

static const struct kmt_rows_view view = {
	.name = "subsystem", .label = label, .label_key = "subsystem", .columns = columns,
	.survivor_columns = survivor_columns, .n_columns = KMT_N(columns),
};

static int run(const struct kmt_analysis_in *in, struct kmt_report **ret_report)
{
	return kmt_rows_run(in, &view, ret_report);
}

const struct kmt_analysis kmt_analysis_subsystem = {
	.name = "subsystem",
	.aliases = { "subsystems" },
	.help = "by subsystem, as the name of the allocating function begins",
	.run = run,
};
