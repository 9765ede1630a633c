/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The text of an event's "format" file, as recordings store it, to the rows
 * that kmt_tp_bind() takes.
 */
#ifndef KMT_SOURCE_TP_FORMAT_H
#define KMT_SOURCE_TP_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include "source/tp_fields.h"

#define KMT_TP_FORMAT_FIELDS	48
#define KMT_TP_FORMAT_NAME	48

struct kmt_tp_format {
	uint32_t id;
	size_t	 n;
	struct kmt_tp_field field[KMT_TP_FORMAT_FIELDS];	/* names lie in 'names' */
	char	 name[KMT_TP_FORMAT_NAME];
	char	 names[KMT_TP_FORMAT_FIELDS][KMT_TP_FORMAT_NAME];
};

/*
 * -EPROTO: no name, no id, or no field; a line that is no field of the known
 * form is left out. 'ret' must stay where it is (its fields point into it).
 */
int kmt_tp_format_parse(const char *text, size_t len, struct kmt_tp_format *ret);
/* The field of that name, NULL if there is none. */
const struct kmt_tp_field *kmt_tp_format_field(const struct kmt_tp_format *f, const char *name);

#endif
