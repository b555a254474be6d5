# SPDX-License-Identifier: Apache-2.0
# Hostile names: the JSON is valid, the bytes can be had back exactly, and no name can move the
# cursor of a terminal through info or a message.
. "$(dirname "$0")/lib.sh"

"$PYTHON" - "$RBWP" "$here" "$work" <<'P' || fail "names"
import json, os, subprocess, sys

rbwp, here, work = sys.argv[1:]
sys.dont_write_bytecode = True
sys.path.insert(0, here)
import rbwp_make as m

names = [b"", b"\0", b"a\"b\\c/d", bytes(range(256)), "gr\u00fc\u00df \u20ac \U0001f600".encode(), b"\xc3", b"ok\xc3\x28", b"\xed\xa0\x80",
         b"\xc0\x80", b"\xf4\x90\x80\x80", b"\xf0\x9f\x98", b"\x1b[2J\x1b]0;title\x07", "\u009b31m \u2028".encode(), b"x" * 65535,
         b"\xff" * 65535, b"\n\r\t\x7f", b"\\u0041", b"\xc3\xa9\xe9"]
work_items = list(enumerate(names))
sub_items = [(i + 100, i % 6, name) for i, name in enumerate(names)]
records = [r for i in range(len(names)) for r in ((1000 + 4 * i, "cb", i), (1001 + 4 * i, "fb", i + 100), (1002 + 4 * i, "fe"), (1003 + 4 * i, "ce"))]
path = f"{work}/h\"o\x1bs\\t\u00e9".encode() + b"\xff"
open(path, "wb").write(m.file([m.block(1, 0, records)], work_items, sub_items))


def back(entry, key):
    """The bytes of a name, from its JSON."""
    return bytes.fromhex(entry[key + "_hex"]) if key + "_hex" in entry else entry[key].encode()


def run(*args):
    done = subprocess.run([rbwp, *args, path], capture_output=True)
    assert done.returncode == 0 and not done.stderr, done
    return done.stdout


full = json.loads(run("dump").decode())
assert [back(i, "name") for i in full["work_items"]] == names
assert [back(i, "name") for i in full["sub_items"]] == names
assert back(full, "file") == path
for entry, name in zip(full["work_items"], names):
    try:
        assert entry["name"] == name.decode() and "name_hex" not in entry
    except UnicodeDecodeError:
        assert "name_hex" in entry
assert [i["name"] for i in full["work_items"][5:9]] == ["\u00c3", "ok\u00c3(", "\u00ed\u00a0\u0080", "\u00c0\u0080"]
lines = [json.loads(l) for l in run("dump", "--ndjson").decode().split("\n")[:-1]]
assert [back(l, "name") for l in lines if l["type"] == "COARSE_BEGIN"] == names
assert [back(l, "name") for l in lines if l["type"] == "FINE_BEGIN"] == names
assert {back(s, "name") for s in json.loads(run("dump", "--spans").decode())} == set(names)
info = json.loads(run("info", "--json").decode())
assert [back(i, "name") for i in info["slot_counts"]] == names

# As text: one line a name, no control character, and nothing that is not UTF-8.
text = run("info").decode()
assert all(c == "\n" or not (ord(c) < 32 or 127 <= ord(c) < 160) for c in text)
assert text.count("calls") == len(names) and "\\x1b[2J" in text and "gr\u00fc\u00df \u20ac" in text

# A glob finds bytes that are no text.
got = subprocess.run([rbwp, "dump", "--slot", b"ok\xc3*", "--kind", "COARSE_BEGIN", path], capture_output=True, check=True)
assert [r["slot"] for b in json.loads(got.stdout)["blocks"] for r in b["records"]] == [6]

# Of two entries for one number the first counts (R33, R34), whatever their order in memory.
path = f"{work}/twice".encode()
open(path, "wb").write(m.file([m.block(1, 0, records[:4])], [(0, b"first"), (0, b"second")], [(100, 1, b"one"), (100, 2, b"two")]))
lines = [json.loads(l) for l in run("dump", "--ndjson").split(b"\n")[:-1]]
assert [l["name"] for l in lines if "BEGIN" in l["type"]] == ["first", "one"], lines
assert [l["sub_item_type"] for l in lines if l["type"] == "FINE_BEGIN"] == ["XFER_CHANNEL"]

# In messages.
missing = subprocess.run([rbwp, "dump", b"/no\x1b[2J\n\xff"], capture_output=True)
assert missing.returncode == 1 and b"/no\\x1b[2J\\x0a\\xff: there is no such file" in missing.stderr and missing.stderr.count(b"\n") == 1
P
finish
