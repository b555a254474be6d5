# SPDX-License-Identifier: Apache-2.0
# SQLite databases hold each span of the dump, are sound, answer what their views promise, and
# appear under their name only when they are whole.
. "$(dirname "$0")/lib.sh"

if ! "$RBWP" export --to sqlite -o "$work/probe.db" "$GOLDEN/empty.bin" 2>"$work/err"; then
    expect_error "built without SQLite"
    expect_error "libsqlite3-dev"
    expect_one_line
    [ ! -e "$work/probe.db" ] || fail "a file was made"
    [ "$failures" -eq 0 ] && echo "skipped: this build has no SQLite; that it says so was tested" && exit 77
    finish
fi

"$PYTHON" - "$RBWP" "$GOLDEN" "$here" "$work" <<'P' || fail "sqlite"
import sqlite3, sys

rbwp, golden, here, work = sys.argv[1:]
sys.dont_write_bytecode = True
sys.path.insert(0, here)
import check_sqlite
import export_check as x
import rbwp_make as m

for path, code in x.golden_files(golden) + x.hard_files(work, blocks=10):
    check_sqlite.check(rbwp, path, code, f"{work}/out.db").close()

# Busy time of overlapping GPU work is not counted twice, and work is led back to its launch.
path = f"{work}/gpu.bin"
open(path, "wb").write(m.file([m.block(1, 0, [
    (1000, "cb", 3), (1100, "ce"), (1200, "cb", 3), (1300, "ce"),
    (2000, "gpu", 9, 3, 1050, 1150), (2010, "gpu", 9, 3, 1250, 1500), (2020, "gpu", 9, 3, 1400, 1600)])], [(3, b"launch")], zero_time=900))
db = check_sqlite.check(rbwp, path, 0, f"{work}/gpu.db")
assert db.execute("SELECT spans, first_ns, last_ns, busy_ns FROM gpu_busy").fetchall() == [(3, 1050, 1600, 100 + 350)]
assert db.execute("SELECT spans, busy_ns, busy_share FROM thread_busy").fetchall() == [(2, 200, round(200 / 300, 4))]
assert db.execute("SELECT launch_ns, work_ns, delay_ns, duration_ns, overlap_ns FROM gpu_launch ORDER BY work_ns").fetchall() == [
    (1000, 1050, 50, 100, 50), (1200, 1250, 50, 250, 50), (1200, 1400, 200, 200, 0)]
# One name, one meaning: views have the times of tables, and at_ns counts from the beginning.
assert db.execute("SELECT count(*) FROM span_view v JOIN span s USING (id) WHERE v.start_ns = s.start_ns AND v.at_ns = s.start_ns - 900").fetchone() == (5,)
assert db.execute("SELECT count(*) FROM link").fetchone() == (3,)

# Queries by time and by name go through an index.
for query, index in (("SELECT * FROM span WHERE track = 1 AND start_ns BETWEEN 5 AND 9", "span_track_start"), ("SELECT * FROM span WHERE name = 3", "span_name")):
    assert index in str(db.execute("EXPLAIN QUERY PLAN " + query).fetchall())
P

# What a trailer knows: host, command, losses, the system's numbers.
"$MAKE_EXTENDED" "$work/extended.bin" && "$RBWP" export -o "$work/extended.db" "$work/extended.bin" 2>/dev/null
"$PYTHON" - "$work/extended.db" "$RBWP" "$work/extended.bin" <<'P' || fail "trailer"
import json, sqlite3, subprocess, sys
db = sqlite3.connect(sys.argv[1])
info = json.loads(subprocess.run([sys.argv[2], "info", "--json", sys.argv[3]], capture_output=True).stdout)
session = info["session"]
row = db.execute("SELECT host, os_id, command FROM process").fetchone()
assert row == (session["host"], session["process_id"], " ".join(session["command"])), row
assert dict(db.execute("SELECT source_id, os_id FROM track")) == {hex(t["thread_id"]): t["os_id"] for t in info["threads"]}
assert db.execute("SELECT sum(records) FROM loss").fetchone()[0] == info["lost_records"], info
P

# Nothing but the whole database, nothing that was there before without -f, never an input.
db=$work/a.db
expect_exit 0 "$RBWP" export -o "$db" "$GOLDEN/multi_thread.bin"
sum=$(cksum "$db")
expect_exit 1 "$RBWP" export -o "$db" "$GOLDEN/gaps.bin"
expect_error "exists"
[ "$sum" = "$(cksum "$db")" ] || fail "an existing file was changed"
expect_exit 0 "$RBWP" export -f -o "$db" "$GOLDEN/gaps.bin"
cp "$GOLDEN/gaps.bin" "$work/in.db"
expect_exit 1 "$RBWP" export -f -o "$work/in.db" "$work/in.db"
expect_error "is an input too"
cmp -s "$GOLDEN/gaps.bin" "$work/in.db" || fail "the input is gone"
echo mine >"$work/b.db.tmp"
expect_exit 1 "$RBWP" export -o "$work/b.db" "$GOLDEN/gaps.bin"
expect_error "b.db.tmp: exists"
[ "$(cat "$work/b.db.tmp")" = mine ] && [ ! -e "$work/b.db" ] || fail "a file of another's was touched"
mkdir "$work/folder.db"
expect_exit 1 "$RBWP" export -f -o "$work/folder.db" "$GOLDEN/gaps.bin"
expect_error "no regular file"
expect_exit 1 "$RBWP" export -o "$work/none/a.db" "$GOLDEN/gaps.bin"
expect_one_line
for to in - ''; do
    expect_exit 2 "$RBWP" export --to sqlite ${to:+-o "$to"} "$GOLDEN/gaps.bin"
    expect_error "cannot go to standard output"
done
for bad in "$GOLDEN/README.md" /dev/null "$work/no_files"; do
    expect_exit 1 "$RBWP" export -o "$work/bad.db" "$bad"
    expect_one_line
    [ ! -e "$work/bad.db" ] && [ ! -e "$work/bad.db.tmp" ] || fail "a file was made of $bad"
done
# A disk that is full: told, and nothing is left.
expect_exit 1 sh -c 'trap "" XFSZ; ulimit -f 64; "$0" export -o "$1" "$2"' "$RBWP" "$work/big.db" "$work/many.bin"
expect_error "cannot be written"
[ ! -e "$work/big.db" ] && [ ! -e "$work/big.db.tmp" ] || fail "half a database was left"
finish
