# SPDX-License-Identifier: Apache-2.0
# rbwp tables lists the tables of a file that it never heard of, and exports the rows of one, cell
# for cell as the second reader has them; what is broken is told by its rule and the rest is shown.
# rbwp dump shows schemas, names and rows where they stand in the file, as many as are wanted, and
# tells of the GPUs in the table gpu_device what it tells of those in a trailer.
. "$(dirname "$0")/lib.sh"

"$PYTHON" - "$RBWP" "$here" "$work" <<'P' || fail "tables"
import csv, io, json, subprocess, sys

rbwp, here, work = sys.argv[1:]
sys.dont_write_bytecode = True
sys.path.insert(0, f"{here}/../python")
import rbwp_reader
import struct
from make_rbwp import T0, finalised, opaque, table_range, table_section, with_trailer
from test_tables import names, numbers, rows, schema, varint

COLUMNS = ((4, 1, 0, b"at", b""), (5, 2, 0, b"for", b""), (6, 4, 0, b"what", b""), (2, 7, 0, b"depth", b"1/s"),
           (3, 0, 0, b"share", b""), (8, 0, 0, b"note", b""), (7, 12, 1, b"in", b""), (1, 11, 0, b"id", b""))


def block(first, notes):
    delta = b"".join(varint(step) for step in (2 * T0, 20, 9))
    words = (5, b"".join(varint(len(note)) for note in notes) + b"".join(notes))
    return rows(first, [(2, delta), (3, varint(9)), numbers(2, 1, 0), (4, varint(2) + varint((1 << 64) - 1) + varint(7)
                        + bytes([0, 1, 0])), (0, struct.pack("<3d", 0.5, -1.5, 0.1)), words, numbers(0, 1, 1),
                        numbers(300, 7, 8)], 3, times=(T0, T0 + 10), compress=first > 1)


good = [names(1, b"copy", b"fl\x1b[31mush"), schema(columns=COLUMNS, name=b"work"), schema(table=2, name=b"empty"),
        block(1, (b"=x", b"", b"y\xffz")), block(7, (b"a", b"b", b"c"))]


def write(name, blocks):
    with open(f"{work}/{name}", "wb") as file:
        file.write(finalised(blocks))
    return f"{work}/{name}"


def run(*arguments, code=0):
    done = subprocess.run([rbwp, "tables", *arguments], capture_output=True)
    assert done.returncode == code, (arguments, done.returncode, done.stderr)
    return done.stdout, done.stderr.decode()


path = write("good.bin", good)
expected = rbwp_reader.parse(finalised(good))
assert not expected["problems"]

# The list, for programs and for people.
[work_table, empty] = json.loads(run("--json", path)[0])["tables"]
assert (work_table["name"], work_table["row_count"], work_table["first"], work_table["last"]) == ("work", 6, T0, T0 + 10)
assert [(c["name"], c["type"], c["role"], c["unit"]) for c in work_table["columns"]][3] == ("depth", "i64", "counter", "1/s")
assert (empty["name"], empty["row_count"], len(empty["columns"])) == ("empty", 0, 1)
text = run(path)[0].decode()
assert "work: table 1, version 1, 6 rows" in text and "depth: i64 in 1/s, counter" in text, text
assert "row 2:" in text and "what=copy" in text and "note=y\\xffz" in text and "\x1b" not in text, text
assert len(json.loads(run("--json", path, path)[0])) == 2

info = subprocess.run([rbwp, "info", path], capture_output=True, text=True).stdout
assert "tables (2):" in info and "1            6 rows of 8 columns  work" in info and "2            0 rows of 1 columns  empty" in info, info
counts = json.loads(subprocess.run([rbwp, "info", "--json", path], capture_output=True).stdout)["table_counts"]
assert counts == [{"table": 1, "name": "work", "row_count": 6}, {"table": 2, "name": "empty", "row_count": 0}], counts

