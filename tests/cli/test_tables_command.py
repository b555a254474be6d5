# SPDX-License-Identifier: Apache-2.0
"""rbwp tables lists the tables of a file that it never heard of, and exports the rows of one, cell for cell as the second reader has
them; what is broken is reported by its rule and the rest is shown. rbwp dump shows schemas, names and rows where they stand in the file,
as many as are wanted, and says of the GPUs in the table gpu_device what it says of those in a trailer."""
import csv
import io
import json
import struct

import pytest
import rbwp_reader
from make_rbwp import T0, finalised, opaque, table_range, table_section, with_trailer
from test_tables import names, numbers, rows, schema, varint

COLUMNS = ((4, 1, 0, b"at", b""), (5, 2, 0, b"for", b""), (6, 4, 0, b"what", b""), (2, 7, 0, b"depth", b"1/s"),
           (3, 0, 0, b"share", b""), (8, 0, 0, b"note", b""), (7, 12, 1, b"in", b""), (1, 11, 0, b"id", b""))
COUNTS = [{"table": 1, "name": "work", "row_count": 6}, {"table": 2, "name": "empty", "row_count": 0}]


def block(first, notes):
    delta = b"".join(varint(step) for step in (2 * T0, 20, 9))
    words = (5, b"".join(varint(len(note)) for note in notes) + b"".join(notes))
    return rows(first, [(2, delta), (3, varint(9)), numbers(2, 1, 0), (4, varint(2) + varint((1 << 64) - 1) + varint(7)
                        + bytes([0, 1, 0])), (0, struct.pack("<3d", 0.5, -1.5, 0.1)), words, numbers(0, 1, 1),
                        numbers(300, 7, 8)], 3, times=(T0, T0 + 10), compress=first > 1)


GOOD = [names(1, b"copy", b"fl\x1b[31mush"), schema(columns=COLUMNS, name=b"work"), schema(table=2, name=b"empty"),
        block(1, (b"=x", b"", b"y\xffz")), block(7, (b"a", b"b", b"c"))]
EXPECTED = rbwp_reader.parse(finalised(GOOD))


def write(path, blocks):
    path.write_bytes(finalised(blocks))
    return path


@pytest.fixture(scope="module")
def path(shared):
    assert not EXPECTED["problems"]
    return write(shared / "good.bin", GOOD)


@pytest.fixture(scope="module")
def lines(rbwp, path):
    return [json.loads(line) for line in rbwp("tables", "--table", "work", "--as", "ndjson", path).lines]


def test_list(rbwp, path):
    """For programs and for people."""
    work_table, empty = rbwp("tables", "--json", path).json["tables"]
    assert (work_table["name"], work_table["row_count"], work_table["first"], work_table["last"]) == ("work", 6, T0, T0 + 10)
    assert [(c["name"], c["type"], c["role"], c["unit"]) for c in work_table["columns"]][3] == ("depth", "i64", "counter", "1/s")
    assert (empty["name"], empty["row_count"], len(empty["columns"])) == ("empty", 0, 1)
    text = rbwp("tables", path).text
    assert "work: table 1, version 1, 6 rows" in text and "depth: i64 in 1/s, counter" in text, text
    assert "row 2:" in text and "what=copy" in text and "note=y\\xffz" in text and "\x1b" not in text, text
    assert len(rbwp("tables", "--json", path, path).json) == 2


def test_list_as_csv(rbwp, path):
    """With the values of JSON; the line of keys is printed once."""
    tables = rbwp("tables", "--json", path).json["tables"]
    found = list(csv.DictReader(rbwp("tables", "--csv", "tables", path, path).lines))
    assert found == 2 * [{key: str(value) for key, value in table.items() if key != "columns"} for table in tables]
    found = list(csv.DictReader(rbwp("tables", "--csv", "columns", path).lines))
    assert [(row["name"], row["columns_name"], row["columns_type"]) for row in found] == [(t["name"], c["name"], c["type"]) for t in tables for c in t["columns"]]
    rbwp("tables", "--csv", "rows", path, code=2).says("'rows' is no table that --json has")
    rbwp("tables", "--csv", "tables", "--table", "work", path, code=2).says("--csv is for the list")


