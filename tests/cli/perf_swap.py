#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A little-endian perf.data file as a big-endian machine would have written it.

usage: perf_swap.py IN OUT
       perf_swap.py --nth-sample N IN     offset of the sample with that number (from 0)

Records and features that say nothing about events, their tasks or the machine
are left out. No compressed records.
"""
import re
import struct
import sys

SAMPLE_BITS = dict(IP=0, TID=1, TIME=2, ADDR=3, READ=4, CALLCHAIN=5, ID=6, CPU=7, PERIOD=8,
                   STREAM_ID=9, RAW=10, IDENTIFIER=16)
MAGIC = b'2ELIFREP'      # of the number that a little-endian machine writes as PERFILE2
ATTR = 'IIQQQQ8sIIQQQQIiQIHHIIQQ'
STRINGS = 3, 4, 5, 6
KEPT = (1, 2, 7, 11, 21) + STRINGS


def pad8(data):
    return data + bytes(-len(data) % 8)


def swap(data, form):
    """The numbers of data, and what is left behind them as it is."""
    n = struct.calcsize('<' + form)
    return struct.pack('>' + form, *struct.unpack('<' + form, data[:n])) + data[n:]


def reverse_bits(byte):
    return int(f'{byte:08b}'[::-1], 2)


def swap_attr(attr):
    out = bytearray(swap(attr, form_of_size(len(attr))))
    out[40:48] = bytes(reverse_bits(b) for b in attr[40:48])
    return bytes(out)


def form_of_size(size):
    parts = re.findall(r'\d*.', ATTR)
    while struct.calcsize('<' + ''.join(parts)) > size:
        parts.pop()
    return ''.join(parts)


class Tracing:
    """The tracing data, swapped, and the fields of each event."""

    def __init__(self, data):
        self.fields = {}
        self.data, self.at, self.out = data, 0, b''
        self.raw(10)
        self.string()
        assert data[self.at] == 0, 'not little-endian'
        self.out += b'\1'
        self.at += 1
        self.raw(1)
        self.number('I')
        for _ in 'header_page', 'header_event':
            self.string()
            self.raw(self.number('Q'))
        for _ in range(self.number('I')):
            self.raw(self.number('Q'))
        for _ in range(self.number('I')):
            self.string()
            for _ in range(self.number('I')):
                self.event(self.raw(self.number('Q')).decode())
        for form in 'IIQ':
            self.raw(self.number(form))

    def raw(self, n):
        piece = self.data[self.at:self.at + n]
        assert len(piece) == n
        self.at += n
        self.out += piece
        return piece

    def string(self):
        self.raw(self.data.index(b'\0', self.at) + 1 - self.at)

    def number(self, form):
        n = struct.calcsize('<' + form)
        value, = struct.unpack_from('<' + form, self.data, self.at)
        self.out += struct.pack('>' + form, value)
        self.at += n
        return value

    def event(self, text):
        number = int(re.search(r'^ID: (\d+)', text, re.M)[1])
        self.fields[number] = [(int(o), int(s)) for o, s in
                               re.findall(r'offset:(\d+);\s*size:(\d+);', text)]

    def record(self, raw):
        out = bytearray(raw)
        for offset, size in self.fields[struct.unpack_from('<H', raw)[0]]:
            out[offset:offset + size] = raw[offset:offset + size][::-1]
        return bytes(out)


def swap_trailer(data, kinds):
    parts = [(k, 'II' if k in ('TID', 'CPU') else 'Q') for k in
             ('TID', 'TIME', 'ID', 'STREAM_ID', 'CPU', 'IDENTIFIER') if k in kinds]
    n = 8 * len(parts)
    return data[:len(data) - n] + swap(data[len(data) - n:], ''.join(p for _, p in parts))


def swap_sample(data, kinds, tracing):
    out, at = b'', 0

    def take(form):
        nonlocal out, at
        values = struct.unpack_from('<' + form, data, at)
        out += struct.pack('>' + form, *values)
        at += struct.calcsize('<' + form)
        return values[0]

    for kind in ('IDENTIFIER', 'IP', 'TID', 'TIME', 'ADDR', 'ID', 'STREAM_ID', 'CPU', 'PERIOD'):
        if kind in kinds:
            take('II' if kind in ('TID', 'CPU') else 'Q')
    assert 'READ' not in kinds
    if 'CALLCHAIN' in kinds:
        for _ in range(take('Q')):
            take('Q')
    if 'RAW' in kinds:
        n = take('I')
        out += tracing.record(data[at:at + n])
        at += n
    return out + data[at:]


def swap_strings(data, form):
    out, at = swap(data[:struct.calcsize('<' + form)], form), struct.calcsize('<' + form)
    while at < len(data):
        n, = struct.unpack_from('<I', data, at)
        out += struct.pack('>I', n) + data[at + 4:at + 4 + n]
        at += 4 + n
    return out


def swap_build_ids(data):
    out = b''
    while data:
        size, = struct.unpack_from('<H', data, 6)
        out += swap(data[:size], 'IHHi')
        data = data[size:]
    return out


def swap_feature(number, data):
    if number == 2:
        return swap_build_ids(data)
    if number in STRINGS:
        return swap_strings(data, '')
    if number == 11:
        return swap_strings(data, 'I')
    return swap(data, 'II' if number == 7 else 'QQ')


class Recording:
    def __init__(self, data):
        self.data = data
        self.tracing, self.kinds = None, set()
        self.is_pipe = struct.unpack_from('<Q', data, 8)[0] == 16

    def see_attr(self, attr):
        kind, = struct.unpack_from('<Q', attr, 24)
        kinds = {name for name, bit in SAMPLE_BITS.items() if kind >> bit & 1}
        if struct.unpack_from('<I', attr)[0] == 2:
            self.kinds = kinds

    def records(self, start, end):
        at = start
        while at < end:
            kind, misc, size = struct.unpack_from('<IHH', self.data, at)
            yield at, kind, misc, self.data[at + 8:at + size]
            at += size
            if kind == 66:
                at += len(pad8(bytes(struct.unpack_from('<I', self.data, at - size + 8)[0])))

    def swap_record(self, at, kind, misc, body):
        behind = b''
        if kind == 9:
            body = swap_sample(body, self.kinds, self.tracing)
        elif kind in (3, 4, 7, 2, 13):
            form = {3: 'II', 4: 'IIIIQ', 7: 'IIIIQ', 2: 'QQ', 13: 'Q'}[kind]
            body = swap(swap_trailer(body, self.kinds), form)
        elif kind == 64:
            self.see_attr(body)
            n, = struct.unpack_from('<I', body, 4)
            body = swap_attr(body[:n]) + swap(body[n:], 'Q' * (len(body[n:]) // 8))
        elif kind == 66:
            n, = struct.unpack_from('<I', body)
            start = at + 8 + len(body)
            self.tracing = Tracing(self.data[start:start + n])
            behind, body = pad8(self.tracing.out), swap(body, 'I')
        elif kind == 80 and body[0] in KEPT:
            # what is behind the strings is padding
            body = swap(body, 'Q')[:8] + pad8(swap_feature(body[0], body[8:]))
        elif kind != 68:
            return b''
        return struct.pack('>IHH', kind, misc, 8 + len(body)) + body + behind

    def swap_data(self, start, end):
        return b''.join(self.swap_record(*r) for r in self.records(start, end))

    def swap_file(self):
        data = self.data
        if self.is_pipe:
            return MAGIC + struct.pack('>Q', 16) + self.swap_data(16, len(data))
        _, attr_size, a_at, a_size, d_at, d_size = struct.unpack_from('<6Q', data, 8)
        bits, = struct.unpack_from('<Q', data, 72)
        attrs, ids, out_attrs = [], b'', b''
        for at in range(a_at, a_at + a_size, attr_size):
            attr = data[at:at + attr_size - 16]
            i_at, i_size = struct.unpack_from('<QQ', data, at + attr_size - 16)
            self.see_attr(attr)
            attrs.append((swap_attr(attr), swap(data[i_at:i_at + i_size], 'Q' * (i_size // 8))))
        place = 104 + len(attrs) * attr_size
        for attr, one in attrs:
            out_attrs += attr + struct.pack('>QQ', place + len(ids), len(one))
            ids += one
        features = self.features(d_at + d_size, bits)
        self.tracing = Tracing(features[1])
        records = self.swap_data(d_at, d_at + d_size)
        start = place + len(ids)
        at = start + len(records) + 16 * len(features)
        table, sections = b'', b''
        for number, feature in features.items():
            feature = self.tracing.out if number == 1 else swap_feature(number, feature)
            table += struct.pack('>QQ', at + len(sections), len(feature))
            sections += feature
        head = MAGIC + struct.pack('>8Q', 104, attr_size, 104, len(attrs) * attr_size,
                                         start, len(records), 0, 0)
        head += struct.pack('>4Q', sum(1 << f for f in features), 0, 0, 0)
        return head + out_attrs + ids + records + table + sections

    def features(self, at, bits):
        out = {}
        for number in range(64):
            if bits >> number & 1:
                f_at, f_size = struct.unpack_from('<QQ', self.data, at)
                at += 16
                if number in KEPT:
                    out[number] = self.data[f_at:f_at + f_size]
        return out

    def nth_sample(self, n):
        start, end = 16, len(self.data)
        if not self.is_pipe:
            start, size = struct.unpack_from('<QQ', self.data, 40)
            end = start + size
        return [at for at, kind, _, _ in self.records(start, end) if kind == 9][n]


def main():
    if sys.argv[1] == '--nth-sample':
        with open(sys.argv[3], 'rb') as f:
            print(Recording(f.read()).nth_sample(int(sys.argv[2])))
        return
    with open(sys.argv[1], 'rb') as f:
        swapped = Recording(f.read()).swap_file()
    with open(sys.argv[2], 'wb') as f:
        f.write(swapped)


main()