# The rows.
want = [[r["row"], *r["values"]] for r in expected["schemas"][0]["rows"]]
lines = [json.loads(line) for line in run("--table", "work", "--as", "ndjson", path)[0].splitlines()]
assert len(lines) == 6
for line, row in zip(lines, want):
    row = list(row)
    row[3] = expected["names"].get(row[3])
    row[7] = row[7] or None
    note, row[6] = row[6], line["note"]
    assert list(line.values()) == row, (line, row)
    assert line["note"] == note.encode("utf-8", "surrogateescape").decode("latin-1")
table = list(csv.reader(io.StringIO(run("--table", "1", path)[0].decode())))
assert table[0] == ["row", "at", "for", "what", "depth", "share", "note", "in", "id"]
assert table[1] == ["1", str(T0), "9", "fl\\x1b[31mush", "-1", "0.5", "'=x", "", "300"], table[1]
assert len(table) == 7
assert run("--table", "work", "--as", "tsv", "--limit", "2", path)[0].count(b"\n") == 3
assert run("--table", "empty", path)[0] == b"row,a\n"
# Of files that agree the columns are told once, else anew.
assert run("--table", "1", path, path)[0].count(b"row,at,") == 1 and run("--table", "1", path, path)[0].count(b"\n") == 13
other = write("other.bin", [schema(columns=COLUMNS[:1], name=b"empty")])
assert run("--table", "empty", path, path, other)[0] == b"row,a\nrow,at\n"

# Filters of rows: time, thread and name, each alone and together; what the table cannot tell cannot be asked.
def shown(*options, path=path):
    return [line["row"] for line in map(json.loads, run("--table", "span", "--as", "ndjson", *options, path)[0].splitlines())]


from make_rbwp import section
SPAN = ((4, 1, 0, b"at", b""), (1, 10, 0, b"thread", b""), (6, 4, 0, b"what", b""))
spans = with_trailer(finalised([names(1, b"copy", b"flush"), schema(9, SPAN, b"span"), schema(8, name=b"plain"), rows(1, [
    (0, struct.pack("<6Q", *(T0 + 10 * i for i in range(6)))), numbers(7, 7, 8, 0, 8, 7), numbers(1, 2, 1, 2, 0, 1)], 6,
    table=9, times=(T0, T0 + 50)), rows(1, [numbers(1)], 1, table=8)], zero=T0),
    table_section(b"THRD", [struct.pack("<QQqqQH6x", 7, 0, T0, 0, 0, 6)], 48, b"worker"))
with open(f"{work}/spans.bin", "wb") as file:
    file.write(spans)
spans = f"{work}/spans.bin"
for options, want in (([], [1, 2, 3, 4, 5, 6]), (["--from", "+10ns", "--to", "+40ns"], [2, 3, 4]), (["--to", str(T0 + 11)], [1, 2]),
                      (["--thread", "7"], [1, 2, 6]), (["--thread", "work*"], [1, 2, 6]), (["--thread", "7", "--thread", "8"], [1, 2, 3, 5, 6]),
                      (["--name", "copy"], [1, 3, 6]), (["--name", "*"], [1, 2, 3, 4, 6]), (["--thread", "0"], []),
                      (["--name", "copy", "--thread", "7", "--from", "+1ns"], [6]), (["--name", "copy", "--limit", "2"], [1, 3]),
                      (["--from", "+1s"], [])):
    assert shown(*options, path=spans) == want, (options, shown(*options, path=spans))
for options, what in ((["--from", "+1ns"], "--from and --to"), (["--name", "x"], "--name")):
    assert f"no column that {what} could ask" in run("--table", "plain", *options, spans, code=1)[1]
