#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gate.py PROGRAM RBWP [ROUNDS [FOLDER]]: how often `rbwp diff --threshold` errs on real runs. Each round runs bench_gate four times in a random
order: twice as it is, with one item 5 % slower, and with that 2 % slower. FOLDER keeps the recordings; those that it has are not made again.

Then 1,000 pairs of sides are drawn for each question: ten rounds in a row, and for each round a coin says which of the two equal runs
is of which side. The error rate's interval is Wilson's of 95 %, as if the pairs were independent; the coins are, rounds are in several."""
import concurrent.futures
import json
import math
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

import figure

KINDS = {"a": 0, "b": 0, "five": 5, "two": 2}
PAIRS, SIDE = 1000, 10
METRICS = {"mean": (), "p50": (), "net": ("five",)}


def record(program, folder, rounds):
    for number in range(rounds):
        for kind in random.sample(list(KINDS), len(KINDS)):
            path = folder / f"{number:04}_{kind}.bin"
            if not path.exists():
                flags = f"-bgworkprofile 1 -bgworkprofile_logfile {path}"
                subprocess.run([program, str(KINDS[kind])], env={**os.environ, "RBWP_FLAGS": flags}, check=True)


def diff(rbwp, metric, before, after):
    """What the gate says of two sides: its rows by name."""
    files = [word for side, paths in (("--before", before), ("--after", after)) for path in paths for word in (side, path)]
    by = [] if metric == "net" else ["--by", metric]
    done = subprocess.run([rbwp, "diff", "--json", "-j", "1", "--threshold", "1", *by, *files], capture_output=True)
    if done.returncode not in (0, 4):
        sys.exit(done.stderr.decode())
    said = json.loads(done.stdout)
    assert said["by"] == metric and said["judged"] and (done.returncode == 4) == (said["slower"] > 0)
    return {row["name"]: row for row in said["rows"]}


def sides(folder, count, kind):
    """Ten runs that are equal, and ten of a kind that ran in the same rounds."""
    first = random.randrange(count - SIDE + 1)
    before, after = [], []
    for number in range(first, first + SIDE):
        coins = random.sample("ab", 2)
        before.append(folder / f"{number:04}_{coins[0]}.bin")
        after.append(folder / f"{number:04}_{coins[1] if kind == 'equal' else kind}.bin")
    return before, after


def wilson(hits, of, z=1.96):
    share, room = hits / of, z * z / of
    middle, half = (share + room / 2) / (1 + room), z * (share * (1 - share) / of + room / of / 4) ** 0.5 / (1 + room)
    return 100 * (middle - half), 100 * (middle + half)


def share(name, hits, *target):
    figure.show(name, 100 * hits / PAIRS, "%", *target)
    print("         {} of {}, interval {:.2f} to {:.2f} %".format(hits, PAIRS, *wilson(hits, PAIRS)))


def best(runs, change, level):
    """The power of the best test of this level (Neyman, Pearson) that knows what an ordinary run takes, and how runs are distributed: as those of the
    pairs, of which runs are lists of logarithms, smoothed."""
    values = [value - statistics.median(pair) for pair in runs for value in pair]
    low, _, high = statistics.quantiles(values, n=4)
    width = max(0.9 * (high - low) / 1.35 * len(values) ** -0.2, 1e-6)
    kernels = random.choices(values, k=300)
    density = lambda at: math.log(1e-12 + sum(math.exp(-0.5 * ((at - value) / width) ** 2) for value in kernels))
    points = [random.gauss(value, width) for value in random.choices(kernels, k=2000)]
    gains = lambda shift: [density(at + shift - change) - density(at + shift) for at in points]
    equal, slower = gains(0), gains(change)
    sums = sorted(sum(random.choices(equal, k=SIDE)) for _ in range(50000))
    return statistics.fmean(sum(random.choices(slower, k=SIDE)) > sums[math.ceil(len(sums) * (1 - level)) - 1] for _ in range(5000))


def judge(rbwp, folder, count, metric, targets):
    """Of each question: pairs with a row that is called slower though it is not, and with the one that is."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for kind in ("equal", "five", "two"):
            drawn = [sides(folder, count, kind) for _ in range(PAIRS)]
            rows = list(pool.map(lambda pair: diff(rbwp, metric, *pair), drawn))
            slower = [{name for name, row in pair.items() if row["verdict"] == "slower"} for pair in rows]
            if kind == "equal":
                share(f"gate by {metric}, equal runs that fail", sum(map(bool, slower)), "at most", 1)
                seen = [100 * pair["encode"]["seen_from"] for pair in rows]
                logs = [[math.log(value) for side in "ab" for value in pair["encode"]["runs"][side]] for pair in rows[:100]]
                print(f"         it says that {statistics.median(seen):.2g} % would have been seen in half of the pairs")
            else:
                target = ("at least", 90) if kind in targets else ()
                share(f"gate by {metric}, {KINDS[kind]} % in one item, found", sum("encode" in names for names in slower), *target)
                others = sum(bool(names - {"encode"}) for names in slower)
                print(f"         and beside it another item in {others} pairs; a test that knew the noise would find "
                      f"{100 * best(logs, math.log1p(KINDS[kind] / 100), 0.01 / len(rows[0])):.1f} %")


def main():
    program, rbwp = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 100
    with tempfile.TemporaryDirectory() as work:
        folder = pathlib.Path(sys.argv[4] if len(sys.argv) > 4 else work)
        record(program, folder, rounds)
        print(f"{rounds} rounds of 4 runs, ten items, {PAIRS} pairs of {SIDE} and {SIDE} runs for each line, threshold 1 %")
        for metric, targets in METRICS.items():
            judge(rbwp, folder, rounds, metric, targets)


if __name__ == "__main__":
    main()
