// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "symbol/gfp.h"
#include "symbol/nodes.h"
#include "symbol/symbols.h"

/* NULL: without modules, or not known; it is loaded anew each time then. */
static char *read_modules(void)
{
	_cleanup_close_ int fd = open("/proc/modules", O_RDONLY | O_CLOEXEC);
	_cleanup_buf_ struct kmt_buf text = { 0 };
	char part[4096];
	ssize_t n;

	if (fd < 0)
		return NULL;
	while ((n = read(fd, part, sizeof(part))) > 0)
		kmt_buf_add(&text, part, (size_t)n);
	return n || text.error ? NULL : kmt_buf_take(&text);
}

int kmt_names_load(struct kmt_names *last, struct kmt_names **ret)
{
	_cleanup_free_ char *modules = read_modules();
	struct kmt_names *n;

	if (last && modules && last->modules && !strcmp(modules, last->modules)) {
		*ret = kmt_names_get(last);
		return 0;
	}
	n = calloc(1, sizeof(*n));
	if (!n)
		return kmt_err_errno(-ENOMEM, "names");
	n->refs = 1;
	n->modules = take_ptr(modules);
	kmt_symbols_load(NULL, &n->symbols);
	kmt_gfp_names_running(&n->gfp_names);
	kmt_nodes_load(NULL, &n->nodes);
	*ret = n;
	return 0;
}

struct kmt_names *kmt_names_get(struct kmt_names *n)
{
	__atomic_add_fetch(&n->refs, 1, __ATOMIC_RELAXED);
	return n;
}

void kmt_names_drop(struct kmt_names *n)
{
	if (!n || __atomic_sub_fetch(&n->refs, 1, __ATOMIC_ACQ_REL))
		return;
	free(n->modules);
	kmt_symbols_free(n->symbols);
	kmt_gfp_names_free(n->gfp_names);
	kmt_nodes_free(n->nodes);
	free(n);
}