# A name without a role is no row's name, nor is a number that has one.
LABELLED = ((6, 0, 0, b"kind", b""), (1, 4, 0, b"number", b""), (6, 4, 0, b"what", b""), (6, 0, 0, b"other", b""))
labelled = write("labelled.bin", [names(1, b"copy", b"flush"), schema(9, LABELLED, b"span"), rows(1, [numbers(1, 2), numbers(1, 1), numbers(2, 1), numbers(1, 1)], 2, table=9)])
assert shown("--name", "copy", path=labelled) == [2] and shown("--name", "flush", path=labelled) == [1]
run("--from", "+1ns", spans, code=2)
run("--name", "x", spans, code=2)

# By the index of tables nothing else is read: not the rows behind the first ones, whose number only the index has here.
# What it says that is not so in the file is seen where it is looked at, and the whole file tells.
blocks = [good[0], opaque(b"xtst" + bytes(1000)), *good[1:]]
at = [36]
for one in blocks:
    at.append(at[-1] + len(one))


def indexed(name, rows_said=6, shift=0, table=1):
    ranges = [table_range(at[0], len(blocks[0]), 0, 1, 2, 1, 2),
              table_range(at[2] + shift, at[6] - at[2], table, 3, rows_said, 1, 9, (T0, T0 + 10), 0),
              table_range(at[3], len(blocks[3]), 2, 1, 0, 0, 0)]
    with open(f"{work}/{name}", "wb") as file:
        file.write(with_trailer(finalised(blocks), table_section(b"TIDX", ranges, 80)))
    return f"{work}/{name}"


for options in ([], ["--json"]):
    whole = run(*options, path)[0]
    assert run(*options, indexed("indexed.bin"))[0] == whole
    assert run(*options, indexed("more.bin", rows_said=777))[0] == whole.replace(b"6 rows", b"777 rows").replace(b'"row_count":6', b'"row_count":777')
    for bad in (indexed("bad1.bin", shift=1), indexed("bad2.bin", shift=at[6] - at[2]), indexed("bad3.bin", table=3),
                indexed("bad4.bin", table=65536), indexed("bad5.bin", shift=1 << 40)):
        assert run(*options, bad)[0] == whole, (options, bad)

# The dump: what the blocks say of tables, as the second reader has it (compare.py looks at all of it), all rows or the
# first ones of each table, those that filters of records can mean; and by lines.
def dump(*options, path=path, code=0):
    done = subprocess.run([rbwp, "dump", *options, path], capture_output=True)
    assert done.returncode == code, (options, done.returncode, done.stderr)
    return done.stdout, done.stderr.decode()


import compare
compare.compare_file(f"{rbwp.rpartition('/')[0]}/rbwp-dump", path, must_be_good=True)
whole = json.loads(dump()[0])
assert [sorted({"schema", "names", "table"} & set(b)) for b in whole["blocks"]] == [["names"], ["schema"], ["schema"], ["table"], ["table"]]
assert [len(b["table"]["rows"]) for b in whole["blocks"][3:]] == [3, 3] and whole["table_counts"] == counts
for most, want in (("0", [0, 0]), ("2", [2, 0]), ("4", [3, 1]), ("99", [3, 3])):
    few = [b["table"] for b in json.loads(dump("--rows", most)[0])["blocks"][3:]]
    assert [(len(t["rows"]), t["rows_shown"], t["row_count"]) for t in few] == [(n, n, 3) for n in want], (most, few)
    assert sum(b'"type":"ROW"' in line for line in dump("--rows", most, "--ndjson")[0].splitlines()) == sum(want)
told = [json.loads(line) for line in dump("--ndjson")[0].splitlines()]
assert [t["type"] for t in told] == ["TABLE"] * 2 + ["ROW"] * 6
for line, row in zip(lines, told[2:]):
    assert (row["ts"], row["row"], row["name"]) == (line["at"], line.pop("row"), "work") and row["cells"] == line, (line, row)


def dumped(*options, code=0):
    out = dump(*options, path=spans, code=code)[0]
    rows = [json.loads(line)["row"] for line in dump("--ndjson", *options, path=spans, code=code)[0].splitlines()]
    blocks = json.loads(out)["blocks"]
    assert sum(b["table"]["rows_shown"] for b in blocks) == len(rows), (blocks, rows)
    return rows


