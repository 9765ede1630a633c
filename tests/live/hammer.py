#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Many readers and writers in one tracing directory at once.

usage: hammer.py DIR SECONDS PROCESSES SEED

Each process does one thing after the other, at random: reads any file, in order or
at any offset, switches tracers and options, writes what makes no sense, resets,
makes and removes instances. A refusal must be one that is meant for it, and
statistics must be tables. Prints how often each thing was done.
"""

import errno
import os
import random
import select
import sys
import time

KNOBS = {
    "current_tracer": ["kmemtrace", "nop", "kmemtrace", "function"],
    "tracing_on": ["0", "1", "1", "2"],
    "trace_options": ["kmem_minimalistic", "nokmem_minimalistic", "kmem_gfp", "nokmem_gfp",
                      "kmem_time", "nokmem_time", "nothing", "kmem_cache", "nokmem_cache"],
    "options/kmem_real_node": ["0", "1", "x"],
    "options/stacktrace": ["0", "1"],
    "buffer_size_kb": ["64", "1024", "0", "999999999999", "-1"],
    "set_event_pid": ["1 2 3", "", "no pid"],
    "cache_filter": ["kmalloc-*", "", "["],
    "cache_notrace": ["kmalloc-64", ""],
    "object_table_kb": ["64", "1024", "0", "99999999999"],
    "call_site_table": ["1024", "4096", "0", "x"],
    "trace": [""],
    "error_log": [""],
    "available_tracers": ["x"],
    "trace_stat/call_site": ["0", "1"],
    "trace_stat/object": ["0"],
}
# What a write may be refused with; a path may be gone with its instance.
REFUSALS = {errno.EINVAL, errno.E2BIG, errno.EBUSY, errno.ERANGE, errno.EACCES, errno.EPERM,
            errno.EROFS, errno.ENODEV, errno.ENOENT, errno.EOPNOTSUPP}
GONE = {errno.ENOENT, errno.ESTALE, errno.ENODEV}


class Hammer:
    def __init__(self, root, seed):
        self.root = root
        self.rng = random.Random(seed)
        self.done = {}

    def count(self, what):
        self.done[what] = self.done.get(what, 0) + 1

    def place(self):
        """The root or one of the instances, which may not be there."""
        name = self.rng.choice(["", "", "instances/a", "instances/b", "instances/c"])
        return os.path.join(self.root, name) if name else self.root

    def read(self):
        place = self.place()
        kind = self.rng.choice(["trace_stat", "trace_stat", "options", "", ""])
        names = os.listdir(os.path.join(place, kind))
        if not names:   # it went away between being found and being listed
            return
        path = os.path.join(place, kind, self.rng.choice(names))
        if os.path.isdir(path) or path.endswith("/free_buffer"):
            return
        if path.endswith("/trace_pipe"):
            self.pipe(path)
            return
        with open(path, "rb", buffering=0) as f:
            text = f.read(4 << 20)
        if kind == "trace_stat":
            self.check_table(path, text)
        self.count("read")

    @staticmethod
    def check_table(path, text):
        lines = text.decode("ascii").splitlines()
        words = len(lines[0].split())
        bad = [line for line in lines if len(line.split()) != words and line[0] != "#"]
        if bad:
            raise AssertionError(f"{path}: {bad[0]!r} under {lines[0]!r}")

    def pipe(self, path):
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            poll = select.poll()
            poll.register(fd, select.POLLIN)
            poll.poll(20)
            os.read(fd, 65536)
        except BlockingIOError:
            pass
        finally:
            os.close(fd)
        self.count("pipe")

    def anywhere(self):
        fd = os.open(os.path.join(self.place(), "trace"), os.O_RDONLY)
        try:
            for _ in range(10):
                offset = self.rng.randrange(2 << 20)
                a, b = os.pread(fd, 5000, offset), os.pread(fd, 4000, offset)
                if a[:4000] != b:
                    raise AssertionError(f"trace differs at {offset}")
        finally:
            os.close(fd)
        self.count("anywhere")

    def write(self):
        name = self.rng.choice(list(KNOBS))
        value = self.rng.choice(KNOBS[name])
        try:
            with open(os.path.join(self.place(), name), "w", encoding="ascii") as f:
                f.write(value + "\n")
            self.count("write")
        except OSError as e:
            if e.errno not in REFUSALS:
                raise
            self.count("refused")

    def instance(self):
        path = os.path.join(self.root, "instances", self.rng.choice("abc"))
        try:
            if self.rng.random() < 0.5:
                os.mkdir(path)
                with open(path + "/current_tracer", "w", encoding="ascii") as f:
                    f.write("kmemtrace\n")
            else:
                os.rmdir(path)
            self.count("instance")
        except OSError as e:
            if e.errno not in REFUSALS | {errno.EEXIST, errno.ENOTEMPTY}:
                raise

    def run(self, end):
        things = [self.read] * 6 + [self.write] * 4 + [self.anywhere] * 2 + [self.instance]
        while time.monotonic() < end:
            try:
                self.rng.choice(things)()
            except OSError as e:
                if e.errno not in GONE:
                    raise


def child(root, end, seed, out):
    hammer = Hammer(root, seed)
    try:
        hammer.run(end)
        os.write(out, (" ".join(f"{k}={v}" for k, v in hammer.done.items()) + "\n").encode())
        os._exit(0)
    except BaseException as e:
        os.write(2, f"hammer {seed}: {type(e).__name__}: {e}\n".encode())
        os._exit(1)


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    root, seconds, n, seed = sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    end = time.monotonic() + seconds
    back, out = os.pipe()
    pids = []
    for i in range(n):
        pid = os.fork()
        if not pid:
            os.close(back)
            child(root, end, seed + i, out)
        pids.append(pid)
    os.close(out)
    done = {}
    with os.fdopen(back) as f:
        for line in f:
            for word in line.split():
                key, value = word.split("=")
                done[key] = done.get(key, 0) + int(value)
    failed = sum(os.waitpid(pid, 0)[1] != 0 for pid in pids)
    print(" ".join(f"{k} {v}" for k, v in sorted(done.items())))
    sys.exit(f"{failed} of {n} processes failed" if failed else 0)


main()
