# SPDX-License-Identifier: Apache-2.0
"""states.py RBWP HERE WORK PACKAGE MODULES BGPACK: running, runnable and waiting, which programs of others add up by thread in what was
exported, are what rbwp stats says of calls. Perfetto's trace processor reads perfetto, chrome and kineto, DuckDB csv, tsv, ndjson and parquet.
(tests/cli/test_on_cpu.py: those that Debian's Python reads.) MODULES and BGPACK may be empty."""
import json
import os
import subprocess
import sys

rbwp, here, work, package, modules, bgpack = sys.argv[1:]
sys.dont_write_bytecode = True
sys.path[:0] = [here, f"{here}/../cli", f"{here}/../python"]
import on_cpu_make as made
import opened

KEYS = ("running_ns", "runnable_ns", "waiting_ns")
# Spans inside of others are in these; of who waits in a call its row says it.
SLICES = {"perfetto": "debug.", "chrome": "args.rbwp.", "kineto": "args.rbwp."}
ROWS = {"csv": "read_csv('%s', all_varchar=true)", "tsv": "read_csv('%s', delim='\t', all_varchar=true)", "ndjson": "read_json('%s')", "parquet": "read_parquet('%s')"}


def run(*words):
    return subprocess.run([rbwp, *words], check=True, stdout=subprocess.PIPE).stdout


def recordings():
    with open(f"{work}/states.bin", "wb") as file:
        file.write(made.WHOLE)
    yield f"{work}/states.bin"
    if bgpack:  # three workers, which sleep and read files
        subprocess.run([bgpack, "-q", "-f", here, f"{work}/states.pack", "-bgworkprofile", "1", "-bgworkprofile_logfile", f"{work}/packed.bin"],
                       check=True, stdout=subprocess.DEVNULL)
        yield f"{work}/packed.bin"


def in_perfetto(form, path):
    args = ", ".join(f"extract_arg(slice.arg_set_id, '{SLICES[form]}{key}')" for key in ("ran", *KEYS))
    (rows,) = opened.node(f"{here}/perfetto.mjs", f"{package}/assets/trace-processor", path,
                          f"select thread.name, dur, {args} from slice join thread_track on track_id = thread_track.id join thread using (utid) where slice.depth = 0")
    return made.states_of((name, int(dur), ran, *parts) for name, dur, ran, *parts in rows)


def in_duckdb(form, path):
    rows = opened.node(f"{here}/duckdb/query.mjs", modules,
                       f"select track, {', '.join(KEYS)} from {ROWS[form] % path} where category = 'bgwork' and depth::int = 0")[0]
    return made.states_of((row["track"], 0, False, *map(row.get, KEYS)) for row in rows)


for recording in recordings():
    threads = json.loads(run("stats", "--json", recording))["threads"]
    assert any(t["running"] for t in threads), threads
    for form, look in [(form, in_perfetto) for form in SLICES] + [(form, in_duckdb) for form in ROWS if modules]:
        path = f"{work}/states.{form}"
        run("export", "--to", form, "-f", "-o", path, recording)
        found = look(form, path)
        found = {name.partition(" (")[2].rstrip(")") or name: parts for name, parts in found.items()}  # kineto: "thread 4712 (t1)"
        for t in threads:  # times are rounded, of each call
            said, have = (t["running"] - (t.get("running_outside") or 0), t["runnable"], t["waiting"]), found.get(t["name"], [0, 0, 0])
            assert all(abs(a - b) <= t["spans"] for a, b in zip(said, have)), (recording, form, have, t)
        print(f"  {os.path.basename(recording)}, {form}: running, runnable and waiting agree")
