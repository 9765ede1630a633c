// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/machine.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "core/facts.h"
#include "symbol/gfp.h"

#define NOTES "/sys/kernel/notes"
#define NOTES_MAX 65536

static size_t padded(size_t n)
{
	return (n + 3) & ~(size_t)3;
}

void kmt_machine_build_id(const void *notes, size_t len, char *out, size_t size)
{
	const uint8_t *p = notes;
	Elf32_Nhdr h;	/* the same in 64-bit files */

	out[0] = '\0';
	while (len >= sizeof(h)) {
		memcpy(&h, p, sizeof(h));
		p += sizeof(h);
		len -= sizeof(h);
		if (h.n_namesz > NOTES_MAX || h.n_descsz > NOTES_MAX ||
		    padded(h.n_namesz) + padded(h.n_descsz) > len)
			return;
		if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == 4 && !memcmp(p, "GNU", 4)) {
			p += padded(h.n_namesz);
			for (size_t i = 0; i < h.n_descsz && 2 * i + 2 < size; i++)
				snprintf(out + 2 * i, 3, "%02x", p[i]);
			return;
		}
		p += padded(h.n_namesz) + padded(h.n_descsz);
		len -= padded(h.n_namesz) + padded(h.n_descsz);
	}
}

static void ask_build_id(struct kmt_machine *m)
{
	_cleanup_free_ char *notes = malloc(NOTES_MAX);
	_cleanup_close_ int fd = open(NOTES, O_RDONLY | O_CLOEXEC);
	ssize_t len = notes && fd >= 0 ? read(fd, notes, NOTES_MAX) : 0;

	if (len > 0)
		kmt_machine_build_id(notes, (size_t)len, m->build_id, sizeof(m->build_id));
}

void kmt_machine_ask(struct kmt_machine *m, char **argv, const struct kmt_gfp_names *names)
{
	struct kmt_buf line = { 0 };
	struct utsname u;

	*m = (struct kmt_machine){ 0 };
	if (!uname(&u)) {
		snprintf(m->kernel, sizeof(m->kernel), "%s", u.release);
		snprintf(m->machine, sizeof(m->machine), "%s", u.machine);
	}
	ask_build_id(m);
	kmt_buf_puts(&line, "kmemtrace");
	for (; argv && *argv; argv++) {
		kmt_buf_puts(&line, " ");
		kmt_buf_puts(&line, *argv);
	}
	m->command = kmt_buf_take(&line);
	if (!names && !kmt_gfp_names_running(&m->own_gfp_names))
		names = m->own_gfp_names;
	m->gfp_names = names;
}

void kmt_machine_done(struct kmt_machine *m)
{
	free(m->command);
	kmt_gfp_names_free(m->own_gfp_names);
	*m = (struct kmt_machine){ 0 };
}

void kmt_machine_facts(const struct kmt_machine *m, struct kmt_facts *facts)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	facts->kernel = m->kernel[0] ? m->kernel : NULL;
	facts->machine = m->machine[0] ? m->machine : NULL;
	facts->build_id = m->build_id[0] ? m->build_id : NULL;
	facts->command = m->command;
	facts->gfp_names = m->gfp_names;
	facts->page_size = (uint32_t)sysconf(_SC_PAGESIZE);
	facts->n_cpus = cpus > 0 ? (uint32_t)cpus : 0;
}
