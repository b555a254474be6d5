# SPDX-License-Identifier: Apache-2.0
"""What a run would have been like. Guards: the run as it was takes as long as it did; calls that were handed over go to any worker, own time
is scaled; without an explanation of the run there is no answer, and it is said why."""
import pytest
from why_make import COMPACTION, MS, Recording


@pytest.fixture(scope="module")
def pool(shared):
    """t1 hands over six calls of 20 ms, with a parse of 8 ms in each, to t2 and t3."""
    made = Recording().call(1, 0, 10, COMPACTION)
    for i in range(6):
        made.call(2 + i % 2, 10 + i // 2 * 20, 20, queued=9, sub=[(2, 8)])
    return made.write(shared / "pool.bin")


@pytest.mark.parametrize("words, ms", [(["--what-if", "request=0.5"], 10 + 3 * 14), (["--what-if=request:parse=0.25"], 10 + 3 * 14), (["--what-if", "parse=0"], 10 + 3 * 12),
                                       (["--workers=3"], 50), (["--workers=1"], 130), (["--what-if", "request=0.5", "--workers", "6"], 24 + 1),
                                       (["--what-if", "compaction=2"], 80 - 1)])
def test_one_thing_is_changed(rbwp, pool, words, ms):
    got = rbwp("why", "--json", *words, pool).json
    same, changed = got["rows"]
    assert (got["schema"], got["workers"]) == ("rbwp-what-if-1", 2)
    assert (same["recorded"], same["replayed"], same["change"], same["explained"]) == (70 * MS, 70 * MS, 0, 1)
    assert abs(changed["replayed"] - ms * MS) <= 1 * MS, (changed, ms)
    assert changed["change"] == pytest.approx(changed["replayed"] / same["replayed"] - 1, abs=1e-6)


def test_text(rbwp, pool):
    assert rbwp("why", "--what-if", "parse=0.5", pool).lines == [
        "   recorded   replayed   change      bound explained  what",
        "   70.00 ms   70.00 ms     0.0%       0 ns    100.0%  as it was",
        "   70.00 ms   58.00 ms   -17.1%   12.00 ms    100.0%  parse=0.5"]
    assert rbwp("why", "--what-if", "parse=0.5", "--csv", "rows", pool).lines[0] == "recorded,replayed,change,bound,explained,what"


def test_no_answer_without_an_explanation(rbwp, work):
    """A pause between calls may be anything."""
    path = Recording().call(1, 0, 50).call(1, 60, 30).write(work / "gap.bin")
    rbwp("why", "--what-if", "request=0.5", path, code=1).says("no answer: only 88.9 % of the critical path is explained, 90 % are needed")
    path = Recording().call(1, 0, 60).call(1, 66, 30).write(work / "less.bin")
    assert rbwp("why", "--what-if", "request=0.5", "--json", path).json["rows"][1]["replayed"] == 51 * MS


def test_refused(rbwp, pool, work):
    rbwp("why", "--what-if", "nothing=0.5", pool, code=1).says("nothing is called like that")
    rbwp("why", "--what-if", "compaction:other=0.5", pool, code=1).says("nothing is called like that")
    rbwp("why", "--gpu-launch=0", pool, code=1).says("no launch is recorded")
    rbwp("why", "--workers", "2", Recording().call(1, 0, 60).write(work / "none.bin"), code=1).says("no call is recorded as handed over")
    for word in ("request", "=2", "request=-1", "request=x", "request=nan"):
        rbwp("why", "--what-if", word, pool, code=2)
    rbwp("why", "--what-if", "request=2", Recording().write(work / "empty.bin"), code=1)
