#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A node that is killed or gives no sign of life is named on every other node, by the call that
waits and by the callback; the others end their files as ever, and those of the lost one can be repaired."""
import tempfile

import mpirun

NODES = 4  # node 1 is no neighbour of the last one, and hears of its silence from others


def check(mode, why):
    with tempfile.TemporaryDirectory() as folder:
        _, lines, text = mpirun.run(NODES, mode, folder, keep_launcher_blind=True)
        for node in range(NODES - 1):
            assert "session ends with 0" in lines[node], text
            said = lines[node][: lines[node].index("session ends with 0")]  # behind it the survivors leave, one by one
            assert any(line.startswith("quiesce: ") and f"node {NODES - 1} " in line for line in said), text
            loss_lines = [line for line in said if line.startswith("told that node")]
            assert len(loss_lines) == 1 and loss_lines[0].startswith(f"told that node {NODES - 1} is lost: ") and why in loss_lines[0], text
            mpirun.rbwp("check", f"{folder}/node_{node}.bin")
        lost = f"{folder}/node_{NODES - 1}.bin"
        mpirun.rbwp("repair", lost, "-o", folder + "/repaired.bin")
        mpirun.rbwp("check", folder + "/repaired.bin")


check("dies", "it ended without leaving the job")
check("silent", "it gave no sign of life for 1.0 s")
