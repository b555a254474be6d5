#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cpu_times.py RBWP [NAME...] - what `rbwp record --what threads` says that the threads of unmodified programs ran, beside the
kernel's own count of each (/proc/PID/task/TID/schedstat, read until it ends). Twice as many threads as processors are busy: zstd,
a loop of OpenMP (libgomp) and one of oneTBB, MariaDB under mysqlslap and nginx under ab, which compute, and which wait all the time.
What is not installed is named."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import figure

LEAST_NS = 400_000_000  # of a thread that is compared: what it ran behind the last reading is missing
BUSY = 2 * len(os.sched_getaffinity(0))
PORT = 8931
WORK = "volatile double x = i; for (int k = 0; k < 200000; k++) x = x * 1.0000001 + k;"
OPENMP = "int main(void) {\n#pragma omp parallel for schedule(dynamic, 16)\nfor (int i = 0; i < 60000; i++) { %s }\nreturn 0; }\n" % WORK
TBB = """#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
int main() { tbb::global_control threads(tbb::global_control::max_allowed_parallelism, %d);
tbb::task_arena arena(%d);
arena.execute([] { tbb::parallel_for(0, 15000, [](int i) { %s }); }); }
""" % (BUSY, BUSY, WORK)


def zstd(folder):
    (folder / "numbers").write_text("".join(f"{i * i}\n" for i in range(4_000_000)))
    return ["zstd", "-q", "-12", f"-T{BUSY}", folder / "numbers", "-o", folder / "out"]


def compiled(folder, name, text, *command):
    (folder / name).write_text(text)
    subprocess.run([*command, "-O2", "-o", folder / "program", folder / name, *(["-ltbb"] if name == "tbb.cc" else [])], check=True)
    return [folder / "program"]


def openmp(folder):
    return compiled(folder, "openmp.c", OPENMP, "gcc", "-fopenmp", "-Wno-unknown-pragmas")


def tbb(folder):
    return compiled(folder, "tbb.cc", TBB, "g++")


def mariadb(folder):
    subprocess.run(["mariadb-install-db", "--no-defaults", f"--datadir={folder}/data", "--user=root", "--auth-root-authentication-method=normal"],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return ["mariadbd", "--no-defaults", f"--datadir={folder}/data", f"--socket={folder}/socket", "--skip-networking", "--user=root"]


def slap(folder, *words):
    subprocess.run(["mysqlslap", "--no-defaults", "-uroot", f"--socket={folder}/socket", f"--concurrency={BUSY}", *words], check=True, stdout=subprocess.DEVNULL)


def compute(folder):
    slap(folder, f"--number-of-queries={BUSY * 12}", "--create-schema=test", "--no-drop", "--query=select benchmark(3000000, crc32('a text'))")


def ask_little(folder):
    slap(folder, f"--number-of-queries={BUSY * 2000}", "--auto-generate-sql", "--auto-generate-sql-load-type=mixed")


def nginx(folder):
    (folder / "page").write_text("a page\n" * 500)
    (folder / "pages").write_text("".join(f"{i * i}\n" for i in range(100_000)))
    (folder / "conf").write_text(f"daemon off; worker_processes {BUSY}; pid {folder}/socket; user root; error_log /dev/null; events {{ accept_mutex off; }}\n"
                                 f"http {{ access_log off; gzip_types *; server {{ listen 127.0.0.1:{PORT} reuseport; root {folder};\n"
                                 "location /pages { gzip on; gzip_min_length 1; } } }\n")
    return ["nginx", "-c", folder / "conf", "-p", folder]


def get(page):
    subprocess.run(["ab", "-q", "-k", "-t", "12", "-n", "10000000", "-c", str(4 * BUSY), "-H", "Accept-Encoding: gzip", f"http://127.0.0.1:{PORT}/{page}"],
                   check=True, stdout=subprocess.DEVNULL)


# What it is, and what loads it once it has a socket (a file of nginx that is made when it listens): none ends by itself.
MARIADB, NGINX = ["mariadbd", "mariadb-install-db", "mysqlslap"], ["nginx", "ab"]
PROGRAMS = {"zstd": (zstd, None, ["zstd"]), "OpenMP": (openmp, None, ["gcc"]), "TBB": (tbb, None, ["g++"]), "MariaDB": (mariadb, compute, MARIADB),
            "nginx": (nginx, lambda _: get("pages"), NGINX), "MariaDB, short queries": (mariadb, ask_little, MARIADB),
            "nginx, short replies": (nginx, lambda _: get("page"), NGINX)}


def read_counts(pid, ran):
    """Of that process's threads, and of its children's."""
    try:
        for task in os.scandir(f"/proc/{pid}/task"):
            ran[int(task.name)] = int(pathlib.Path(task.path, "schedstat").read_text().split()[0])
            for child in pathlib.Path(task.path, "children").read_text().split():
                read_counts(child, ran)
    except (OSError, IndexError, ValueError):
        pass  # it has ended meanwhile


def watch(recording, ran):
    """With no wait for a processor, if that is allowed: a thread runs on behind the last reading until it ends."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except OSError:
        pass
    while recording.poll() is None:
        read_counts(recording.pid, ran)
        time.sleep(0.003)


def run(rbwp, name, folder):
    """By thread what the kernel counted, and what the recordings say: it ran, and how much of that is in no run interval that is known."""
    make, load, _ = PROGRAMS[name]
    command, ran = make(folder), {}
    recording = subprocess.Popen([rbwp, "record", "--what", "threads", "-o", folder / "trace.%p.bin", "--", *command], stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL, env=os.environ | {"OMP_NUM_THREADS": str(BUSY)})
    watcher = threading.Thread(target=watch, args=(recording, ran))
    watcher.start()
    try:
        while load and not (folder / "socket").exists() and recording.poll() is None:
            time.sleep(0.01)
        if load:
            load(folder)
    finally:
        if load:
            recording.send_signal(signal.SIGTERM)
    watcher.join()
    said = {}
    for file in folder.glob("trace*.bin"):
        for thread in json.loads(subprocess.check_output([rbwp, "stats", "--json", file]))["threads"]:
            said[thread["os_id"]] = (thread["running"], thread.get("running_outside", 0))
    return {tid: (ns, *said[tid]) for tid, ns in ran.items() if ns > LEAST_NS and tid in said}


def main(rbwp, names):
    for name in names or PROGRAMS:
        missing = [program for program in PROGRAMS[name][2] if not shutil.which(program)]
        if missing:
            print(f"not here: {', '.join(missing)}, so not {name}")
            continue
        with tempfile.TemporaryDirectory() as folder:
            threads = run(rbwp, name, pathlib.Path(folder))
        figure.show(f"{name}, threads that are compared", len(threads), "", "at least", BUSY)
        if not threads:
            continue
        off = [100 * (running / ran - 1) for ran, running, _ in threads.values()]
        print(f"  from {min(off):+.2f} to {max(off):+.2f} %, load {os.getloadavg()[0]:.0f}")
        figure.show(f"{name}, in no run interval that is known", 100 * sum(each[2] for each in threads.values()) / sum(each[0] for each in threads.values()), "% of the CPU time")
        figure.show(f"{name}, CPU time of a thread, off by at most", max(map(abs, off)), "%", "at most", 2)


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]), sys.argv[2:])
