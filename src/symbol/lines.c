// SPDX-License-Identifier: GPL-2.0-only
#include "symbol/lines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "symbol/symbols.h"

#define BUILD_ID_MAX 64		/* bytes; SHA-1 has 20 */
#define VOTES 31		/* symbols that tell how far the kernel was moved */

struct kmt_lines {
	Dwfl *dwfl;
	Dwfl_Module *module;
	uint64_t moved;			/* address in the file - address when running */
	char	 build_id[2 * BUILD_ID_MAX + 1];
};

/* The file itself and nothing else: no search for more of it in the system. */
static int find_nothing(Dwfl_Module *mod, void **userdata, const char *name, Dwarf_Addr base,
			const char *file_name, const char *link_name, GElf_Word crc,
			char **ret_name)
{
	return -1;
}

static const Dwfl_Callbacks callbacks = {
	.find_debuginfo = find_nothing,
	.section_address = dwfl_offline_section_address,
};

void kmt_lines_free(struct kmt_lines *l)
{
	if (!l)
		return;
	if (l->dwfl)
		dwfl_end(l->dwfl);
	free(l);
}

static void take_build_id(struct kmt_lines *l)
{
	const unsigned char *bits = NULL;
	GElf_Addr at;
	int n = dwfl_module_build_id(l->module, &bits, &at);

	for (int i = 0; i < n && i < BUILD_ID_MAX; i++)
		snprintf(l->build_id + 2 * i, 3, "%02x", bits[i]);
}

static int open_file(struct kmt_lines *l, const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	Dwarf_Addr bias;

	if (fd < 0)
		return kmt_err_errno(-errno, "%s", path);
	l->dwfl = dwfl_begin(&callbacks);
	if (!l->dwfl)
		return kmt_err(-ENOMEM, "out of memory");
	l->module = dwfl_report_offline(l->dwfl, "vmlinux", path, fd);
	if (!l->module)
		return kmt_err(-EINVAL, "%s: %s", path, dwfl_errmsg(-1));
	fd = -1;	/* the library's now */
	dwfl_report_end(l->dwfl, NULL, NULL);
	if (!dwfl_module_getdwarf(l->module, &bias))
		return kmt_err(-EINVAL, "%s has no debug information", path);
	take_build_id(l);
	return 0;
}

int kmt_lines_load(const char *path, struct kmt_lines **ret)
{
	struct kmt_lines *l = calloc(1, sizeof(*l));
	int err = l ? open_file(l, path) : kmt_err(-ENOMEM, "out of memory");

	if (err) {
		kmt_lines_free(l);
		return err;
	}
	*ret = l;
	return 0;
}

const char *kmt_lines_build_id(const struct kmt_lines *l)
{
	return *l->build_id ? l->build_id : NULL;
}

/* Address in the file - address when running, of one of the file's symbols; false: unknown. */
static bool distance(const struct kmt_lines *l, int i, const struct kmt_symbols *symbols,
		     uint64_t *ret)
{
	struct kmt_symbol running;
	GElf_Addr addr = 0;
	GElf_Sym sym;
	const char *name = dwfl_module_getsym_info(l->module, i, &sym, &addr, NULL, NULL, NULL);

	if (!name || GELF_ST_TYPE(sym.st_info) != STT_FUNC ||
	    GELF_ST_BIND(sym.st_info) != STB_GLOBAL ||
	    !kmt_symbols_by_name(symbols, name, NULL, &running) || running.module)
		return false;
	*ret = addr - running.start;
	return true;
}

/* Static functions may have the same names, so one name proves nothing: most of a few do. */
void kmt_lines_place(struct kmt_lines *l, const struct kmt_symbols *symbols)
{
	int n = symbols ? dwfl_module_getsymtab(l->module) : 0, most = 0, seen = 0;
	uint64_t v[VOTES];

	l->moved = 0;
	for (int i = 1; i < n && seen < VOTES; i++)
		seen += distance(l, i, symbols, &v[seen]);
	for (int i = 0; i < seen; i++) {
		int same = 0;

		for (int k = 0; k < seen; k++)
			same += v[k] == v[i];
		if (same > most) {
			most = same;
			l->moved = v[i];
		}
	}
}

static const char *text_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;

	return dwarf_formstring(dwarf_attr(die, name, &attr));
}

/* "../" and "./" at the beginning say where it was built, not what it is. */
static const char *skip_dots(const char *s)
{
	for (;;) {
		if (!strncmp(s, "./", 2))
			s += 2;
		else if (!strncmp(s, "../", 3))
			s += 3;
		else if (*s == '/')
			s++;
		else
			return s;
	}
}

bool kmt_lines_directory(const struct kmt_lines *l, uint64_t addr, struct kmt_buf *out)
{
	Dwarf_Addr bias;
	Dwarf_Die *unit;
	const char *name, *top, *slash;
	size_t len;

	if (!addr)
		return false;
	/* the address after a call may be another function's */
	unit = dwfl_module_addrdie(l->module, addr - 1 + l->moved, &bias);
	name = unit ? text_of(unit, DW_AT_name) : NULL;
	if (!name)
		return false;
	top = text_of(unit, DW_AT_comp_dir);
	len = top ? strlen(top) : 0;
	if (len && !strncmp(name, top, len) && name[len] == '/')
		name += len;
	name = skip_dots(name);
	slash = strrchr(name, '/');
	if (slash)
		kmt_buf_add(out, name, slash - name);
	else
		kmt_buf_puts(out, ".");
	return true;
}
