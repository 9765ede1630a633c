#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Peak and end of a recording, kept the slow and obvious way.

usage: model.py < EVENTS     (what `kmemtrace trace --time --cache` prints)

Prints as JSON the highest total of live given bytes, when it was reached after
the first event, what each call site and cache held then, and what is live at the
end. Shares no code with kmemtrace.
"""

import collections
import json
import sys

ZERO_SIZE_PTR = 16
LAYERS = {"0": 1}  # kmalloc and caches are one layer


def nanoseconds(text):
    seconds, fraction = text.split(".")
    return int(seconds) * 10**9 + int(fraction.ljust(9, "0"))


def main():
    live, held = {}, collections.Counter()
    total = peak = peak_at = 0
    at_peak, start = {}, None
    for line in sys.stdin:
        words = line.split()
        if not words or words[0] != "type_id":
            continue
        f = dict(zip(words[0::2], words[1::2]))
        ptr = int(f["ptr"])
        now = nanoseconds(f["time"])
        start = now if start is None else start
        if ptr <= ZERO_SIZE_PTR:
            continue
        place = (LAYERS.get(f["type_id"], int(f["type_id"])), ptr)
        # a free, or an address that is handed out again
        if place in live:
            key, size = live.pop(place)
            held[key] -= size
            total -= size
        if "bytes_req" not in f:
            continue
        key = (f["call_site"], f.get("cache"))
        size = int(f["bytes_alloc"])
        live[place] = (key, size)
        held[key] += size
        total += size
        if total > peak:
            peak, peak_at, at_peak = total, now - start, dict(held)
    print(json.dumps({
        "peak": peak,
        "peak_at_ns": peak_at,
        "held": sorted(size for size in at_peak.values() if size),
        "live": total,
        "live_objects": len(live),
    }))


if __name__ == "__main__":
    main()
