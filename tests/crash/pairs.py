#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pairs.py [FIRST SECOND | --share I/N]: lets two faults meet in one process; all pairs of the table in pairs.c,
or each N-th from the I-th on.

A fault alone is what other tests are about; here each meets each other one: the second after the first, or,
where the first is "stop", while the session is being stopped. After each pair:

- the process ends as it should, and not by hanging;
- FILE, or FILE and FILE.live through rbwp repair, is a file that the independent strict reader accepts, and
  that has no problem for the other one;
- no record is lost in silence: those found and those reported as lost are together all whose call had returned,
  and nothing is there that was not recorded;
- what the program captures of its GPU work is whole;
- "nothing lost" (exit status 0 of repair) is said only when nothing is.

From the environment: PAIRS, RBWP, FAKE (the library that plays the GPU's driver).
"""
import concurrent.futures
import os
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
import rbwp_reader  # noqa: E402

# Of what the program tells in its machine's words (RBWP_BYTE_ORDER: that of one that is emulated).
ORDER = {"big": ">", "little": "<"}[os.environ.get("RBWP_BYTE_ORDER", sys.byteorder)]
HANGS_AFTER_SECONDS = 60 * int(os.environ.get("RBWP_TIMES_AS_LONG", "1"))
PAIRS, RBWP, FAKE = (os.environ[name] for name in ("PAIRS", "RBWP", "FAKE"))
TALLY = struct.Struct(ORDER + "QQQQQqqQQ256sqq")
CRASHES = ("kill", "_exit", "exec")
CALLS_IN_FLIGHT = 4
CAPTURED = 3  # things in the program's capture, each in a bracket that is counted as lost
# Causes that are records, and no wrong calls. GPU work that was pending is both, by the tally's "maybe".
LOST = tuple(rbwp_reader.CAUSES_OF_LOST_RECORDS) + (12, 13)


class Outcome:
    """What there is after a pair."""

    def __init__(self, folder, pair, status, output):
        self.folder, self.pair, self.status, self.output = folder, pair, status, output
        (self.made, self.least, self.maybe, self.refused_writes, self.refused_space, self.stopped,
         self.stop_status, self.kept, self.lost, text, self.capturing,
         self.captured) = TALLY.unpack(open(self.path("tally"), "rb").read())
        self.text = text.split(b"\0")[0].decode()
        self.least = self.least or self.made
        self.most = self.made + self.maybe + (CALLS_IN_FLIGHT if self.crashed else 0)

    def path(self, name):
        return os.path.join(self.folder, name)

    def has(self, *faults):
        return any(fault in self.pair for fault in faults)

    @property
    def crashed(self):
        return self.has(*CRASHES)


def whole_file(outcome):
    """The path of FILE, or of what repair makes of it and FILE.live, and repair's status, None if not run."""
    profile = next((outcome.path(name) for name in ("moved.bin", "pairs.bin")
                    if os.path.exists(outcome.path(name))), outcome.path("pairs.bin"))
    live = outcome.path("pairs.bin.live")
    if not os.path.exists(live) and not outcome.has("cut"):
        return profile, None
    options = ["--live", live] if os.path.exists(live) else []
    whole = outcome.path("whole.bin")
    done = subprocess.run([RBWP, "repair", *options, profile, "-o", whole], capture_output=True, text=True)
    assert done.returncode in (0, 1, 3), f"repair: exit {done.returncode}: {done.stderr}"
    outcome.repair_says = (done.stdout + done.stderr).strip()
    return whole, done.returncode


def told_lost(parsed):
    return sum(loss["count"] for loss in parsed["losses"] if loss["cause"] in LOST)


def check_end(outcome):
    expected = -9 if outcome.has("kill") else 0
    assert outcome.status == expected, f"ended with {outcome.status} instead of {expected}: {outcome.output}"
    if outcome.has("full") and not outcome.crashed and not outcome.has("remove"):
        assert outcome.refused_writes > 0, "the disk was not full"


def check_summary(outcome):
    """What rbwp_session_stop said is true: kept and lost are all."""
    if not outcome.stopped or outcome.has("cut", "remove"):
        return
    total = outcome.kept + outcome.lost
    assert outcome.least <= total <= outcome.most, \
        f"stop told {outcome.kept} kept and {outcome.lost} lost, of {outcome.least} to {outcome.most}"
    caught = outcome.pair[0] == "stop" and outcome.has("reap", "capture")  # what a stop overtook is reported as lost
    if not caught and not outcome.has("full", "error", "size-limit", "stall", "cap", "signal", "pending"):
        expected = (0, CAPTURED) if outcome.has("capture") else (0,)
        assert outcome.lost in expected and outcome.stop_status == 0, f"lost {outcome.lost}: {outcome.text}"


def check_capture(outcome):
    """Nothing disturbs what the program captures, whatever happens beside it."""
    if outcome.has("capture") and not outcome.crashed:
        assert outcome.capturing, "nothing was captured"
        assert outcome.captured == CAPTURED, f"the capture has {outcome.captured} things instead of {CAPTURED}"


def nothing_missing(outcome, path):
    """The cut met a file of a header alone, which it does not shorten: all that came later is there."""
    try:
        data = open(path, "rb").read()
        return rbwp_reader.parse_strict(data)["record_count"] + told_lost(rbwp_reader.parse(data)) >= outcome.least
    except (OSError, rbwp_reader.Refused):
        return False


def check_taken_away(outcome, path, repaired):
    """The file was removed or cut by somebody: nobody says that all is well."""
    if outcome.stopped:
        word = "removed" if outcome.has("remove") else "cut"
        late = outcome.pair[0] == "stop"  # what happens after the file was looked at is not seen
        reported = outcome.stop_status != 0 and (word in outcome.text or outcome.has("full", "error", "size-limit"))
        # Cut just before a write that was on its way: the hole in it is seen by who reads.
        assert late or reported or repaired in (1, 3) or nothing_missing(outcome, path), \
            f"stop: {outcome.stop_status} {outcome.text}, kept {outcome.kept}, lost {outcome.lost}, at least " \
            f"{outcome.least}; repair: {repaired} {getattr(outcome, 'repair_says', '')}"
    elif outcome.crashed:
        assert repaired in (1, 3), f"repair said {repaired} of a file that is gone or cut: {outcome.repair_says}"


def check_records(outcome, path, repaired):
    data = open(path, "rb").read()
    try:
        found = rbwp_reader.parse_strict(data)["record_count"]
    except rbwp_reader.Refused as refused:
        raise AssertionError(f"strict reader: {refused}") from None
    parsed = rbwp_reader.parse(data)
    assert not parsed["problems"], f"reader: {parsed['problems'][:3]}"
    if outcome.has("cut", "remove"):  # nobody can know how much
        assert found <= outcome.most, f"found {found} of at most {outcome.most}"
        return
    lost = told_lost(parsed)
    assert found <= outcome.most, f"found {found} of at most {outcome.most}"
    assert found + lost >= outcome.least, \
        f"found {found}, told {lost} lost, of at least {outcome.least} (repair {repaired})"
    if not outcome.crashed:
        assert found + lost <= outcome.most, f"found {found}, told {lost} lost, of at most {outcome.most}"
    assert repaired != 0 or found >= outcome.least - told_lost(parsed), "repair says that nothing is lost"


def meet(pair):
    """None, or what is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            try:
                done = subprocess.run([PAIRS, folder, *pair, FAKE], capture_output=True, text=True, timeout=HANGS_AFTER_SECONDS)
            except subprocess.TimeoutExpired:
                raise AssertionError("hangs") from None
            outcome = Outcome(folder, pair, done.returncode, done.stdout + done.stderr)
            check_end(outcome)
            check_summary(outcome)
            check_capture(outcome)
            path, repaired = whole_file(outcome)
            if outcome.has("remove", "cut"):
                check_taken_away(outcome, path, repaired)
            if os.path.exists(path):
                check_records(outcome, path, repaired)
            else:
                assert outcome.has("remove", "cut"), f"no file: {getattr(outcome, 'repair_says', '')}"
        except AssertionError as wrong:
            return str(wrong)
    return None


def all_pairs():
    lines = subprocess.run([PAIRS, "--list"], capture_output=True, text=True, check=True).stdout.split("\n")
    kinds = dict(line.split() for line in lines if line)
    faults = [name for name, kind in kinds.items() if kind != "ending"]
    endings = [name for name, kind in kinds.items() if kind == "ending"]
    pairs = [(a, b) for i, a in enumerate(faults) for b in faults[i + 1:]]
    pairs += [(fault, ending) for fault in faults for ending in endings]
    pairs += [("stop", other) for other in faults + endings if other != "stop"]
    return pairs


def main():
    if sys.argv[1:2] == ["--share"]:
        part, parts = map(int, sys.argv[2].split("/"))
        pairs = all_pairs()[part - 1::parts]
    else:
        pairs = [tuple(sys.argv[1:3])] if len(sys.argv) > 2 else all_pairs()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() + 2) as pool:
        wrong = [(pair, what) for pair, what in zip(pairs, pool.map(meet, pairs)) if what]
    for pair, what in wrong:
        print(f"{pair[0]} x {pair[1]}: {what}")
    print(f"{len(pairs)} pairs, {len(wrong)} wrong")
    sys.exit(1 if wrong else 0)


main()
