#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# queue_depth: guards that a foreign program's own table reaches every reader whole: the tools, which
# have not heard of it, and the second reader, which was written from the specification.
. "$(dirname "$0")/lib.bash"

expect 0 "$QUEUE_DEPTH" -bgworkprofile 1
expect_output '1200 rows'
expect 0 "$RBWP" check bgwork_0.bin
expect 0 "$RBWP" tables bgwork_0.bin
expect_output 'queue_depth: table 1, version 1, 1200 rows'
expect_output 'depth: u64 in jobs, counter'
expect 0 "$RBWP" tables --table queue_depth --as ndjson -o rows.ndjson bgwork_0.bin
python3 - "$scripts/../python" <<'END' || fail "the rows are not those of the queues"
import json, sys
sys.path.insert(0, sys.argv[1])
import rbwp_reader

rows = [json.loads(line) for line in open("rows.ndjson")]
for queue in ("parse", "compaction"):
    mine = [row for row in rows if row["queue"] == queue]
    assert len(mine) == 600, (queue, len(mine))
    depth = taken = 0
    for row in mine:
        assert (row["depth"] - depth, row["taken"] - taken) in ((1, 0), (-1, 1)), row
        depth, taken = row["depth"], row["taken"]
    assert (depth, taken) == (0, 300), (depth, taken)

parsed = rbwp_reader.parse(open("bgwork_0.bin", "rb").read())
assert not parsed["problems"], parsed["problems"]
(schema,) = parsed["schemas"]
numbers = {queue: number for number, queue in parsed["names"].items()}
assert schema["name"] == "queue_depth"
assert [row["values"] for row in schema["rows"]] == \
    [[row["time"], int(numbers[row["queue"]]), row["depth"], row["taken"]] for row in rows]
END

# It is shown by what never heard of it, and the same by each: sums, a database, Perfetto (read back), the page.
expect 0 "$RBWP" export -o depth.pftrace bgwork_0.bin
for file in bgwork_0.bin depth.pftrace; do
    expect 0 "$RBWP" stats "$file"
    expect_output '600 .* queue_depth parse (jobs)'
    expect_output '600 .* queue_depth compaction (jobs)'
done
expect 0 "$RBWP" report -o depth.html bgwork_0.bin
if "$RBWP" export --to sqlite -o none.sqlite bgwork_0.bin 2>&1 | grep -q "built without SQLite"; then
    echo "not looked at: databases, which this build does not write"
elif expect 0 "$RBWP" export --to sqlite -o depth.sqlite bgwork_0.bin; then
    python3 - <<'END' || fail "the counters of the database are not the rows"
import collections, json, sqlite3
want = collections.defaultdict(list)
for row in map(json.loads, open("rows.ndjson")):
    want["queue_depth " + row["queue"]].append(row["depth"])
shown = collections.defaultdict(list)
for name, value in sqlite3.connect("depth.sqlite").execute("SELECT counter, value FROM counter_view ORDER BY time_ns"):
    shown[name].append(value)
assert shown == want, (shown, want)
END
fi

# Without a session nothing is written, and no more is done than without the calls.
rm bgwork_0.bin
expect 0 "$QUEUE_DEPTH"
[[ -e bgwork_0.bin ]] && fail "a profile was written without being asked for"
expect 2 "$QUEUE_DEPTH" -bgworkprofile nonsense
finish
