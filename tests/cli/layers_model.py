#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Pages, per-CPU memory and vmalloc areas of a recording, the slow and obvious way.

usage: layers_model.py events|sites|orders TYPE < TEXT
       layers_model.py ours < 'kmemtrace trace'

TEXT is what perf script, trace-cmd report or the kernel itself printed, with
stacks; TYPE is 2 (pages), 3 (per-CPU) or 4 (vmalloc). Shares no code and no list
with kmemtrace.

events: "+ ADDRESS BYTES" or "- ADDRESS" of each event, in order
sites:  "FUNCTION ALLOCS BYTES"; FUNCTION without offset, "?" none
orders: "ORDER MIGRATETYPE ALLOCS BYTES", of pages
ours:   what kmemtrace printed, as 'events' has it
"""
import collections
import re
import sys

EVENT = re.compile(r"(?:^|[\s:])(mm_page_alloc|mm_page_free|percpu_alloc_percpu|percpu_free_percpu|"
                   r"alloc_vmap_area|free_vmap_area_noflush): +(.*)")
FRAME = re.compile(r"^\s*(?:=>\s+|[0-9a-f]{16}\s+)([A-Za-z_][\w.]*)")
TYPES = {"mm_page": 2, "percpu_": 3, "alloc_v": 4, "free_vm": 4}
MIGRATE = "unmovable", "movable", "reclaimable"
# who only hands on, among the functions in these recordings
SKIP = re.compile(r"trace_event_raw_event_|perf_trace_|_*(alloc|free)_(frozen_)?pages|"
                  r"_*(vma_alloc_)?folio|_*vm(alloc|_area)|_*v(free|zalloc)|_*get_vm_area|"
                  r"(alloc|free|remove)_(un)?(map_)?(vmap|vm)_area|alloc_pages|get_zeroed|"
                  r"_*get_free|free_unref|release_pages|free_pages|new_slab|allocate_slab|"
                  r"_+slab_(alloc|free)|_*k[mvz]*(alloc|free)|kmem_cache|_*refill|pcpu_|free_percpu|"
                  r"_*free_slab|discard_slab|_*put_partials|__free_page|free_slab")


def events(lines):
    """(type, is_alloc, address, bytes, fields, frames) of each event"""
    frames = []
    for line in lines:
        if m := EVENT.search(line):
            frames = []
            f = dict(w.split("=", 1) for w in m[2].replace("va_start: ", "va_start=").split()
                     if "=" in w)
            kind = TYPES[m[1][:7]]
            if kind == 2:
                address, size = int(f["pfn"], 0) * 4096, 4096 * 2 ** int(f["order"])
            elif kind == 3:
                address, size = int(f["ptr"], 16), int(f.get("bytes_alloc", 0))
            else:
                address, size = int(f["va_start"], 0), int(f.get("size", 0))
            yield kind, "alloc" in m[1], address, size, f, frames
        elif m := FRAME.match(line):
            frames.append(m[1])


def site(fields, frames):
    if "call_site" in fields:
        return fields["call_site"].split("+")[0]
    while frames and SKIP.match(frames[0]):
        frames = frames[1:]
    return frames[0] if frames else "?"


def ours():
    for line in sys.stdin:
        w = line.split()
        if w[0] == "type_id":
            alloc = "bytes_alloc" in w
            print("+" if alloc else "-", w[5], *([w[9]] if alloc else []))


def main():
    if sys.argv[1] == "ours":
        ours()
        return
    rows = collections.defaultdict(lambda: [0, 0])
    # frames come behind their event: all are read first
    for kind, is_alloc, address, size, f, frames in list(events(sys.stdin)):
        if kind != int(sys.argv[2]):
            continue
        if sys.argv[1] == "events":
            print("+" if is_alloc else "-", address, *([size] if is_alloc else []))
        if not is_alloc:
            continue
        key = site(f, frames) if sys.argv[1] == "sites" else \
            f"{f.get('order')} {MIGRATE[int(f.get('migratetype', 0))]}"
        rows[key][0] += 1
        rows[key][1] += size
    if sys.argv[1] != "events":
        for key in sorted(rows):
            print(key, *rows[key])


if __name__ == "__main__":
    main()
