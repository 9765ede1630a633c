/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KMT_BPF_CLOCK_BPF_H
#define KMT_BPF_CLOCK_BPF_H

#include "bpf/maps.bpf.h"

#define KMT_CLOCK_SHIFT	6	/* clock readings per timer tick and CPU: 2^6 */

/*
 * Time in units of 8.192 us. Reading the clock costs as much as everything
 * else on this path: it waits until all earlier loads have come. So a CPU
 * reads it at the first event of a timer tick and then about 64 times per
 * tick, going by how many events the tick before brought; in between the last
 * reading is used. At up to 64 events a tick every event reads it.
 *
 * Error: 1/64 tick (62 us at HZ=250) while the load is steady, up to one tick
 * for an event that follows a burst after a pause. A reading never runs ahead.
 */
/* Out of line: look at the clock, and at a new tick decide how often to look. */
static __noinline __u64 kmt_look(struct kmt_cpu *cpu, __u64 jiffies)
{
	if (!cpu)
		return 0;
	cpu->uses += cpu->stride + 1;
	if (cpu->jiffies != jiffies) {
		/* after an idle tick nothing is known about the load */
		cpu->stride = cpu->jiffies + 1 == jiffies ? cpu->uses >> KMT_CLOCK_SHIFT : 0;
		cpu->jiffies = jiffies;
		cpu->uses = 0;
	}
	cpu->left = cpu->stride;
	cpu->now = bpf_ktime_get_ns() >> KMT_TIME_UNIT_SHIFT;
	return cpu->now;
}

static __always_inline __u64 kmt_now(struct kmt_cpu *cpu)
{
	__u64 jiffies = bpf_jiffies64(), left = cpu->left;

	if (unlikely(!left || cpu->jiffies != jiffies))
		return kmt_look(cpu, jiffies);
	cpu->left = left - 1;
	return cpu->now;
}

#endif
