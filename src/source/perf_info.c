// SPDX-License-Identifier: GPL-2.0-only
#include "source/perf_info.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "source/perf_bytes.h"

#define FEAT_OSRELEASE	4
#define FEAT_ARCH	6
#define FEAT_NRCPUS	7
#define FEAT_CMDLINE	11
#define FEAT_SAMPLE_TIME 21
#define FEAT_CLOCK_DATA	29

#define BUILD_ID_FIELD	24	/* bytes of a build id record's field */
#define BUILD_ID_SIZE	20	/* of them the id itself, where the record does not say */
#define MISC_BUILD_ID_SIZE (1U << 15)	/* the record says: in the field's byte 20 */

/* "u32 length, text"; the text is padded with NULs and may fill its place. */
static void take_string(struct kmt_perf_bytes *b, char *out, size_t size)
{
	uint32_t len = kmt_perf_u32(b);
	const unsigned char *p = kmt_perf_take(b, len);
	size_t n = p ? strnlen((const char *)p, len < size ? len : size - 1) : 0;

	if (p)
		memcpy(out, p, n);
	out[n] = '\0';
}

static void take_command(struct kmt_perf_info *info, struct kmt_perf_bytes *b)
{
	uint32_t n = kmt_perf_u32(b);
	size_t len = 0;

	for (uint32_t i = 0; i < n && !b->is_short && len < sizeof(info->command); i++) {
		char word[256];
		int put;

		take_string(b, word, sizeof(word));
		put = snprintf(info->command + len, sizeof(info->command) - len, "%s%s",
			       len ? " " : "", word);
		len += put > 0 ? (size_t)put : 0;
	}
}

static void take_wall_clock(struct kmt_perf_info *info, struct kmt_perf_bytes *b)
{
	kmt_perf_u32(b);	/* version */
	kmt_perf_u32(b);	/* clock id: the attributes have it */
	info->wall_ns = kmt_perf_u64(b);
	info->wall_clock_ns = kmt_perf_u64(b);
	info->has_wall = !b->is_short;
}

void kmt_perf_info_feature(struct kmt_perf_info *info, unsigned feature,
			   const unsigned char *data, size_t len, bool swap)
{
	struct kmt_perf_bytes b = { .p = data, .left = len, .swap = swap };

	switch (feature) {
	case KMT_PERF_FEAT_BUILD_ID:
		kmt_perf_info_build_ids(info, data, len, swap);
		break;
	case FEAT_OSRELEASE:
		take_string(&b, info->release, sizeof(info->release));
		break;
	case FEAT_ARCH:
		take_string(&b, info->machine, sizeof(info->machine));
		break;
	case FEAT_NRCPUS:
		kmt_perf_u32(&b);	/* available */
		info->n_cpus = kmt_perf_u32(&b);	/* online */
		break;
	case FEAT_CMDLINE:
		take_command(info, &b);
		break;
	case FEAT_SAMPLE_TIME:
		info->first_ns = kmt_perf_u64(&b);
		info->last_ns = kmt_perf_u64(&b);
		break;
	case FEAT_CLOCK_DATA:
		take_wall_clock(info, &b);
		break;
	default:
		break;
	}
}

static bool is_kernel(uint16_t misc, const char *name, size_t len)
{
	static const char kallsyms[] = "[kernel.kallsyms]", vmlinux[] = "vmlinux";

	if ((misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_KERNEL)
		return false;
	return (len >= sizeof(kallsyms) - 1 && !memcmp(name, kallsyms, sizeof(kallsyms) - 1)) ||
	       memmem(name, len, vmlinux, sizeof(vmlinux) - 1);
}

void kmt_perf_info_build_ids(struct kmt_perf_info *info, const unsigned char *data, size_t len,
			     bool swap)
{
	struct kmt_perf_bytes b = { .p = data, .left = len, .swap = swap };

	while (!info->build_id[0] && b.left) {
		uint16_t misc, size;
		const unsigned char *id, *name;
		size_t id_len = BUILD_ID_SIZE;

		kmt_perf_u32(&b);	/* type */
		misc = kmt_perf_u16(&b);
		size = kmt_perf_u16(&b);
		kmt_perf_u32(&b);	/* pid */
		id = kmt_perf_take(&b, BUILD_ID_FIELD);
		name = size < 12 + BUILD_ID_FIELD ? NULL :
		       kmt_perf_take(&b, size - 12U - BUILD_ID_FIELD);
		if (!id || !name)
			return;
		if (misc & MISC_BUILD_ID_SIZE && id[20] <= BUILD_ID_SIZE)
			id_len = id[20];
		if (!is_kernel(misc, (const char *)name, size - 12U - BUILD_ID_FIELD))
			continue;
		for (size_t i = 0; i < id_len; i++)
			snprintf(info->build_id + 2 * i, 3, "%02x", id[i]);
	}
}

const char *kmt_perf_clock_name(bool is_set, uint32_t clockid)
{
	if (!is_set)
		return "perf";
	switch (clockid) {
	case CLOCK_REALTIME:
		return "realtime";
	case CLOCK_MONOTONIC:
		return "mono";
	case CLOCK_MONOTONIC_RAW:
		return "mono_raw";
	case CLOCK_BOOTTIME:
		return "boot";
	case CLOCK_TAI:
		return "tai";
	default:
		return NULL;
	}
}
