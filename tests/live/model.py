#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The books kept the slow and obvious way: a dictionary per question.

usage: model.py default|ftrace FUNCTION... < EVENTS

Reads the events of a run as text and prints, as JSON, what the named functions
allocated and what became of it. Shares no code with kmemtrace: symbols are
looked up in /proc/kallsyms here.

  default  `kmemtrace trace` without options
  ftrace   the file `trace` of a tracefs instance
"""

import bisect
import json
import re
import sys

ZERO_SIZE_PTR = 16


class Kallsyms:
    def __init__(self):
        table = []
        with open("/proc/kallsyms", encoding="utf-8") as f:
            for line in f:
                addr, kind, name = line.split()[:3]
                if kind in "tTwW":
                    table.append((int(addr, 16), name))
        table.sort()
        self.addrs = [addr for addr, _ in table]
        self.names = [name for _, name in table]

    def function(self, addr):
        # a return address after the last instruction belongs to the call before it
        i = bisect.bisect_right(self.addrs, addr - 1) - 1
        return self.names[i] if i >= 0 else hex(addr)


def read_default(lines, other):
    """type_id N call_site N ptr N [bytes_req N bytes_alloc N gfp_flags N node N]"""
    symbols = Kallsyms()
    for line in lines:
        words = line.split()
        if not words or words[0] != "type_id":
            other(line)
            continue
        f = dict(zip(words[0::2], words[1::2]))
        site = symbols.function(int(f["call_site"]))
        ptr = int(f["ptr"])
        if "bytes_req" in f:
            yield site, ptr, int(f["bytes_req"]), int(f["bytes_alloc"])
        else:
            yield site, ptr, None, None


OVERFLOW = re.compile(r"# overflow: events lost: (\d+) \(([^)]*)\)")
FTRACE = re.compile(r": (?:kmalloc|kmem_cache_alloc|kfree|kmem_cache_free)(?:_node)?: call_site=(\w+)")


def read_ftrace(lines, other):
    """Pointers are hashed, but the same object always gives the same hash."""
    for line in lines:
        m = FTRACE.search(line)
        if not m:
            if not line.startswith("#"):
                other(line)
            continue
        f = dict(w.split("=", 1) for w in line.split() if "=" in w)
        ptr = 0 if "null" in f["ptr"] else int(f["ptr"], 16)
        if "bytes_req" in f:
            yield m.group(1), ptr, int(f["bytes_req"]), int(f["bytes_alloc"])
        else:
            yield m.group(1), ptr, None, None


class Site:
    def __init__(self):
        self.allocs = self.frees = self.failures = self.untraced_frees = 0
        self.bytes_requested = self.bytes_allocated = 0
        self.live_objects = self.live_bytes_requested = 0
        self.frees_here = 0


class Books:
    def __init__(self):
        self.sites = {}
        self.live = {}
        self.events = self.null_frees = self.frees_unknown = 0

    def site(self, name):
        return self.sites.setdefault(name, Site())

    def close(self, ptr):
        name, size = self.live.pop(ptr)
        s = self.site(name)
        s.live_objects -= 1
        s.live_bytes_requested -= size
        return s

    def alloc(self, name, ptr, req, given):
        s = self.site(name)
        if not ptr:
            s.failures += 1
            return
        if ptr in self.live:
            self.close(ptr).untraced_frees += 1
        self.live[ptr] = (name, req)
        s.allocs += 1
        s.bytes_requested += req
        s.bytes_allocated += given
        s.live_objects += 1
        s.live_bytes_requested += req

    def free(self, name, ptr):
        if ptr in (0, ZERO_SIZE_PTR):
            self.null_frees += 1
            return
        self.site(name).frees_here += 1
        if ptr in self.live:
            self.close(ptr).frees += 1
        else:
            self.frees_unknown += 1

    def event(self, name, ptr, req, given):
        self.events += 1
        if req is None:
            self.free(name, ptr)
        else:
            self.alloc(name, ptr, req, given)


def main():
    if len(sys.argv) < 2 or sys.argv[1] not in ("default", "ftrace"):
        sys.exit(__doc__)
    overflow = {}
    strange = []

    def other(line):
        """Comment lines: overflow records say how many events are missing, and why."""
        if line.startswith("#"):
            m = OVERFLOW.match(line)
            if m:
                o = overflow.setdefault(m.group(2), {"records": 0, "events": 0})
                o["records"] += 1
                o["events"] += int(m.group(1))
        elif line.strip():
            strange.append(line.rstrip("\n"))

    books = Books()
    reader = {"default": read_default, "ftrace": read_ftrace}[sys.argv[1]]
    for event in reader(sys.stdin, other):
        books.event(*event)
    json.dump({
        "events": books.events,
        "null_frees": books.null_frees,
        "frees_unknown": books.frees_unknown,
        "overflow": overflow,
        "strange_lines": strange[:5],
        "sites": {name: vars(books.site(name)) for name in sys.argv[2:]},
    }, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
