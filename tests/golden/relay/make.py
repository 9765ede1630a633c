#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Writes recordings of the relay kmemtrace, ABI v1, from its description.

usage: make.py DIRECTORY

Nothing that made such files runs any more, so this is written from the format
alone: packed records in the machine's byte order,

  u8 event_id, u8 type_id, u16 event_size, s32 seq_num, u64 call_site, u64 ptr
  and for allocations: u64 bytes_req, u64 bytes_alloc, u32 gfp_flags, s32 node

The same nine events of two CPUs go into DIRECTORY/le and DIRECTORY/be:

   seq cpu
     1  0  alloc kmalloc ptr 1000, 10 of 16 bytes, site a
     2  1  alloc cache   ptr 2000, 240 of 240,     site b
     3  1  alloc kmalloc ptr 3000, 100 of 128,     site a
     4  0  free  kmalloc ptr 3000,                 site c     (of the other CPU's)
     5  0  alloc kmalloc ptr 0 (failed), 4096 of 4096, site d
     6  1  free  kmalloc ptr 0
     7  1  alloc kmalloc ptr 3000, 50 of 64,       site a
     8     missing: the end of neither file has it
     9  0  free  cache   ptr 2000,                 site c
    10  1  free  kmalloc ptr 4000 (never seen),    site c

cpu0's last record has 5 bytes of a later ABI behind it, and cpu1 is padded with
zeros up to 4096 bytes before its last one, as a mapping of the buffer shows it.
"""
import os
import struct
import sys

A, B, C, D = 0xffffffff8034cb19, 0xffffffff8035acbd, 0xffffffff8035ac7e, 0xffffffff80367467
KMALLOC, CACHE = 0, 1


def alloc(order, seq, kind, site, ptr, req, given, extra=b""):
    return struct.pack(order + "BBHiQQQQIi", 0, kind, 48 + len(extra), seq, site, ptr, req, given,
                       0xd0, -1) + extra


def free(order, seq, kind, site, ptr, extra=b""):
    return struct.pack(order + "BBHiQQ", 1, kind, 24 + len(extra), seq, site, ptr) + extra


def events(o):
    cpu0 = (alloc(o, 1, KMALLOC, A, 0x1000, 10, 16)
            + free(o, 4, KMALLOC, C, 0x3000)
            + alloc(o, 5, KMALLOC, D, 0, 4096, 4096)
            + free(o, 9, CACHE, C, 0x2000, struct.pack(o + "HB2s", 5, 7, b"xx")))
    cpu1 = (alloc(o, 2, CACHE, B, 0x2000, 240, 240)
            + alloc(o, 3, KMALLOC, A, 0x3000, 100, 128)
            + free(o, 6, KMALLOC, C, 0)
            + alloc(o, 7, KMALLOC, A, 0x3000, 50, 64))
    return cpu0, cpu1.ljust(4096, b"\0") + free(o, 10, KMALLOC, C, 0x4000)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for name, order in ("le", "<"), ("be", ">"):
        os.makedirs(os.path.join(sys.argv[1], name), exist_ok=True)
        for cpu, data in enumerate(events(order)):
            with open(os.path.join(sys.argv[1], name, f"cpu{cpu}.out"), "wb") as f:
                f.write(data)


if __name__ == "__main__":
    main()
