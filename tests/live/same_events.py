#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Do two texts of 'trace', by the original's two formats, tell of the same events?

usage: same_events.py DEFAULT TABLE

Each line must match the format that the original printed it with, and the n-th
event of one must be the n-th of the other in every field that both have. Prints
how many allocations, frees and objects given up to RCU there were.
"""

import re
import sys

# kernel/trace/kmemtrace.c as first merged: "type_id %d call_site %lu ptr %lu ..."
DEFAULT_ALLOC = re.compile(
    r"type_id (\d+) call_site (\d+) ptr (\d+) "
    r"bytes_req (\d+) bytes_alloc (\d+) gfp_flags (\d+) node (-?\d+)\n")
# and what the original could not see (docs/man/kmemtrace-trace.1): given up to RCU
DEFAULT_FREE = re.compile(r"type_id (\d+) call_site (\d+) ptr (\d+)( given_up rcu)?\n")
# "  +      " "K   " "%4zu   " "%4zu   " "%08x   " "0x%tx   " "%4d   " and the symbol;
# of a free "  -      " "K     ", 23 blanks, "0x%tx   ", 7 blanks and the symbol
TABLE_ALLOC = re.compile(
    r"  \+      ([KCPUV?])   ( {0,3}\d+)   ( {0,3}\d+)   ([0-9a-f]{8,})   "
    r"0x([0-9a-f]+)   ( {0,3}-?\d+)   (\S[^\n]*)\n")
TABLE_FREE = re.compile(r"  ([-~])      ([KCPUV?]) {28}0x([0-9a-f]+) {10}(\S[^\n]*)\n")
LETTERS = "KCPUV"


def read_default(path):
    for line in open(path, encoding="ascii"):
        if line.startswith("#"):
            continue
        m = DEFAULT_ALLOC.fullmatch(line)
        if m:
            kind, site, ptr, req, given, gfp, node = map(int, m.groups())
            yield ("+", LETTERS[kind], ptr, req, given, gfp, node), site
            continue
        m = DEFAULT_FREE.fullmatch(line)
        if not m:
            sys.exit(f"no line of the default format: {line!r}")
        kind, site, ptr = map(int, m.groups()[:3])
        yield ("~" if m.group(4) else "-", LETTERS[kind], ptr), site


def read_table(path):
    for line in open(path, encoding="ascii"):
        if line.startswith("#") or line == "\n":
            continue
        m = TABLE_ALLOC.fullmatch(line)
        if m:
            kind, req, given, gfp, ptr, node, caller = m.groups()
            for number in (req, given, node):   # "%4d": no blanks that are not needed
                if len(number) > 4 and number[0] == " ":
                    sys.exit(f"a column is too wide: {line!r}")
            yield ("+", kind, int(ptr, 16), int(req), int(given), int(gfp, 16), int(node)), caller
            continue
        m = TABLE_FREE.fullmatch(line)
        if not m:
            sys.exit(f"no line of the table: {line!r}")
        yield (m.group(1), m.group(2), int(m.group(3), 16)), m.group(4)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    counts = {"+": 0, "-": 0, "~": 0}
    callers = {}
    default, table = list(read_default(sys.argv[1])), list(read_table(sys.argv[2]))
    if len(default) != len(table):
        sys.exit(f"{len(default)} events in one, {len(table)} in the other")
    for n, ((a, site), (b, caller)) in enumerate(zip(default, table)):
        if a != b:
            sys.exit(f"event {n}: {a} and {b}")
        if callers.setdefault(site, caller) != caller:
            sys.exit(f"event {n}: {site:#x} is {caller} and {callers[site]}")
        counts[a[0]] += 1
    print("allocs", counts["+"])
    print("frees", counts["-"])
    print("given_up", counts["~"])


main()
