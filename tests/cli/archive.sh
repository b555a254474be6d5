# SPDX-License-Identifier: Apache-2.0
# archive makes small files that every command reads like the file, -d gives the file back, nothing is ever lost on the
# way, and damage is told with its place.
. "$(dirname "$0")/lib.sh"

# same COMMAND...: says the same of the archive as of the file, but for the name and that it is one.
same() {
    code=0
    "$RBWP" "$@" "$work/plain.bin" >"$work/of_plain" 2>"$work/err_plain" </dev/null || code=$?
    expect_exit $code "$RBWP" "$@" "$work/plain.rbwa"
    sed 's/plain\.rbwa/plain.bin/g; s/, in an archive of [0-9,]*$//' "$work/out" | cmp -s - "$work/of_plain" || fail "$* differs: $(diff "$work/out" "$work/of_plain" | head -5)"
    sed 's/plain\.rbwa/plain.bin/g' "$work/err" | cmp -s - "$work/err_plain" || fail "$* says other things"
}

# A file with everything: tables, private blocks, a trailer. Back from its archive its blocks are as they were; one whose
# blocks are not compressed is the same, byte for byte.
"$MAKE_EXTENDED" "$work/extended.bin" >/dev/null || fail "making a file"
expect_exit 0 "$RBWP" archive "$work/extended.bin"
grep -q "extended.rbwa: [0-9]* bytes from [0-9]*, [0-9]* records" "$work/out" || fail "report: $(cat "$work/out")"
expect_exit 0 "$RBWP" check "$work/extended.rbwa"
expect_exit 0 "$RBWP" archive -d "$work/extended.rbwa" -o "$work/back.bin"
expect_exit 0 "$RBWP" check "$work/back.bin"
expect_exit 0 "$PYTHON" "$here/../python/compare.py" --good "$dump" "$work/back.bin"
# The second reader, which was written from SPEC.md alone, finds in the archive what the command does.
expect_exit 0 "$PYTHON" "$here/../python/compare.py" --good "$dump" "$work/extended.rbwa"
expect_exit 0 "$RBWP" archive "$work/back.bin"
check "once more: the same archive" cmp "$work/back.rbwa" "$work/extended.rbwa"

# The same bytes however many threads are at it, both ways.
for jobs in 1 3; do
    expect_exit 0 "$RBWP" archive -j $jobs "$work/extended.bin" -o "$work/j$jobs.rbwa"
    expect_exit 0 "$RBWP" archive -d -j $jobs "$work/j$jobs.rbwa" -o "$work/j$jobs.bin"
done
check "-j 3 packs the same" cmp "$work/j1.rbwa" "$work/j3.rbwa"
check "-j 3 unpacks the same" cmp "$work/j1.bin" "$work/j3.bin"

cp "$GOLDEN/multi_thread.bin" "$work/plain.bin"
expect_exit 0 "$RBWP" archive "$work/plain.bin"
grep -q "the same, byte for byte" "$work/out" || fail "nothing promised"
check "the file stays" cmp "$GOLDEN/multi_thread.bin" "$work/plain.bin"
expect_exit 0 "$RBWP" archive -d "$work/plain.rbwa" -o "$work/back" && check "the same bytes" cmp "$work/back" "$work/plain.bin"
for how in "dump" "dump --format text" "info" "stats" "check" "timeline" "stacks" "tables" "processes" "export --to csv -o -" \
    "export --to chrome -o -" "export --to folded -o -"; do
    # shellcheck disable=SC2086
    same $how
