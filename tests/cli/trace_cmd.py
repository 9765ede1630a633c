#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What trace-cmd says about a recording against what kmemtrace says.

usage: trace_cmd.py lines REPORT     'trace-cmd report -R -t' to plain lines
       trace_cmd.py ours TRACE       'kmemtrace trace --time --task --cache' to the same
       trace_cmd.py stacks REPORT TRACE
                                     'trace-cmd report -t' and 'trace --stacks
                                     --time' with an empty --kallsyms: each
                                     stack is the end of trace-cmd's

A line is: time, task, CPU, event, pointer, cache, bytes requested and given,
gfp flags, node. Frees of nothing are left out, as kmemtrace does; so is what
an instance ("name: ...") recorded a second time.
"""
import re
import sys

HEAD = re.compile(r'^\s*(?:(\w+):\s+)?(\S+)-(\d+)\s+\[(\d+)\]\s+(\d+\.\d+):\s+(\w+):\s*(.*)')
EVENTS = ('kmalloc', 'kfree', 'kmem_cache_alloc', 'kmem_cache_free')


def number(text):
    return int(text, 0)


def parse_report(path):
    """(head match, fields) of each of our events, frames added to them by the caller"""
    for line in open(path, encoding='utf-8', errors='replace'):
        m = HEAD.match(line)
        if m:
            yield m, dict(re.findall(r'(\w+)=(\S+)', m[7])), line
        else:
            yield None, None, line


def lines(path):
    seen = set()
    for m, f, _ in parse_report(path):
        if not m or m[6] not in EVENTS or number(f.get('ptr', '0').replace('(nil)', '0')) <= 16:
            continue
        is_alloc = 'alloc' in m[6]
        out = [m[2] + '-' + m[3], str(int(m[4])), m[6], hex(number(f['ptr'])),
               f.get('name', '-') if 'cache' in m[6] else '-']
        if is_alloc:
            out += [f['bytes_req'], f['bytes_alloc'], str(number(f['gfp_flags'])), f['node']]
        # the same event in another instance: not the same time
        key = ' '.join(out)
        if m[1] and key in seen:
            seen.discard(key)
            continue
        if '--twice' in sys.argv and not m[1]:
            seen.add(key)
        print(m[5], key)


OURS = re.compile(r'^type_id (\d) call_site (\d+) ptr (\d+)(?: bytes_req (\d+) bytes_alloc (\d+) '
                  r'gfp_flags (\d+) node (-?\d+))?(?: cache (\S+))? time (\S+)'
                  r'(?: task (\S+) cpu (\d+))?')


def ours(path):
    for line in open(path, encoding='utf-8'):
        m = OURS.match(line)
        if not m:
            sys.exit('unknown line: ' + line)
        is_alloc = m[4] is not None
        name = {('0', True): 'kmalloc', ('0', False): 'kfree', ('1', True): 'kmem_cache_alloc',
                ('1', False): 'kmem_cache_free'}[m[1], is_alloc]
        cache = (m[8] or '-') if m[1] == '1' else '-'
        out = [m[9], m[10], m[11], name, hex(int(m[3])), cache]
        if is_alloc:
            out += [m[4], m[5], m[6], m[7]]
        print(' '.join(out))


def stacks(report, trace):
    """Frames of trace-cmd, by the event that the stack follows on its CPU."""
    theirs, last, current = {}, {}, None
    for m, _, line in parse_report(report):
        if m:
            current = None
            where = m[4], m[3]
            if m[6] in EVENTS:
                last[where] = m[5]
            elif m[6] == 'kernel_stack':
                current = theirs.setdefault(last.get(where), [])
        elif current is not None:
            frame = re.match(r'^=> (?:.* \()?([0-9a-f]{8,16})\)?', line)
            if frame:
                current.append(int(frame[1], 16))
    n, site, frames = 0, None, []

    def check(time, site, frames):
        want = theirs.get(time, [])
        if site in want[:8]:
            want = want[want.index(site):]
        if frames != want:
            sys.exit(f'{time}: stack {[hex(f) for f in frames]}, not {[hex(f) for f in want]}')
        return bool(frames)

    time = None
    for line in open(trace, encoding='utf-8'):
        m = OURS.match(line)
        if m:
            n += check(time, site, frames) if time else 0
            time, site, frames = m[9], int(m[2]), []
        else:
            frames.append(int(re.match(r'^\s*=> (\S+)', line)[1], 16))
    n += check(time, site, frames)
    print(n)


if __name__ == '__main__':
    {'lines': lines, 'ours': ours, 'stacks': stacks}[sys.argv[1]](
        *[a for a in sys.argv[2:] if not a.startswith('--')])
