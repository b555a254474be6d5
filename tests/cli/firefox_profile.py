# SPDX-License-Identifier: Apache-2.0
"""The Firefox Profiler's processed profile format, version 63, as strictly as its own types have it."""
import collections
import json

TABLES = {
    "stackTable": {"frame": "frameTable", "prefix": "stackTable?"},
    "frameTable": {"address": int, "inlineDepth": int, "category": "categories", "subcategory": int, "func": "funcTable", "nativeSymbol": "nativeSymbols?",
                   "innerWindowID": int, "line": None, "column": None},
    "funcTable": {"name": "stringArray", "isJS": bool, "relevantForJS": bool, "resource": int, "source": "sources?", "lineNumber": None, "columnNumber": None},
    "resourceTable": {"lib": int, "name": "stringArray", "host": None, "type": int},
    "nativeSymbols": {"libIndex": int, "address": int, "name": "stringArray", "functionSize": None},
    "sources": {"id": None, "filename": "stringArray", "startLine": int, "startColumn": int, "sourceMapURL": None},
}
MARKERS = {"data": dict, "name": "stringArray", "startTime": float, "endTime": (float, type(None)), "phase": int, "category": "categories"}
SAMPLES = {"stack": "stackTable?", "time": float, "weight": float}
COLORS = "transparent purple green orange yellow lightblue blue brown magenta red lightred darkgrey grey".split()
FORMATS = ("string", "integer", "time")

Marker = collections.namedtuple("Marker", "name category start stop data")  # ns since the origin; stop None: a point in time
Thread = collections.namedtuple("Thread", "name process markers stacks")  # stacks: (names, outermost first, start, stop)
Counter = collections.namedtuple("Counter", "name process values")


