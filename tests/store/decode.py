#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Prints a .kmt recording line by line.

Written from kmemtrace-file(5) alone, as a check that the page is complete. It
needs the standard library and, through ctypes or as a command, zstd; checksums
are checked where libxxhash can be loaded.

usage: decode.py FILE
"""
import ctypes
import struct
import subprocess
import sys

MASK = (1 << 64) - 1


def load(*names):
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError:
            pass
    return None


LIBZSTD = load("libzstd.so.1", "libzstd.so")
LIBXXH = load("libxxhash.so.0", "libxxhash.so")
if LIBZSTD:
    LIBZSTD.ZSTD_decompress.restype = ctypes.c_size_t
    LIBZSTD.ZSTD_decompress.argtypes = [ctypes.c_void_p, ctypes.c_size_t,
                                        ctypes.c_char_p, ctypes.c_size_t]
if LIBXXH:
    LIBXXH.XXH3_64bits.restype = ctypes.c_uint64
    LIBXXH.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]


def unpack(data, size):
    if LIBZSTD:
        out = ctypes.create_string_buffer(size + 1)
        got = LIBZSTD.ZSTD_decompress(out, size, data, len(data))
        raw = out.raw[:size] if got == size else b""
    else:
        raw = subprocess.run(["zstd", "-dcq"], input=data, stdout=subprocess.PIPE,
                             check=True).stdout
    if len(raw) != size:
        sys.exit("a zstd frame does not give %d bytes" % size)
    return raw


def blocks(data):
    """Type, codec, raw length and payload of each good block, by sequence number."""
    magic, version, flags = struct.unpack_from("<8sII", data)
    if magic != b"KMTRACE\n" or version != 1:
        sys.exit("no recording")
    found, at = [], 16
    while True:
        at = data.find(b"KMTB", at)
        if at < 0 or at + 32 > len(data):
            break
        _, kind, codec, stored, raw, seq, checksum = struct.unpack_from("<IHHIIQQ", data, at)
        payload = data[at + 32:at + 32 + stored]
        head = data[at:at + 24] + bytes(8)
        good = stored <= 16 << 20 and len(payload) == stored
        if good and LIBXXH:
            good = LIBXXH.XXH3_64bits(head + payload, 32 + stored) == checksum
        if not good:
            at += 1
            continue
        found.append((seq, kind, codec, raw, payload))
        at += 32 + stored
    if flags & 1:
        found.sort()
    return found


class Column:
    def __init__(self, width, rows, base, planes):
        self.width, self.rows, self.base, self.planes = width, rows, base, planes

    def __len__(self):
        return self.rows

    def __getitem__(self, i):
        if i >= self.rows:
            raise IndexError(i)
        v = sum(plane[i] << 8 * k for k, plane in enumerate(self.planes))
        return (self.base + v) & MASK


NONE = Column(0, 0, 0, [])


class Columns:
    def __init__(self, data):
        self.of, at = {}, 0
        while at < len(data):
            ident, width, zero, rows, base = struct.unpack_from("<HBBIQ", data, at)
            assert width <= 8 and zero == 0
            at += 16
            planes = []
            for _ in range(width):
                stored, = struct.unpack_from("<I", data, at)
                plane = data[at + 4:at + 4 + stored]
                at += 4 + stored
                planes.append(plane if stored == rows else unpack(plane, rows))
            self.of[ident] = Column(width, rows, base, planes)
        self.names, start = [None], 0
        for n in self[1]:
            text = self[2].planes[0][start:start + n + 1]
            assert text[n] == 0
            self.names.append(bytes(text[:n]))
            start += n + 1
        self.stacks, start = [[]], 0
        for n in self[3]:
            self.stacks.append([self[4][i] for i in range(start, start + n)])
            start += n

    def __getitem__(self, ident):
        return self.of.get(ident, NONE)


def quote(name):
    return "-" if name is None else "'" + name.hex()


def signed16(v):
    return (v & 0xffff) - (0x10000 if v & 0x8000 else 0)


def frames(ips):
    return ",".join("%x" % ip for ip in ips) or "-"


def next_of(column):
    i = 0
    while True:
        yield column[i]
        i += 1


def print_lost(c, k):
    print("lost reason %d cpu %d events %d ts %d" % tuple(c[ident][k] for ident in range(49, 53)))


def print_events(c):
    n, far_addr, far_time, slacks = len(c[33]), next_of(c[36]), next_of(c[38]), next_of(c[39])
    mark_addr = (1 << 8 * c[35].width) - 1
    mark_time = (1 << 8 * c[37].width) - 1
    last, now, task_of, switch, lost = {}, c[32][0] if n else 0, {}, 0, 0
    for i in range(n):
        while lost < len(c[48]) and c[48][lost] <= i:
            print_lost(c, lost)
            lost += 1
        while switch < len(c[44]) and c[44][switch] <= i:
            task_of[c[45][switch]] = c[46][switch]
            switch += 1
        s, cpu = c[33][i], c[34][i]
        flags, task = c[16][s], task_of[cpu]
        v = c[35][i]
        if v == mark_addr:
            v = next(far_addr)
        d = v // 2 if v % 2 == 0 else -(v + 1) // 2
        last[s] = (last.get(s, 0) + (d << c[25][s])) & MASK
        t = c[37][i]
        if t == mark_time:
            t = next(far_time)
        now = (now + t) & MASK
        slack = next(slacks) if flags & 8 else c[26][s]
        alloc = c[23][s]
        print("event %s type %d time %d:%d task %d:%d/%d %s cpu %d node %d real %d inferred %d "
              "order %d migratetype %d site %x %s cache %s addr %x req %d alloc %d gfp %x "
              "stack %s" % (
                  ("give_up" if flags & 16 else "free") if flags & 1 else "alloc", c[17][s], bool(flags & 2), now,
                  c[10][task] & 1, c[8][task], c[9][task], quote(c.names[c[11][task]]),
                  c[12][cpu], signed16(c[18][s]), signed16(c[40][i]), bool(flags & 4),
                  (flags >> 8 & 255) - 1, (flags >> 16 & 255) - 1,
                  c[19][s], quote(c.names[c[20][s]]), quote(c.names[c[21][s]]), last[s],
                  (alloc - slack) & MASK, alloc, c[22][s], frames(c.stacks[c[24][s]])))
    while lost < len(c[48]):
        print_lost(c, lost)
        lost += 1


def later(c, k, i):
    """A column that older files lack: its numbers are zeros there."""
    return c[k][i] if len(c[k]) else 0


def print_counted(c):
    for i in range(len(c[64])):
        print("site type %d inferred %d task %d migratetype %d %x %s stack %s tgid %d %s "
              "cache %s object %d size %d counts %s gfp %x index %d lives %s" % (
                  c[64][i], c[65][i] & 1, c[65][i] >> 1 & 1, (c[65][i] >> 8 & 255) - 1,
                  c[66][i], quote(c.names[c[67][i]]), frames(c.stacks[c[68][i]]), c[69][i],
                  quote(c.names[c[70][i]]), quote(c.names[c[71][i]]), c[72][i], c[73][i],
                  ",".join(str(later(c, k, i)) for k in [*range(74, 88), *range(90, 93)]),
                  c[88][i], c[89][i],
                  ",".join(str(c[k][i]) for k in range(96, 128))))
    for i in range(len(c[136])):
        print("free_site %x type %d frees %d" % tuple(c[k][i] for k in range(136, 139)))
    for i in range(len(c[128])):
        print("object %x req %d birth %d site %d cpu %d awaiting %d"
              % (*(c[k][i] for k in range(128, 133)), later(c, 133, i)))
    for i in range(len(c[140])):
        print("totals time %d sites %d free_sites %d objects %d" %
              tuple(c[k][i] for k in range(140, 144)))


def print_symbols(text):
    addr = 0
    for line in text.split(b"\n")[:-1]:
        distance, name = line.split(b" ", 1)
        name, _, module = name.partition(b"\t")
        addr = (addr + int(distance, 16)) & MASK
        if name:
            print("symbol %x %s %s" % (addr, name.decode(), module.decode() or "-"))


TEXTS = {1: "meta", 3: "gfp", 4: "slabs_start", 5: "slabs_end", 10: "quality"}


def main():
    with open(sys.argv[1], "rb") as f:
        data = f.read()
    for _, kind, codec, raw, payload in blocks(data):
        if codec == 1:
            payload = unpack(payload, raw)
        if kind in TEXTS:
            for line in payload.split(b"\n")[:-1]:
                print(TEXTS[kind], line.decode("latin-1"))
        elif kind == 2:
            print_symbols(payload)
        elif kind == 6:
            print_events(Columns(payload))
        elif kind in (9, 12, 13):
            print_counted(Columns(payload))
        elif kind == 11:
            print("end")


main()