def test_list_of_what_cannot_be_read(rbwp, path, work):
    """It is missing, and the rest is a document."""
    (work / "folder").mkdir()
    assert rbwp("tables", "--json", work / "folder", code=1).out == b""
    one, other = rbwp("tables", "--json", path, work / "folder", path, code=1).json
    assert one == other == rbwp("tables", "--json", path).json


def test_info(rbwp, path):
    info = rbwp("info", path).text
    assert "tables (2):" in info and "1            6 rows of 8 columns  work" in info and "2            0 rows of 1 columns  empty" in info, info
    assert rbwp("info", "--json", path).json["table_counts"] == COUNTS


def test_rows(lines):
    """As the second reader has them."""
    want = [[r["row"], *r["values"]] for r in EXPECTED["schemas"][0]["rows"]]
    assert len(lines) == len(want) == 6
    for line, row in zip(lines, want):
        row = list(row)
        row[3] = EXPECTED["names"].get(row[3])
        row[7] = row[7] or None
        note, row[6] = row[6], line["note"]
        assert list(line.values()) == row, (line, row)
        assert line["note"] == note.encode("utf-8", "surrogateescape").decode("latin-1")


def test_rows_as_csv(rbwp, path):
    table = list(csv.reader(io.StringIO(rbwp("tables", "--table", "1", path).text)))
    assert table[0] == ["row", "at", "for", "what", "depth", "share", "note", "in", "id"]
    assert table[1] == ["1", str(T0), "9", "fl\\x1b[31mush", "-1", "0.5", "'=x", "", "300"], table[1]
    assert len(table) == 7
    assert rbwp("tables", "--table", "empty", path).out == b"row,a\n"


def test_first_rows_as_tsv(rbwp, path):
    assert rbwp("tables", "--table", "work", "--as", "tsv", "--limit", "2", path).out.count(b"\n") == 3


def test_columns_of_several_files(rbwp, path, work):
    """Of files that agree they are printed once, else anew."""
    out = rbwp("tables", "--table", "1", path, path).out
    assert out.count(b"row,at,") == 1 and out.count(b"\n") == 13
    other = write(work / "other.bin", [schema(columns=COLUMNS[:1], name=b"empty")])
    assert rbwp("tables", "--table", "empty", path, path, other).out == b"row,a\nrow,at\n"


@pytest.fixture(scope="module")
def shown(rbwp):
    """shown(path, option, ...): numbers of rows of the table span."""
    return lambda path, *options: [json.loads(line)["row"] for line in rbwp("tables", "--table", "span", "--as", "ndjson", *options, path).lines]


@pytest.fixture(scope="module")
def spans(shared):
    SPAN = ((4, 1, 0, b"at", b""), (1, 10, 0, b"thread", b""), (6, 4, 0, b"what", b""))
    spans = with_trailer(finalised([names(1, b"copy", b"flush"), schema(9, SPAN, b"span"), schema(8, name=b"plain"), rows(1, [
        (0, struct.pack("<6Q", *(T0 + 10 * i for i in range(6)))), numbers(7, 7, 8, 0, 8, 7), numbers(1, 2, 1, 2, 0, 1)], 6,
        table=9, times=(T0, T0 + 50)), rows(1, [numbers(1)], 1, table=8)], zero=T0),
        table_section(b"THRD", [struct.pack("<QQqqQH6x", 7, 0, T0, 0, 0, 6)], 48, b"worker"))
    (shared / "spans.bin").write_bytes(spans)
    return shared / "spans.bin"


def test_filters_of_rows(shown, spans):
    """Time, thread and name, each alone and together."""
    for options, want in (([], [1, 2, 3, 4, 5, 6]), (["--from", "+10ns", "--to", "+40ns"], [2, 3, 4]), (["--to", str(T0 + 11)], [1, 2]),
                          (["--thread", "7"], [1, 2, 6]), (["--thread", "work*"], [1, 2, 6]), (["--thread", "7", "--thread", "8"], [1, 2, 3, 5, 6]),
                          (["--name", "copy"], [1, 3, 6]), (["--name", "*"], [1, 2, 3, 4, 6]), (["--thread", "0"], []),
                          (["--name", "copy", "--thread", "7", "--from", "+1ns"], [6]), (["--name", "copy", "--limit", "2"], [1, 3]),
                          (["--from", "+1s"], [])):
        assert shown(spans, *options) == want, options


