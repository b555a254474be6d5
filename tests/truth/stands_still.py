# SPDX-License-Identifier: Apache-2.0
"""stands_still.py [KIND...] - threads that stand still in Python functions, each kind on one of its own, ROUNDS times one after the
other; forever: until it is killed.

Prints a line of JSON for each time: kind, the system's number of the thread, when (ns since 1970), and the functions that the thread
was in, the innermost first: name, file, lines that it may have been at."""
import json
import socket
import sys
import threading
import time

ROUNDS, NS = 2, 450_000_000
KINDS = ("sleep", "lock", "read", "busy", "called", "generator", "deep", "überall", "眠る")
printing = threading.Lock()


def forever():
    return "forever" in sys.argv


def seconds():
    return 1000 if forever() else NS / 1e9


def note(kind, began, lines=1):
    """Of the caller, whose line before this call's, or so many of them, it stood still in."""
    frame, chain = sys._getframe(1), []
    while frame:
        line = frame.f_lineno
        chain.append((getattr(frame.f_code, "co_qualname", ""), frame.f_code.co_filename, list(range(line - lines, line)) if not chain else [line]))
        frame = frame.f_back
    with printing:
        print(json.dumps([kind, threading.get_native_id(), began, time.time_ns(), chain]), flush=True)


class Kinds:
    def sleep(self):
        began = time.time_ns()
        time.sleep(seconds())
        note("sleep", began)

    def lock(self):
        lock = threading.Lock()
        lock.acquire()
        began = time.time_ns()
        lock.acquire(timeout=seconds())
        note("lock", began)

    @staticmethod
    def read():
        here, there = socket.socketpair()
        threading.Timer(seconds(), there.send, [b"x"]).start()
        began = time.time_ns()
        here.recv(1)
        note("read", began)

    def busy(self):
        began = time.time_ns()
        until = began + (4 * NS if not forever() else 1 << 60)
        while time.time_ns() < until:
            pass
        note("busy", began, 2)

    def called(self):
        def key(number):  # by C
            began = time.time_ns()
            time.sleep(seconds())
            note("called", began)

        sorted([1], key=key)

    def generator(self):
        def numbers():
            for number in range(1):
                began = time.time_ns()
                # Three lines
                # between two others: such a difference
                # has a form of its own.
                time.sleep(seconds())
                note("generator", began)
                yield number

        for _ in numbers():
            pass

    def deep(self, depth=200):
        if depth:
            self.deep(depth - 1)
        else:
            began = time.time_ns()
            time.sleep(seconds())
            note("deep", began)

    def überall(self):
        began = time.time_ns()
        time.sleep(seconds())
        note("überall", began)

    def 眠る(self):
        began = time.time_ns()
        time.sleep(seconds())
        note("眠る", began)


def middle(inner):
    return inner()


def outer(inner):
    for _ in range(ROUNDS):
        middle(inner)


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "forever"] or KINDS
    threads = [threading.Thread(target=outer, args=(getattr(Kinds(), word),)) for word in words]
    for thread, word in sorted(zip(threads, words), key=lambda pair: pair[1] == "busy"):
        if word == "busy" and not forever():  # alone: no other thread asks it for the interpreter
            for other in threads:
                other is not thread and other.join()
        thread.start()