class Profile:
    def __init__(self, text):
        self.all = p = json.loads(text, parse_float=self.exact, parse_constant=self.no_number)
        self.meta, self.shared = p["meta"], p["shared"]
        assert p.keys() == {"meta", "libs", "pages", "shared", "threads", "counters"} and p["libs"] == p["pages"] == []
        assert self.shared.keys() == TABLES.keys() | {"stringArray"} and all(type(s) is str for s in self.shared["stringArray"])
        self.sizes = {"stringArray": len(self.shared["stringArray"]), "categories": len(self.meta["categories"])}
        self.sizes.update((name, self.shared[name]["length"]) for name in TABLES)
        for name, columns in TABLES.items():
            self.table(self.shared[name], columns)
        for i, prefix in enumerate(self.shared["stackTable"]["prefix"]):
            assert prefix is None or prefix < i, "a stack stands before what it stands in"
        pairs = list(zip(self.shared["stackTable"]["prefix"], self.shared["stackTable"]["frame"]))
        assert len(set(pairs)) == len(pairs), "a stack is there twice"
        self.check_meta()
        self.threads = [self.thread(t) for t in p["threads"]]
        assert len({(t["pid"], t["tid"]) for t in p["threads"]}) == len(p["threads"])
        self.counters = [self.counter(c) for c in p["counters"]]
        self.check_times()

    def check_times(self):
        """What the profile says of its times holds all: viewers show nothing outside of it."""
        times = [t for row in self.threads for m in row.markers for t in (m.start, m.start if m.stop is None else m.stop)]
        times += [t for c in self.counters for t, _ in c.values]
        bounds = [self.ns(self.meta.get(f"profiling{end}Time")) for end in ("Start", "End")]
        near = times and max(map(abs, times)) < 2**52
        assert bounds == [min(times), max(times) + 1000] if near else (None in bounds) == (not times), bounds

    @staticmethod
    def exact(text):
        """Milliseconds keep their nanoseconds: what JavaScript makes of the text is the text again."""
        value = float(text)
        assert text == f"{value:.6f}" or len(text.split(".")[1]) != 6 or abs(value) > 2**52 / 1e6, text
        return value

    @staticmethod
    def no_number(text):
        raise AssertionError(f"{text} is no JSON")

    def table(self, table, columns, more=()):
        assert table.keys() == columns.keys() | {"length"} | set(more), table.keys() ^ columns.keys()
        for name, what in columns.items():
            values = table[name]
            assert len(values) == table["length"], (name, len(values), table["length"])
            for v in values:
                if isinstance(what, str):
                    assert v is None and what[-1] == "?" or type(v) is int and 0 <= v < self.sizes[what.rstrip("?")], (name, v)
                elif what is not None:
                    assert type(v) is what or isinstance(what, tuple) and type(v) in what, (name, v)

    def check_meta(self):
        m = self.meta
        assert m["preprocessedProfileVersion"] == 63 and m["version"] == 31 and m["interval"] > 0
        assert m["processType"] == 0 and m["stackwalk"] == 0 and m["product"] == "rbwp" and type(m["startTime"]) is float
        assert any(c["color"] == "grey" for c in m["categories"])
        for c in m["categories"]:
            assert c["color"] in COLORS and c["subcategories"] == ["Other"], c
        schema, = m["markerSchema"]
        assert schema["name"] == "span" and schema["display"] and schema["isStackBased"] is True
        self.fields = {f["key"]: f["format"] for f in schema["fields"]}
        assert len(self.fields) == len(schema["fields"]) and set(self.fields.values()) <= set(FORMATS)
        assert m["initialVisibleThreads"] == list(range(len(self.all["threads"]))) != []
        for section in m["extra"]:
            assert all(e.keys() == {"label", "format", "value"} and e["format"] == "string" and type(e["value"]) is str for e in section["entries"])
        self.extra = {section["label"]: {e["label"]: e["value"] for e in section["entries"]} for section in m["extra"]}

    @staticmethod
    def ns(ms):
        return None if ms is None else round(ms * 1e6)

    def string(self, number):
        return self.shared["stringArray"][number]

    def thread(self, t):
        assert type(t["pid"]) is str and type(t["tid"]) is int and type(t["name"]) is type(t["processName"]) is str
        assert t["isMainThread"] is False and t["processType"] == "default" and t["pausedRanges"] == []
        assert t["registerTime"] == t["processStartupTime"] == 0 and t["unregisterTime"] is t["processShutdownTime"] is None
        self.table(t["markers"], MARKERS)
        self.table(t["samples"], SAMPLES, ["weightType"])
        assert t["samples"]["weightType"] == "tracing-ms"
        m, markers = t["markers"], []
        for i in range(m["length"]):
            data = m["data"][i]
            assert data["type"] == "span" and data.keys() <= self.fields.keys() | {"type"}, data
            assert all(self.fields.get(k, "string") == "string" or type(v) in (int, float) for k, v in data.items()), data
            assert m["phase"][i] == (m["endTime"][i] is not None)
            markers.append(Marker(self.string(m["name"][i]), self.meta["categories"][m["category"][i]]["name"], self.ns(m["startTime"][i]),
                                  self.ns(m["endTime"][i]), data))
        return Thread(t["name"], t["processName"], markers, list(self.stacks(t["samples"])))

    def stacks(self, s):
        """A sample lasts until the next one, and that is its weight; the last one ends the row."""
        times, last = [self.ns(t) for t in s["time"]], s["length"] - 1
        for i, (stack, weight) in enumerate(zip(s["stack"], s["weight"])):
            if i == last:
                assert stack is None and weight == 0
                return
            if max(abs(times[i]), abs(times[i + 1])) < 2**52:
                assert times[i] < times[i + 1] and self.ns(weight) == times[i + 1] - times[i], (i, times[i], weight)
            assert times[i] <= times[i + 1], i
            names = []
            while stack is not None:
                func = self.shared["frameTable"]["func"][self.shared["stackTable"]["frame"][stack]]
                names.insert(0, self.string(self.shared["funcTable"]["name"][func]))
                stack = self.shared["stackTable"]["prefix"][stack]
            if names:
                yield names, times[i], times[i + 1]

    def counter(self, c):
        thread = self.all["threads"][c["mainThreadIndex"]]
        assert thread["pid"] == c["pid"] and c["display"]["graphType"] == "line-accumulated" and c["display"]["unit"] in ("", "bytes")
        assert c["display"].keys() == {"graphType", "unit", "color", "markerSchemaLocation", "sortWeight", "label", "tooltipRows"}
        self.table(c["samples"], {"time": float, "count": None})
        times, value, values = c["samples"]["time"], 0, []
        assert times == sorted(times)
        for t, change in zip(times, c["samples"]["count"]):
            value += change
            values.append((self.ns(t), value))
        return Counter(c["name"], thread["processName"], values)