done
size=$(wc -c <"$work/plain.rbwa")
expect_exit 0 "$RBWP" info "$work/plain.rbwa"
sed -n 1p "$work/out" | tr -d , | grep -q "plain.rbwa $(wc -c <"$work/plain.bin") bytes in an archive of $size\$" || fail "info: $(sed -n 1p "$work/out")"
expect_exit 0 "$RBWP" info --json "$work/plain.rbwa"
grep -q "\"archive_size\": *$size[,}]" "$work/out" || fail "info --json: $(cat "$work/out")"
expect_exit 0 "$RBWP" diff "$work/plain.bin" "$work/plain.rbwa"
expect_exit 0 "$RBWP" report "$work/plain.rbwa" -o "$work/report.html"
expect_exit 0 "$RBWP" merge "$work/plain.rbwa" -o "$work/merged.json"
expect_exit 0 "$RBWP" split --by-thread "$work/plain.rbwa" -o "$work/part.bin"
for part in "$work"/part.*.bin; do expect_exit 0 "$RBWP" check "$part"; done
"$RBWP" dump - <"$work/plain.bin" >"$work/of_plain" 2>/dev/null
"$RBWP" dump - <"$work/plain.rbwa" >"$work/out" && check "standard input" cmp "$work/out" "$work/of_plain"
# shellcheck disable=SC2002
cat "$work/plain.rbwa" | "$RBWP" dump - >"$work/out" && check "a pipe" cmp "$work/out" "$work/of_plain"
gzip -c "$work/plain.rbwa" >"$work/plain.rbwa.gz" && expect_exit 0 "$RBWP" stats "$work/plain.rbwa.gz"

# Folders have archives as they have files.
mkdir "$work/folder" && cp "$work/plain.rbwa" "$work/folder"
expect_exit 0 "$RBWP" stats "$work/folder"

# What a crash left is archived once it is repaired; before, it is refused with what to do.
cp "$GOLDEN/crash_killed.bin" "$work/killed.bin"
expect_exit 1 "$RBWP" archive "$work/killed.bin"
expect_error "killed.bin: it was not finalised: its program still runs, or died; rbwp repair makes a whole file"
check "no archive of it" test ! -e "$work/killed.rbwa"
"$RBWP" repair "$work/killed.bin" >/dev/null 2>&1
expect_exit 0 "$RBWP" archive "$work/killed.repaired.bin"
expect_exit 0 "$RBWP" archive -d "$work/killed.repaired.rbwa" -o "$work/back2"
"$RBWP" dump "$work/back2" | sed 1d >"$work/out"
"$RBWP" dump "$work/killed.repaired.bin" | sed 1d | cmp -s - "$work/out" || fail "a repaired file came back other"

# Names: nothing is overwritten unasked, no input is its own result, the source goes only when asked, and last.
expect_exit 1 "$RBWP" archive "$work/plain.bin"
expect_error "plain.rbwa: exists; give -f to overwrite it"
expect_exit 0 "$RBWP" archive -f "$work/plain.bin"
expect_exit 1 "$RBWP" archive -f "$work/plain.bin" -o "$work/plain.bin"
check "the input is left" cmp "$GOLDEN/multi_thread.bin" "$work/plain.bin"
expect_exit 1 "$RBWP" archive --remove "$work/plain.bin" -o "$work/none/x"
# To save room is what --remove is for: a file whose archive is no smaller stays, and there is no archive.
cp "$GOLDEN/empty.bin" "$work/small.bin"
expect_exit 0 "$RBWP" archive --remove "$work/small.bin"
expect_error "stays as it is: its archive would be no smaller"
cmp -s "$GOLDEN/empty.bin" "$work/small.bin" && [ ! -e "$work/small.rbwa" ] || fail "an archive that is larger"
check "kept where no archive is" test -e "$work/plain.bin"
expect_exit 0 "$RBWP" archive --remove -f "$work/plain.bin"
check "removed" test ! -e "$work/plain.bin"
expect_exit 0 "$RBWP" archive -d "$work/plain.rbwa"
check "back" cmp "$GOLDEN/multi_thread.bin" "$work/plain.bin"
expect_exit 1 "$RBWP" archive "$work/plain.rbwa" -o "$work/x"
expect_error "it is an archive already"
expect_exit 1 "$RBWP" archive -d "$work/plain.bin" -o "$work/x"
expect_error "it is no archive"
expect_exit 1 "$RBWP" repair "$work/plain.rbwa"
expect_error "is an archive; unpack it first: rbwp archive -d"
expect_exit 2 "$RBWP" archive
expect_exit 2 "$RBWP" archive a b -o c
expect_exit 2 "$RBWP" archive a -o -
ls "$work" | grep -q 'rbwa\.......$' && fail "a temporary file is left"

