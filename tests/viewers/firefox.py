# SPDX-License-Identifier: Apache-2.0
"""profiler.firefox.com's own loader and its sums, by its command line, against what the dump says."""
import collections
import os
import subprocess
import sys

rbwp, golden, here, work, make_extended = sys.argv[1:]
sys.dont_write_bytecode = True
sys.path[:0] = [here, f"{here}/../cli"]
import export_expect as x
import opened
from firefox_profile import Profile


def check(path, name):
    profile = f"{work}/{name}.firefox.json"
    assert subprocess.run([rbwp, "export", "-f", "-o", profile, path], capture_output=True).returncode == x.code_of(rbwp, path)
    with opened.Firefox(f"{work}/package/dist/profiler-cli.js", profile) as firefox:
        spans = x.spans(rbwp, path)
        # Where all lie, to tell whether doubles have them to the nanosecond.
        near = all(s.stop is not None for s in spans) and (not spans or max(s.stop for s in spans) - min(s.start for s in spans) < 10**12)
        have, have_ns, stacks_ns = collections.Counter(), collections.Counter(), collections.Counter()
        threads = firefox.threads()
        for thread in threads:
            for kind in firefox.ask("thread", "markers", "--thread", thread)["byType"]:
                have[kind["markerName"]] += kind["count"]
                have_ns[kind["markerName"]] += kind["count"] * kind["durationStats"]["avg"] * 1e6
            for function in firefox.ask("thread", "functions", "--thread", thread, "--limit", "0")["functions"]:
                stacks_ns[function["name"]] += function["totalSamples"] * 1e6
        want, want_ns, want_stacks_ns = collections.Counter(), collections.Counter(), collections.Counter()
        for thread in Profile(open(profile).read()).threads:
            for names, start, stop in thread.stacks:
                want_stacks_ns.update(dict.fromkeys(names, stop - start))
        for s, n in spans.items():
            want[s.name] += n
            if near:
                want_ns[s.name] += n * (s.stop - s.start)
        assert have == want, (path, have - want, want - have)
        for k in want_ns:
            assert abs(have_ns[k] - want_ns[k]) <= 1 and abs(stacks_ns[k] - want_stacks_ns[k]) <= 1, (path, k, have_ns[k], want_ns[k], stacks_ns[k])
        return sum(want.values()), len(threads), near


subprocess.run([make_extended, f"{work}/extended.bin"], check=True)
x.overlapping_gpu(f"{work}/overlap.bin")
paths = [f"{golden}/empty.bin", f"{golden}/gaps.bin", f"{work}/extended.bin", f"{work}/overlap.bin"]
seen = [check(path, os.path.basename(path)[:-4]) for path in paths]
print(f"firefox: {len(seen)} profiles opened, {sum(s[0] for s in seen)} markers of {sum(s[1] for s in seen)} threads, {sum(s[2] for s in seen)} profiles to the nanosecond")
assert any(s[2] and s[0] for s in seen)
