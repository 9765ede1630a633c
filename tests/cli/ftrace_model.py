#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The books of a text recording, kept the slow and obvious way.

usage: ftrace_model.py < TEXT > JSON

Knows one regular expression and a few dictionaries; shares no code with
kmemtrace. Prints totals, and for each call site (as printed, without the
function's size) what it allocated and what became of it.
"""
import json
import re
import sys

EVENT = re.compile(r": +(?:kmem:)?(kmalloc|kfree|kmem_cache_alloc|kmem_cache_free)(?:_node)?: .*?"
                   r"call_site=(\S+) ptr=(\S+)")
LOST = re.compile(r"CPU:\d+ \[LOST (\d+) EVENTS\]")
ENTRIES = re.compile(r"# entries-in-buffer/entries-written: (\d+)/(\d+)")


def new_site():
    return {"allocs": 0, "frees": 0, "untraced_frees": 0, "bytes_requested": 0,
            "bytes_allocated": 0, "live_objects": 0, "live_bytes_requested": 0,
            "live_bytes_allocated": 0}


def main():
    sites, live = {}, {}
    totals = {"events": 0, "null_frees": 0, "frees_before_start": 0, "lost_ring": 0, "stacks": 0}

    def close(ptr, how):
        site, req, given = live.pop(ptr)
        site[how] += 1
        site["live_objects"] -= 1
        site["live_bytes_requested"] -= req
        site["live_bytes_allocated"] -= given

    for line in sys.stdin:
        if m := LOST.match(line):
            totals["lost_ring"] += int(m[1])
        if m := ENTRIES.match(line):
            totals["lost_ring"] += int(m[2]) - int(m[1])
        totals["stacks"] += "<stack trace" in line
        m = EVENT.search(line)
        if not m:
            continue
        totals["events"] += 1
        ptr = 0 if m[3] in ("(nil)", "(null)") else int(m[3], 16)
        if "alloc" not in m[1]:
            if ptr in (0, 16):
                totals["null_frees"] += 1
            elif ptr in live:
                close(ptr, "frees")
            else:
                totals["frees_before_start"] += 1
            continue
        f = dict(w.split("=", 1) for w in line.split() if "=" in w)
        req, given = int(f["bytes_req"]), int(f["bytes_alloc"])
        if ptr in live:
            close(ptr, "untraced_frees")
        site = sites.setdefault(m[2].split("/")[0], new_site())
        live[ptr] = site, req, given
        site["allocs"] += 1
        site["bytes_requested"] += req
        site["bytes_allocated"] += given
        site["live_objects"] += 1
        site["live_bytes_requested"] += req
        site["live_bytes_allocated"] += given
    json.dump({"totals": totals, "sites": sites}, sys.stdout)


if __name__ == "__main__":
    main()
