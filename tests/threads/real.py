#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""real.py TOPIC - programs that must have one thread, or whose children do the work, give the same exit status and output under
rbwp record --what threads as without, and each child that works has its file. 77: the topic's program is not here."""
import getpass
import glob
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import recorded

RBWP = os.environ["RBWP"]
ENVIRONMENT = {**os.environ, "RBWP_THREADS": os.environ["THREADS"]}


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def need(program, places="/nowhere"):
    found = shutil.which(program) or next(iter(sorted(glob.glob(f"{places}/{program}"))), None)
    return found or skip(f"{program} is not installed")


def recording(folder, *words, name="out-%p.bin"):
    return [RBWP, "record", "--what", "threads", "-f", "-o", folder / name, "--", *words]


def await_that(what, seconds=30):
    for _ in range(seconds * 100):
        if what():
            return
        time.sleep(0.01)
    raise TimeoutError


def expect_same(folder, *words):
    """Plain and recorded, with a name for each process and with one for all."""
    plain = subprocess.run(words, capture_output=True, text=True, timeout=120)
    if plain.returncode != 0:
        skip(f"{words[0]} does not run here: {plain.stderr.strip()[-200:]}")
    for name in "out-%p.bin", "out.bin":
        done = subprocess.run(recording(folder, *words, name=name), capture_output=True, text=True, timeout=180, env=ENVIRONMENT)
        assert (done.returncode, done.stdout) == (0, plain.stdout), (name, done)
    assert list(folder.glob("out-*.bin")), list(folder.iterdir())


def test_unshare(folder):
    expect_same(folder, need("unshare"), "-U", "true")


def test_bwrap(folder):
    expect_same(folder, need("bwrap"), "--ro-bind", "/", "/", "--dev", "/dev", "--unshare-all", "sh", "-c", "echo inside")


def test_chromium(folder):
    browser = shutil.which("chromium-browser") or need("chromium")
    expect_same(folder, browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/data", "--dump-dom",
                "data:text/html,<p>a page</p>")


def has_waits(folder, process):
    """Its file is whole, once it has ended."""
    file = folder / f"out-{process}.bin"
    await_that(lambda: file.exists() and not pathlib.Path(f"{file}.live").exists())
    return len(recorded.Recording(file).waits) > 0


def title_of(folder, process):
    shown = subprocess.run([RBWP, "processes", "--json", folder / f"out-{process}.bin"], capture_output=True, text=True, check=True)
    return json.loads(shown.stdout)["name"]


def as_user(name):
    return {"user": name, "group": name, "extra_groups": []} if os.getuid() == 0 else {}


def test_postgresql(folder):
    places = "/usr/lib/postgresql/*/bin"
    postgres, initdb, psql = need("postgres", places), need("initdb", places), need("psql", places)
    user, environment = as_user("postgres"), ENVIRONMENT
    command = recording(folder, postgres, "-D", folder / "data", "-k", folder, "-c", "listen_addresses=")
    if user:
        shutil.chown(folder, "postgres", "postgres")
        folder.chmod(0o755)
        command[0] = shutil.copy(RBWP, folder)  # from where the user postgres may not go
        environment = {**ENVIRONMENT, "RBWP_THREADS": shutil.copy(ENVIRONMENT["RBWP_THREADS"], folder)}
    subprocess.run([initdb, "-D", folder / "data", "-A", "trust", "-N", "--no-instructions"], check=True, stdout=subprocess.DEVNULL,
                   **user)
    server = subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.DEVNULL, **user)
    ask = [psql, "-h", folder, "-U", user.get("user", getpass.getuser()), "-d", "postgres", "-Atc", "select pg_backend_pid()"]
    await_that(lambda: subprocess.run(ask, capture_output=True, **user).returncode == 0)
    backends = [int(subprocess.run(ask, capture_output=True, text=True, check=True, **user).stdout) for _ in range(3)]
    server.send_signal(signal.SIGTERM)
    assert server.wait(60) == 0, server.returncode
    assert len(set(backends)) == 3 and all(has_waits(folder, backend) for backend in backends), backends
    titles = [title_of(folder, backend) for backend in backends]
    assert all(title.startswith("postgres: ") and "[local]" in title for title in titles), titles


NGINX = """
worker_processes 2;
daemon {daemon};
pid {folder}/pid;
error_log {folder}/errors;
events {{ worker_connections 64; }}
http {{
    access_log off;
    client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3;
    uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
    server {{ listen unix:{folder}/socket; return 200 "worker $pid\\n"; }}
}}
"""


def ask_nginx(folder):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(10)
        connection.connect(f"{folder}/socket")
        connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
        text = b""
        while piece := connection.recv(4096):
            text += piece
    return int(re.search(rb"worker (\d+)", text)[1])


def children_of(process):
    return [int(text) for text in pathlib.Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def test_nginx(folder):
    """In the foreground, and as a daemon, whose master forks its workers before it waits."""
    nginx = need("nginx", "/usr/sbin")
    folder.chmod(0o777)
    for daemon in "off", "on":
        (folder / "conf").write_text("user root;" * (os.getuid() == 0) + NGINX.format(folder=folder, daemon=daemon))
        server = subprocess.Popen(recording(folder, nginx, "-p", folder, "-c", folder / "conf"), env=ENVIRONMENT, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        await_that(lambda: (folder / "socket").exists() and (folder / "pid").exists() and (folder / "pid").read_text().strip())
        master = int((folder / "pid").read_text())
        await_that(lambda: len(children_of(master)) == 2)
        workers = children_of(master)
        assert {ask_nginx(folder) for _ in range(5)} <= set(workers), workers
        os.kill(master, signal.SIGTERM)
        assert server.wait(60) == 0, server.returncode
        assert all(has_waits(folder, process) for process in workers), (daemon, workers)
        assert {title_of(folder, process) for process in workers} == {"nginx: worker process"}, workers


def test_redis(folder):
    """Debian's redis-tools has the server's program as well, by the name of redis-check-rdb."""
    server, client = shutil.which("redis-server") or need("redis-check-rdb"), need("redis-cli")
    (folder / "redis-server").symlink_to(server)
    done = subprocess.run(recording(folder, folder / "redis-server", "--daemonize", "yes", "--port", "0", "--unixsocket", folder / "socket",
                                    "--pidfile", folder / "pid", "--save", "", "--dir", folder), env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 0 and not done.stdout, done
    await_that(lambda: (folder / "socket").exists() and (folder / "pid").exists() and (folder / "pid").read_text().strip())
    daemon = int((folder / "pid").read_text())
    for words in ["set", "a", "b"], ["shutdown", "nosave"]:
        subprocess.run([client, "-s", folder / "socket", *words], check=True, stdout=subprocess.DEVNULL)
    assert has_waits(folder, daemon)


for topic in sys.argv[1:]:
    with tempfile.TemporaryDirectory() as name:
        globals()[f"test_{topic}"](pathlib.Path(name))
print("threads real: all passed")