# Damage: what is whole is read, with the place and what to do; -d writes nothing.
"$PYTHON" - "$work" <<'P'
import sys
work = sys.argv[1]
data = bytearray(open(f"{work}/plain.rbwa", "rb").read())
open(f"{work}/cut.rbwa", "wb").write(data[:len(data) // 2])
data[100] ^= 1
open(f"{work}/flipped.rbwa", "wb").write(data)
P
for name in cut flipped; do # of the one nothing is left, of the other the names
    code=$([ $name = cut ] && echo 1 || echo 3)
    expect_exit "$code" "$RBWP" stats "$work/$name.rbwa"
    expect_error "take another copy"
    expect_error "at file offset"
    expect_exit 1 "$RBWP" archive -d "$work/$name.rbwa" -o "$work/damaged.bin"
    expect_error "nothing is written"
    check "nothing of a $name archive" test ! -e "$work/damaged.bin"
done

# Symbols 252-254 (and 255, but for times) and kinds above 124 are refused by the command and by the second reader, also where all else
# of the chunk would fit: numbers are taken mod 2^64, there are bits for them or none are needed, and what fills the last byte of kinds
# is no kind of a record. What fills last bytes is not looked at.
"$PYTHON" - "$RBWP" "$here" "$work" <<'P' || fail "symbols and kinds that are refused"
import struct, subprocess, sys
rbwp, here, work = sys.argv[1:]
sys.path[:0] = [here, f"{here}/../python"]
import rbwp_archive as archive, rbwp_make as m
from rbwp_reader import crc32c
open(f"{work}/gpu.bin", "wb").write(m.file([m.block(7, 0, [(10**18, "gpu", 5, 1, 10**18 - 20, 10**18 - 10)])], [(1, b"item")]))
subprocess.run([rbwp, "archive", f"{work}/gpu.bin"], check=True, capture_output=True)
packed = open(f"{work}/gpu.rbwa", "rb").read()


def changed(change):
    """The archive with the streams of its blocks as change makes them, none compressed; places and sums are right."""
    out, at, data_bytes, places = bytearray(packed[:36]), 36, 36, b""
    tag = b""
    while tag != b"INDX":
        tag, place, gives, payload = archive.take_chunk(packed, at, crc32c)
        at += archive.CHUNK.size + len(payload)
        if tag == b"BLKS":
            cursor = archive.Cursor(payload)
            streams = [bytearray(archive.take_stream(cursor)) for _ in range(21)]
            change(streams)
            payload = b"".join(b"\0" + bytes([len(stream)]) + stream for stream in streams)
        payload = places if tag == b"INDX" else payload
        head, offset = struct.pack("<4sIQIII", tag, len(payload), place, gives, 0, crc32c(payload)), len(out)
        out += head + struct.pack("<I", crc32c(head)) + payload
        if tag != b"INDX":
            places += struct.pack("<QQ", offset, place)
            data_bytes += gives
    footer = struct.pack("<QQI", offset, data_bytes, len(places) // 16)
    return bytes(out + footer + struct.pack("<I8s", crc32c(footer), b"RBWA.END"))


def answers(change):
    data = changed(change)
    open(f"{work}/changed.rbwa", "wb").write(data)
    try:
        archive.plain(data, crc32c)
        mine = None
    except archive.Broken as broken:
        mine = broken.rule
    done = subprocess.run([rbwp, "archive", "-d", "-f", "-o", f"{work}/changed.bin", f"{work}/changed.rbwa"], capture_output=True, text=True)
    return mine, done.returncode


def symbol(number, bits):
    def change(streams):
        assert not streams[12] and max(streams[18] + streams[19] + streams[20]) < 64, streams
        streams[18][0], streams[12] = number, bytearray(bits)
    return change


def kinds(streams):
    assert streams[3] == b"\4", streams
    streams[3][0] += 125


def filled(streams):  # a record's kind, and two that are none; 17 bits of a number, and 7 that are none
    streams[3][0] += 5 * 3 + 25 * 2
    symbol(160, b"\xff\xff\xff")(streams)


for change in (lambda streams: None), symbol(251, 8), filled:
    assert answers(change) == (None, 0), answers(change)
for number, bits in [(number, bits) for number in (252, 253, 254, 255) for bits in (8, 0)]:
    assert answers(symbol(number, bits)) == ("R83", 1), (number, bits, answers(symbol(number, bits)))
assert answers(kinds) == ("R83", 1), answers(kinds)
P
finish
