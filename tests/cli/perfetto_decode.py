# SPDX-License-Identifier: Apache-2.0
"""A second reader of Perfetto traces: only the fields that a span trace has, from the published message definitions."""
import collections
import json
import struct
import zlib

Slice = collections.namedtuple("Slice", "track category name start stop args flows ends instant")


def fields(data):
    """(field number, value) of a message; bytes for messages and texts, int otherwise."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = varint()
        kind, number = tag & 7, tag >> 3
        assert number > 0
        if kind == 0:
            yield number, varint()
        elif kind == 1:
            yield number, int.from_bytes(data[at : at + 8], "little")
            at += 8
        elif kind == 2:
            size = varint()
            assert at + size <= len(data), "a message runs over its end"
            yield number, data[at : at + size]
            at += size
        else:
            raise ValueError(f"wire type {kind}")


def many(data):
    found = collections.defaultdict(list)
    for number, value in fields(data):
        found[number].append(value)
    return found


def one(message, number, default=None):
    return message[number][0] if message.get(number) else default


def packets(data):
    for number, packet in fields(data):
        assert number == 1
        message = many(packet)
        if 50 in message:
            assert len(packet) < 512 << 10, "a viewer refuses it"
            yield from packets(zlib.decompress(message[50][0]))
        else:
            yield message


class Sequence:
    def __init__(self):
        self.cleared = False


class Trace:
    def __init__(self, data):
        self.processes, self.threads, self.tracks = {}, {}, {}  # by uuid
        self.slices, self.open, self.dropped = [], collections.defaultdict(list), 0
        self.counters = collections.defaultdict(list)  # by track: (time, value)
        self.arrows, self.flows = [], {}  # (category, name, from slice, to slice); open ones by number
        self.realtime = None
        self.sequences = collections.defaultdict(Sequence)
        self.events = []
        for number, packet in enumerate(packets(data)):
            self.packet(packet, number)
        for _, _, event in sorted(self.events, key=lambda e: e[:2]):
            self.event(*event)
        assert not any(self.open.values()), "a span was begun and not ended"
        assert not self.flows, "arrows that do not end"

    def packet(self, p, number):
        s = self.sequences[one(p, 10)]
        flags = one(p, 13, 0)
        if flags & 1:
            s.cleared, s.names, s.categories, s.annotations = True, {}, {}, {}
            s.clock, s.track, s.time, s.incremental = 6, None, {}, set()
        assert not flags & 2 or s.cleared
        self.dropped += one(p, 42, 0)
        if 6 in p:
            self.snapshot(s, many(p[6][0]))
        if 59 in p:
            defaults = many(p[59][0])
            s.clock = one(defaults, 58)
            s.track = one(many(one(defaults, 11)), 11)
        if 12 in p:
            for kind, entries in many(p[12][0]).items():
                table = {1: s.categories, 2: s.names, 3: s.annotations}[kind]
                for entry in map(many, entries):
                    assert one(entry, 1) > 0 and one(entry, 1) not in table
                    table[one(entry, 1)] = one(entry, 2).decode()
        if 60 in p:
            self.descriptor(many(p[60][0]))
        if 11 in p:
            clock, time = one(p, 58, s.clock), one(p, 8)
            if clock in s.incremental:
                time = s.time[clock] = s.time[clock] + time
            self.events.append((time, number, (time, s, many(p[11][0]))))

    def snapshot(self, s, snapshot):
        clocks = {one(c, 1): c for c in map(many, snapshot[1])}
        if 64 in clocks:
            assert one(clocks[64], 3) == 1
            s.incremental.add(64)
            s.time[64] = one(clocks[6], 2)
        if 1 in clocks:
            self.realtime = (one(clocks[6], 2), one(clocks[1], 2))

    def descriptor(self, d):
        uuid = one(d, 1)
        assert uuid not in self.tracks
        self.tracks[uuid] = d
        if 3 in d:
            self.processes[uuid] = many(d[3][0])
        if 4 in d:
            self.threads[uuid] = many(d[4][0])

    def flow(self, track, category, name, e):
        """A phase of Chrome's arrows: bound to the span around it, of a thread's own track."""
        legacy = many(e[6][0])
        assert track in self.threads and self.open[track], "an arrow without a span around it"
        key = (one(legacy, 6), category, name)
        if one(legacy, 2) == ord("s"):
            self.flows[key] = self.open[track][-1]
        else:
            assert one(legacy, 2) == ord("f") and one(legacy, 12) == 1
            self.arrows.append((category, name, self.flows.pop(key), self.open[track][-1]))

    def annotation(self, a):
        if 5 in a:
            return struct.unpack("<d", a[5][0].to_bytes(8, "little"))[0]
        if 9 in a:
            return json.loads(a[9][0])
        value = next(a[n][0] for n in (2, 3, 4, 6) if n in a)
        return value - (1 << 64) if 4 in a and value >> 63 else value

    def event(self, time, s, e):
        kind, track = one(e, 9), one(e, 11, s.track)
        assert track in self.tracks, "an event on a track that was not described"
        if kind == 2:
            assert one(e, 10) is None
            index = self.open[track].pop()
            self.slices[index] = self.slices[index]._replace(stop=time)
            return
        if kind == 4:
            value = struct.unpack("<d", e[44][0].to_bytes(8, "little"))[0] if 44 in e else e[30][0] - (e[30][0] >> 63 << 64)
            self.counters[track].append((time, value))
            return
        name = one(e, 23, b"").decode() or s.names[one(e, 10)]
        category = s.categories[one(e, 3)] if 3 in e else one(e, 22).decode()
        if kind is None:
            self.flow(track, category, name, e)
            return
        args = {}
        for a in map(many, e[4]):
            key = one(a, 10, b"").decode() or s.annotations[one(a, 1)]
            args[key] = self.annotation(a)
        if kind == 1:
            self.open[track].append(len(self.slices))
        else:
            assert kind == 3
        for number in e[48]:  # as Perfetto does: what has not begun does not end
            begin = self.flows.pop(number)
            self.arrows.append((self.slices[begin].category, self.slices[begin].name, begin, len(self.slices)))
        for number in e[47]:
            assert number not in self.flows, "an arrow begins twice"
            self.flows[number] = len(self.slices)
        self.slices.append(Slice(track, category, name, time, time, args, e[47], e[48], kind == 3))

    def track_name(self, uuid):
        if uuid in self.threads:
            return one(self.threads[uuid], 5).decode()
        return one(self.tracks[uuid], 2, b"").decode()
