# SPDX-License-Identifier: Apache-2.0
"""memcached_clients.py PORT - ten seconds: one client adds 100,000 keys a second, one asks for 30,000 at once now and then, two for one each
millisecond; these say how long it took."""
import multiprocessing
import socket
import sys
import time

STEP, AT_ONCE = 1000, 30000
END = time.monotonic() + 10


def request(client, text):
    begin = time.monotonic()
    client.sendall(text)
    while not client.recv(1 << 20).endswith(b"END\r\n"):
        pass
    return time.monotonic() - begin


def add(client):
    for first in range(0, 1 << 30, STEP):
        client.sendall(b"".join(b"set k%d 0 0 8 noreply\r\n01234567\r\n" % key for key in range(first, first + STEP)))
        if time.monotonic() > END:
            break
        time.sleep(STEP / 100000)


def ask_for_many(client):
    keys = b"get " + b" ".join(b"k%d" % key for key in range(AT_ONCE)) + b"\r\n"
    while time.monotonic() < END:
        request(client, keys)
        time.sleep(0.1)


def ask_for_one(client):
    times = []
    while time.monotonic() < END:
        times.append(request(client, b"get k1\r\n"))
        time.sleep(0.001)
    times.sort()
    print(f"of {len(times)} requests half took at most {times[len(times) // 2] * 1e3:.2f} ms, ten took {times[-10] * 1e3:.0f} to {times[-1] * 1e3:.0f} ms")


def run(what):
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as client:
        what(client)


clients = [multiprocessing.Process(target=run, args=(what,)) for what in (ask_for_one, ask_for_one, ask_for_many, add)]
for client in clients:
    client.start()
for client in clients:
    client.join()