def test_filters_that_the_table_cannot_answer(rbwp, spans):
    for options, what in ((["--from", "+1ns"], "--from and --to"), (["--name", "x"], "--name")):
        rbwp("tables", "--table", "plain", *options, spans, code=1).says(f"no column that {what} could ask")
    rbwp("tables", "--from", "+1ns", spans, code=2)
    rbwp("tables", "--name", "x", spans, code=2)


def test_name_without_a_role(shown, work):
    """It is no row's name, nor is a number that has one."""
    columns = ((6, 0, 0, b"kind", b""), (1, 4, 0, b"number", b""), (6, 4, 0, b"what", b""), (6, 0, 0, b"other", b""))
    labelled = write(work / "labelled.bin", [names(1, b"copy", b"flush"), schema(9, columns, b"span"),
                                             rows(1, [numbers(1, 2), numbers(1, 1), numbers(2, 1), numbers(1, 1)], 2, table=9)])
    assert shown(labelled, "--name", "copy") == [2] and shown(labelled, "--name", "flush") == [1]


def indexed(path, rows_said=6, shift=0, table=1):
    """A file with an index of tables, which says so."""
    blocks = [GOOD[0], opaque(b"xtst" + bytes(1000)), *GOOD[1:]]
    at = [36]
    for one in blocks:
        at.append(at[-1] + len(one))
    shift = at[6] - at[2] if shift == "all" else shift
    ranges = [table_range(at[0], len(blocks[0]), 0, 1, 2, 1, 2),
              table_range(at[2] + shift, at[6] - at[2], table, 3, rows_said, 1, 9, (T0, T0 + 10), 0),
              table_range(at[3], len(blocks[3]), 2, 1, 0, 0, 0)]
    path.write_bytes(with_trailer(finalised(blocks), table_section(b"TIDX", ranges, 80)))
    return path


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["text", "json"])
def test_index_of_tables(rbwp, path, work, options):
    """Nothing else is read: not the rows behind the first ones, whose number only the index has here. What it says that is not so in the
    file is seen where it is looked at, and the whole file is read."""
    tables = lambda path: rbwp("tables", *options, path).out
    whole = tables(path)
    assert tables(indexed(work / "indexed.bin")) == whole
    more = whole.replace(b"6 rows", b"777 rows").replace(b'"row_count":6', b'"row_count":777')
    assert tables(indexed(work / "more.bin", rows_said=777)) == more
    for wrong in ({"shift": 1}, {"shift": "all"}, {"table": 3}, {"table": 65536}, {"shift": 1 << 40}):
        assert tables(indexed(work / "wrong.bin", **wrong)) == whole, wrong


def test_dump(rbwp, second_reader, path, lines):
    """What the blocks say of tables, as the second reader has it (compare.py looks at all of it); and by lines."""
    second_reader(path, "--good")
    whole = rbwp("dump", path).json
    assert [sorted({"schema", "names", "table"} & set(b)) for b in whole["blocks"]] == [["names"], ["schema"], ["schema"], ["table"], ["table"]]
    assert [len(b["table"]["rows"]) for b in whole["blocks"][3:]] == [3, 3] and whole["table_counts"] == COUNTS
    found = [json.loads(line) for line in rbwp("dump", "--ndjson", path).lines]
    assert [t["type"] for t in found] == ["TABLE"] * 2 + ["ROW"] * 6
    for line, row in zip(lines, found[2:]):
        cells = {key: value for key, value in line.items() if key != "row"}
        assert (row["ts"], row["row"], row["name"], row["cells"]) == (line["at"], line["row"], "work", cells)


def test_dump_of_the_first_rows(rbwp, path):
    """Of each table."""
    for most, want in (("0", [0, 0]), ("2", [2, 0]), ("4", [3, 1]), ("99", [3, 3])):
        few = [b["table"] for b in rbwp("dump", "--rows", most, path).json["blocks"][3:]]
        assert [(len(t["rows"]), t["rows_shown"], t["row_count"]) for t in few] == [(n, n, 3) for n in want], (most, few)
        assert sum('"type":"ROW"' in line for line in rbwp("dump", "--rows", most, "--ndjson", path).lines) == sum(want)


