# SPDX-License-Identifier: Apache-2.0
# No name and no file name reaches a terminal or a spreadsheet as anything but text: in every command
# and text form there is no C0 or C1 control, no direction mark and no byte that is not UTF-8; a name
# reads the same in all of them; JSON parses to the name itself; no CSV cell is a formula.
. "$(dirname "$0")/lib.sh"

"$PYTHON" - "$RBWP" "$here" "$work" <<'P' || fail "hostile text"
import csv, io, json, os, re, subprocess, sys

rbwp, here, work = sys.argv[1:]
sys.dont_write_bytecode = True
sys.path.insert(0, here)
import rbwp_make as m

OBEYED = [*range(0x20), 0x7F, *range(0x80, 0xA0), 0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A)]
FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "'quoted", "\uff1d1", "\uff0b1", "\uff0d1", "\uff201", "\t=1", "\r=1"]
names = ["a%sb" % chr(c) for c in OBEYED] + FORMULAS + ["plain", 'semi;colon, "quoted"', "back\\slash", "\u202atext" * 2000]
names = [n.encode() for n in names] + [b"bad\xff", b"\x9b31m", b"cut\xe2\x80"]
assert len(names) < 256
records = [r for i in range(len(names)) for r in ((1000 + 10 * i, "cb", i), (1001 + 10 * i, "fb", i), (1005 + 10 * i, "fe"), (1008 + 10 * i, "ce"))]
path = os.path.join(work.encode(), "h\u202e\u009b".encode() + b"\xff\x1b.bin")
open(path, "wb").write(m.file([m.block(1, 0, records)], list(enumerate(names)), [(i, i % 4, n) for i, n in enumerate(names)]))


def shown(name):
    """As every text form shows it."""
    text = ""
    while name:
        for size in range(1, 5):
            try:
                c = name[:size].decode()
                break
            except UnicodeDecodeError:
                c = None
        part, name = name[:size if c else 1], name[size if c else 1:]
        text += "\\\\" if c == "\\" else c if c and ord(c) not in OBEYED else "".join("\\x%02x" % b for b in part)
    return text


def run(*args, code=0):
    done = subprocess.run([rbwp, *args], capture_output=True)
    assert done.returncode == code, (args, done.returncode, done.stderr)
    for stream in (done.stdout, done.stderr):
        text = stream.decode()
        assert not [c for c in text if ord(c) in OBEYED and c not in "\n\t"], (args, text[:200])
    return done.stdout.decode()


for command in ("dump", "dump --ndjson", "dump --spans", "info", "info --json", "stats --top 1000", "stats --json", "check", "check --json", "tail -n 1000",
                "tail --ndjson", "timeline", "timeline --ascii", "export -t ndjson", "export -t chrome"):
    run(*command.split(), path)
run("diff", path, path)
run("diff", "--json", path, path)
for wrong in (b"none\xe2\x80\xae\xc2\x9b", path + b"/x"):
    for command in ("dump", "info", "stats", "timeline", "tail", "check", "report", "export"):
        run(command, *(["-o", f"{work}/out.csv"] if command not in ("check", "tail") else []), wrong, code=1)
run("dump", "--thr\u202e", path, code=2)
run("split", "--every", "1ms\u202e", path, code=2)

# The same everywhere.
for command in ("stats --top 0", "tail -n 1000", "info"):
    text = run(*command.split(), path)
    assert all(shown(n) in text for n in names), (command, [n for n in names if shown(n) not in text])
frames = {f for line in run("export", "-t", "folded", path).splitlines() for f in line.rsplit(" ", 1)[0].split(";")[2:]}
assert frames == {shown(n).replace(";", ",") for n in names}, frames ^ {shown(n).replace(";", ",") for n in names}

# JSON is the name.
for n, item in zip(names, json.loads(run("dump", path))["work_items"]):
    assert (bytes.fromhex(item["name_hex"]) if "name_hex" in item else item["name"].encode()) == n, item

# Cells: those of a formula have an apostrophe, numbers have not, and the name can be had back.
cells = {shown(n) for n in names}
for kind, rows in (("csv", lambda t: list(csv.reader(io.StringIO(t), strict=True))), ("tsv", lambda t: [l.split("\t") for l in t.splitlines()])):
    got = rows(run("export", "-t", kind, path))
    column = got[0].index("name")
    for row in got[1:]:
        assert all(c.lstrip("-").isdigit() for c in row[:2] + row[7:14]), row
        assert not re.match("[=+@\\-\uff1d\uff0b\uff0d\uff20\t\r]", row[column]), row
    assert {row[column][1:] if row[column].startswith("'") else row[column] for row in got[1:]} == cells
    assert len([row for row in got[1:] if row[column].startswith("'")]) == 2 * 9
    raw = subprocess.run([rbwp, "export", "-t", kind, "--raw-text", path], capture_output=True, check=True).stdout
    assert b"'=1" not in raw and b"\xff" in raw and b"\x1b" in raw
P
finish
