#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Reads at any offset and size give the bytes of one sequential read, as fsx does.

usage: readat.py FILE ROUNDS READS SEED

A round opens the file, makes half of the reads, reads it from its beginning to its
end, makes the other half, and compares. Prints the bytes and lines of the rounds.
"""

import os
import random
import sys


def read_all(fd, rng):
    parts, offset = [], 0
    while True:
        part = os.pread(fd, rng.choice((1000, 4096, 65536, 131072)), offset)
        if not part:
            return b"".join(parts)
        parts.append(part)
        offset += len(part)


def random_read(fd, rng, size):
    offset = rng.randrange(size + 5000)
    want = rng.choice((1, 2, rng.randrange(1, 100), rng.randrange(1, 200000), 4096))
    return offset, want, os.pread(fd, want, offset)


def check(reads, whole):
    for offset, want, got in reads:
        if got != whole[offset:offset + want]:
            sys.exit(f"{want} bytes at {offset} of {len(whole)}: got {got[:80]!r}... ({len(got)}), "
                     f"expected {whole[offset:offset + want][:80]!r}...")


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    path, rounds, n, seed = sys.argv[1], *map(int, sys.argv[2:])
    rng = random.Random(seed)
    guess = 1000000     # of the size, for the reads that come first
    for _ in range(rounds):
        fd = os.open(path, os.O_RDONLY)
        reads = [random_read(fd, rng, guess) for _ in range(n // 2)]
        whole = read_all(fd, rng)
        guess = len(whole)
        reads += [random_read(fd, rng, guess) for _ in range(n // 2)]
        check(reads, whole)
        if os.pread(fd, 1, len(whole)):
            sys.exit("there is something behind the end")
        os.close(fd)
        print(len(whole), whole.count(b"\n"))


main()
