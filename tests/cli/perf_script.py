#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What perf itself printed of a recording, as 'kmemtrace trace' should print it.

usage: perf_script.py events|counts [PERF_SCRIPT_TEXT]

events: lines of 'trace --time --task --cache --gfp --stacks', without the number
of the gfp flags (perf prints names) and without guessed caches of kmalloc.
counts: one JSON object with what can be counted.
"""
import collections
import json
import re
import sys

LINE = re.compile(r'\s*(.*\S)\s+(-?\d+) \[(\d+)\]\s+(\d+\.\d+):\s+kmem:(\w+): (.*)')
CALL = re.compile(r'\s*([0-9a-f]+)$')
TYPE = {'kmalloc': 0, 'kfree': 0, 'kmem_cache_alloc': 1, 'kmem_cache_free': 1}
KERNEL = 1 << 63


def events(lines):
    """(comm, tid, cpu, time, event, fields, stack) of each event."""
    for line in lines:
        line = line.rstrip('\n')
        if m := LINE.match(line):
            fields = dict(f.split('=', 1) for f in m[6].split())
            for key in 'call_site', 'ptr':
                fields[key] = 0 if fields[key] == '(nil)' else int(fields[key], 16)
            yield m[1], int(m[2]), int(m[3]), m[4], m[5], fields, (stack := [])
        elif m := CALL.match(line):
            stack.append(int(m[1], 16))
        elif line:
            sys.exit(f'what is this: {line}')


def is_free(event):
    return 'free' in event


def text(comm, tid, cpu, time, event, f, stack):
    out = f'type_id {TYPE[event]} call_site {f["call_site"]} ptr {f["ptr"]}'
    if not is_free(event):
        out += f' bytes_req {f["bytes_req"]} bytes_alloc {f["bytes_alloc"]} node {f["node"]}'
    if TYPE[event] == 1:
        out += f' cache {f["name"]}'
    if not tid:
        comm = f'swapper/{cpu}'
    elif comm == f':{tid}':
        comm = '<...>'
    out += f' time {time} task {comm}-{tid} cpu {cpu}'
    if not is_free(event):
        out += f' gfp {f["gfp_flags"]}'
    kernel = [ip for ip in stack if ip >= KERNEL]
    if f['call_site'] in kernel:
        kernel = kernel[kernel.index(f['call_site']):]
    return '\n'.join([out] + [f'\t=> {ip:#x}' for ip in kernel])


def counts(all_events):
    c = collections.Counter()
    sites = collections.defaultdict(lambda: [0, 0, 0])
    for _, _, _, _, event, f, _ in all_events:
        if is_free(event):
            # kfree(NULL) and kfree(ZERO_SIZE_PTR) free nothing
            c['null_frees' if f['ptr'] <= 16 else 'frees'] += 1
            continue
        c['allocs'] += 1
        site = sites[f'{f["call_site"]:#x}']
        for i, n in enumerate((1, f['bytes_req'], f['bytes_alloc'])):
            site[i] += int(n)
    return {k: c[k] for k in ('allocs', 'frees', 'null_frees')} | {'sites': sites}


def main():
    with open(sys.argv[2]) if len(sys.argv) > 2 else sys.stdin as f:
        all_events = list(events(f))
    if sys.argv[1] == 'counts':
        print(json.dumps(counts(all_events)))
        return
    for e in all_events:
        if not (is_free(e[4]) and e[5]['ptr'] <= 16):
            print(text(*e))


main()
