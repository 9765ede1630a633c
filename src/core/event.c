// SPDX-License-Identifier: GPL-2.0-only
#include "core/event.h"

static const struct {
	const char *key;
	const char *text;
} losses[KMT_LOSS_MAX] = {
	[KMT_LOSS_RING]	   = { "lost_ring",    "ring buffer full" },
	[KMT_LOSS_SITES]   = { "lost_sites",   "call-site table full" },
	[KMT_LOSS_OBJECTS] = { "lost_objects", "live-object table full" },
	[KMT_LOSS_STACKS]  = { "lost_stacks",  "stack table full or stack missing" },
	[KMT_LOSS_CACHES]  = { "lost_caches",  "cache table full" },
	[KMT_LOSS_INPUT]   = { "lost_input",   "unreadable input" },
	[KMT_LOSS_BEGINNING] = { "lost_beginning", "beginning, written over" },
};

char kmt_type_letter(unsigned type)
{
	static const char letters[] = {
		[KMT_TYPE_KMALLOC] = 'K',
		[KMT_TYPE_CACHE]   = 'C',
		[KMT_TYPE_PAGES]   = 'P',
		[KMT_TYPE_PERCPU]  = 'U',
		[KMT_TYPE_VMALLOC] = 'V',
	};

	return type < sizeof(letters) ? letters[type] : '?';
}

uint64_t kmt_event_key(const struct kmt_event *ev)
{
	/* kfree() of a cache's object is legal: both are one layer */
	uint64_t layer = ev->type == KMT_TYPE_CACHE ? KMT_TYPE_KMALLOC : ev->type;

	return ev->addr ? ev->addr ^ layer << 56 : 0;
}

const char *kmt_migratetype_name(int migratetype)
{
	static const char *const names[] = {
		[KMT_MIGRATE_UNMOVABLE]	  = "unmovable",
		[KMT_MIGRATE_MOVABLE]	  = "movable",
		[KMT_MIGRATE_RECLAIMABLE] = "reclaimable",
	};

	return migratetype >= 0 && migratetype < (int)(sizeof(names) / sizeof(names[0])) ?
	       names[migratetype] : NULL;
}

const char *kmt_loss_key(enum kmt_loss reason)
{
	return (unsigned)reason < KMT_LOSS_MAX ? losses[reason].key : "lost_unknown";
}

const char *kmt_loss_text(enum kmt_loss reason)
{
	return (unsigned)reason < KMT_LOSS_MAX ? losses[reason].text : "unknown reason";
}