def test_dump_of_filtered_rows(rbwp, spans):
    """Those that filters of records can mean."""
    def dumped(*options, code=0):
        rows = [json.loads(line)["row"] for line in rbwp("dump", "--ndjson", *options, spans, code=code).lines]
        blocks = rbwp("dump", *options, spans, code=code).json["blocks"]
        assert sum(b["table"]["rows_shown"] for b in blocks) == len(rows), (blocks, rows)
        return rows

    for options, want in ((["--from", "+10ns", "--to", "+40ns"], [2, 3, 4]), (["--thread", "7"], [1, 2, 6]),
                          (["--thread", "work*", "--from", "+1ns"], [2, 6]), (["--thread", "8", "--rows", "1"], [3])):
        assert dumped(*options) == want, options
    for options in (["--slot", "1"], ["--kind", "coarse"], ["--thread", "99"]):
        assert dumped(*options, code=1) == []
    rbwp("dump", "--rows", "1", "--spans", spans, code=2)


@pytest.mark.parametrize("killed", [False, True], ids=["whole", "killed"])
def test_gpus_of_a_table(rbwp, work, killed):
    gpus = [{"proc_id": 5, "name": "first", "api": 0, "bias_rounds": 101, "bias": 250, "bias_spread": 30, "idle_rounds": 99,
             "idle_bias": 1400, "idle_spread": 60},
            {"proc_id": 6, "name": "second", "api": 2, "bias_rounds": 0, "bias": 0, "bias_spread": 0, "idle_rounds": 0,
             "idle_bias": 0, "idle_spread": 0}]
    columns = tuple((kind, 0, 0, name, b"") for kind, name in (
        (1, b"processor"), (6, b"name"), (1, b"api"), (1, b"rounds"), (2, b"bias"), (1, b"bias_spread"), (1, b"idle_rounds"),
        (2, b"idle_bias"), (1, b"idle_bias_spread")))
    devices = [names(1, b"first", b"second"), schema(4, columns, b"gpu_device"),
               rows(1, [numbers(5, 6), numbers(1, 2)] + [numbers(*(gpu[key] for gpu in gpus)) for key in list(gpus[0])[2:]], 2,
                    table=4)]
    path = write(work / "gpus.bin", devices)
    if killed:  # as it was before its header had counts and offset
        with open(path, "r+b") as file:
                file.seek(20)
                file.write(bytes(16))
    assert rbwp("dump", path).json["gpus"] == gpus
    assert rbwp("info", "--json", path).json["gpus"] == gpus
    assert "first (5), bias" in rbwp("info", path).text


def test_what_is_not_there(rbwp, path, work):
    rbwp("tables", "--table", "no", path, code=1).says("no table 'no'")
    assert rbwp("tables", write(work / "none.bin", [])).out == b"no tables\n"


def test_what_is_broken(rbwp, work):
    broken = write(work / "broken.bin", GOOD[:4] + [rows(2, [numbers(1)], 1)] + GOOD[4:])
    assert "6 rows" in rbwp("tables", broken, code=3).says("R49").text
    found = rbwp("dump", broken, code=3).json
    assert not found["valid"] and [p["rule"] for p in found["problems"]] == [49] and found["blocks"][4]["broken"]["rule"] == 49
    assert rbwp("info", "--json", broken, code=3).says("R49").json["problem_count"] == 1


def test_usage(rbwp, path):
    for bad in (["--as", "csv", path], ["--limit", "1", path], ["--table", "work", "--as", "xml", path], []):
        rbwp("tables", *bad, code=2)


def test_more_tables_than_check_keeps_apart(rbwp, work):
    """The first ones by name, all of them counted."""
    parts = ((schema(table=n, name=b"t%d" % n), rows(1, [numbers(n, 0)], 2, table=n)) for n in range(1, 41))
    counts = rbwp("check", "--json", write(work / "many.bin", [part for both in parts for part in both])).json
    assert (counts["table_count"], counts["table_row_count"]) == (40, 80)
    assert counts["tables"] == [{"table": n, "name": f"t{n}", "row_count": 2} for n in range(1, 33)]
