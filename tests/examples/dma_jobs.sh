#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# dma_jobs: guards that rows of tables which no tool has heard of are shown as what they are: copies and calls in
# stats, engines that are busy in the timeline and on the page, launches from calls to copies in exports.
. "$(dirname "$0")/lib.bash"

expect 0 "$DMA_JOBS" -bgworkprofile 1
expect_output '20 jobs'
expect 0 "$RBWP" check bgwork_0.bin
expect 0 "$RBWP" tables bgwork_0.bin
expect_output 'category: name in copy, category'
expect_output 'kind: name in launch, link kind'

# The file itself, and what exports of it say when they are read back.
expect 0 "$RBWP" export -o jobs.pftrace bgwork_0.bin
expect 0 "$RBWP" export --to chrome -o jobs.json bgwork_0.bin
for file in bgwork_0.bin jobs.pftrace jobs.json; do
    expect 0 "$RBWP" stats --json "$file"
    cp out "stats.$file"
    expect 0 "$RBWP" timeline --width 100 "$file"
    expect_output 'dma_job 1 .*[1-9][0-9.]*%$'
    expect 0 "$RBWP" export --to ndjson -o "spans.$file" "$file"
done
for format in csv kineto speedscope folded firefox legion parquet npz; do
    expect 0 "$RBWP" export --to "$format" -o "jobs.$format" bgwork_0.bin
done
expect 0 "$RBWP" report -o jobs.html bgwork_0.bin
python3 - <<'END' || fail "the rows are not shown as what they are"
import json

for file in ("bgwork_0.bin", "jobs.pftrace", "jobs.json"):
    stats = json.load(open(f"stats.{file}"))
    assert stats["links"] == 20, (file, stats["links"])
    rows = {(row["category"], row["name"]): row["count"] for section in ("gpu_work", "sub_items", "ranges") for row in stats[section]}
    assert rows == {("copy", "copy in"): 20, ("call", "dma_submit"): 20}, (file, rows)
    busy = {track["name"]: track["busy"] for track in stats["other_tracks"]}
    assert abs(busy["dma_job 0"] - 10 * 400000) < 100 and abs(busy["dma_job 1"] - 10 * 400000) < 100, (file, busy)
    spans = [json.loads(line) for line in open(f"spans.{file}")]
    copies = [span for span in spans if span["category"] == "copy"]
    assert sorted(span["args"]["bytes"] for span in copies) == [4096 * id for id in range(1, 21)], (file, copies[0])
trace = json.load(open("jobs.json"))
events = trace["traceEvents"] if isinstance(trace, dict) else trace
assert [event["cat"].split(",")[0] for event in events if event.get("ph") == "s"].count("launch") == 20
END

finish