for options, want in ((["--from", "+10ns", "--to", "+40ns"], [2, 3, 4]), (["--thread", "7"], [1, 2, 6]),
                      (["--thread", "work*", "--from", "+1ns"], [2, 6]), (["--thread", "8", "--rows", "1"], [3])):
    assert dumped(*options) == want, (options, dumped(*options))
for options in (["--slot", "1"], ["--kind", "coarse"], ["--thread", "99"]):
    assert dumped(*options, code=1) == []
dump("--rows", "1", "--spans", code=2)

GPUS = [{"proc_id": 5, "name": "first", "api": 0, "bias_rounds": 101, "bias": 250, "bias_spread": 30, "idle_rounds": 99,
         "idle_bias": 1400, "idle_spread": 60},
        {"proc_id": 6, "name": "second", "api": 2, "bias_rounds": 0, "bias": 0, "bias_spread": 0, "idle_rounds": 0,
         "idle_bias": 0, "idle_spread": 0}]
DEVICE = tuple((kind, 0, 0, name, b"") for kind, name in (
    (1, b"processor"), (6, b"name"), (1, b"api"), (1, b"rounds"), (2, b"bias"), (1, b"bias_spread"), (1, b"idle_rounds"),
    (2, b"idle_bias"), (1, b"idle_bias_spread")))
devices = [names(1, b"first", b"second"), schema(4, DEVICE, b"gpu_device"),
           rows(1, [numbers(5, 6), numbers(1, 2)] + [numbers(*(gpu[key] for gpu in GPUS)) for key in list(GPUS[0])[2:]], 2,
                table=4)]
for with_tables in (write("gpus.bin", devices), write("gpus_killed.bin", devices)):
    if "killed" in with_tables:  # as it was before its header had counts and offset
        with open(with_tables, "r+b") as file:
            file.seek(20)
            file.write(bytes(16))
    assert json.loads(dump(path=with_tables)[0])["gpus"] == GPUS, dump(path=with_tables)
    told = subprocess.run([rbwp, "info", "--json", with_tables], capture_output=True).stdout
    assert json.loads(told)["gpus"] == GPUS, told
    assert "first (5), bias" in subprocess.run([rbwp, "info", with_tables], capture_output=True, text=True).stdout

# What is not there, and what is broken.
assert "no table 'no'" in run("--table", "no", path, code=1)[1]
assert run(write("none.bin", []))[0] == b"no tables\n"
broken = write("broken.bin", good[:4] + [rows(2, [numbers(1)], 1)] + good[4:])
out, err = run(broken, code=3)
assert b"6 rows" in out and "R49" in err, (out, err)
found = json.loads(dump(path=broken, code=3)[0])
assert not found["valid"] and [p["rule"] for p in found["problems"]] == [49] and found["blocks"][4]["broken"]["rule"] == 49
told = subprocess.run([rbwp, "info", "--json", broken], capture_output=True)
assert told.returncode == 3 and json.loads(told.stdout)["problem_count"] == 1 and b"R49" in told.stderr, told
for bad in (["--as", "csv", path], ["--limit", "1", path], ["--table", "work", "--as", "xml", path], []):
    run(*bad, code=2)

# More tables than check keeps apart: the first ones by name, all of them counted.
path = write("many.bin", [part for number in range(1, 41) for part in (schema(table=number, name=b"t%d" % number), rows(1, [numbers(number, 0)], 2, table=number))])
done = subprocess.run([rbwp, "check", "--json", path], capture_output=True)
counts = json.loads(done.stdout)
assert (done.returncode, counts["table_count"], counts["table_row_count"]) == (0, 40, 80), counts
assert counts["tables"] == [{"table": n, "name": f"t{n}", "row_count": 2} for n in range(1, 33)], counts["tables"]
P

finish
