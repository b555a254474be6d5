# SPDX-License-Identifier: Apache-2.0
"""memcached_clients.py PORT - three clients set and get a value of 200 KB for six seconds, a fourth adds 300,000 keys."""
import socket
import sys
import threading
import time

VALUE = b"x" * 200000


def connect():
    client = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    return client, client.makefile("rb")


def large():
    client, answers = connect()
    end, worst = time.monotonic() + 6, 0
    while time.monotonic() < end:
        begin = time.monotonic()
        client.sendall(b"set large 0 0 %d\r\n%s\r\nget large\r\n" % (len(VALUE), VALUE))
        while answers.readline() != b"END\r\n":
            pass
        worst = max(worst, time.monotonic() - begin)
    print(f"the slowest set and get took {worst * 1e3:.1f} ms")


def grow():
    client, answers = connect()
    for first in range(0, 300000, 1000):
        client.sendall(b"".join(b"set k%d 0 0 8 noreply\r\n01234567\r\n" % key for key in range(first, first + 1000)))
    client.sendall(b"version\r\n")
    answers.readline()


threads = [threading.Thread(target=run) for run in (large, large, large, grow)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
