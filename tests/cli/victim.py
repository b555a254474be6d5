# SPDX-License-Identifier: Apache-2.0
"""live_victim.c while it runs: it records a command a byte into its file."""
import os
import subprocess


class Victim:
    """Has ended its first tick when it is made."""

    def __init__(self, command, path, flags=None):
        self.path = str(path)
        environment = None if flags is None else {**os.environ, "RBWP_FLAGS": flags}
        self.process = subprocess.Popen([*command, self.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        self.pid = str(self.process.pid)
        self.record(b"t")

    def record(self, commands):
        """And waits until it has."""
        self.process.stdin.write(commands)
        self.process.stdin.flush()
        assert self.process.stdout.read(len(commands)) == commands, commands

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(60) == 0

    def kill(self):
        self.process.kill()
        self.process.wait()
