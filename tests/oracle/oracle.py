# SPDX-License-Identifier: Apache-2.0
"""What the commands say of files that hold everything: frozen, and compared byte for byte after each change.

A case is a line of shell words without a shell: commands of rbwp, with " && " between them, run in a folder with the inputs,
golden/ and bad/; what they write goes to out/. frozen/GROUP.txt has, for each case, the exit status, and size and SHA-256 (its first
half) of standard output, standard error and each file; short texts are there in whole, each once. All outputs are kept by their sums
in a folder of this machine ($RBWP_ORACLE, or ~/.cache/rbwp-oracle) when they are frozen, so that `compare` can show a difference.

What other software decides is no difference: outputs are unpacked before they are looked at, and the version's number is taken out.
"""
import base64
import concurrent.futures
import difflib
import gzip
import hashlib
import io
import os
import pathlib
import queue
import re
import shutil
import sqlite3
import struct
import subprocess
import sys
import tarfile
import tempfile
import zipfile
import zlib

HERE = pathlib.Path(__file__).resolve().parent
TESTS = HERE.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(TESTS / "python"))
import parquet_reader  # noqa: E402
from cases import groups  # noqa: E402

WHOLE_BYTES = 2000  # texts up to here stand in frozen/
SHOWN_LINES = 30
KEPT = {name: os.environ[name] for name in ("PATH", "GCOV_PREFIX") if name in os.environ}  # the latter: where coverage goes


# ---- outputs in a form that only our own code decides ----------------------------------------

def page(data):
    """A page's packed data, unpacked."""
    def unpacked(found):
        try:
            return zlib.decompress(base64.b64decode(found[0]), -15)
        except (zlib.error, ValueError):
            return found[0]
    return re.sub(rb"[A-Za-z0-9+/]{16,}={0,2}", unpacked, data)


def sql(value):
    """A value as SQL has it. SQLite's own quote() writes other digits of one float from version to version."""
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return f"X'{value.hex().upper()}'" if isinstance(value, bytes) else repr(value)


def database(path):
    """What made it, as sqlite3's iterdump() has it, of which each version of Python has its own."""
    with sqlite3.connect(path) as db:
        db.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
        made = db.execute("SELECT type = 'table', name, sql FROM sqlite_master WHERE sql NOT NULL").fetchall()
        lines = ["BEGIN TRANSACTION;"]
        for _, name, text in sorted(one for one in made if one[0]):
            lines.append(f"{text};")
            lines += [f'INSERT INTO "{name}" VALUES({",".join(map(sql, row))});' for row in db.execute(f'SELECT * FROM "{name}"')]
        lines += [f"{text};" for is_table, _, text in made if not is_table]
        return "\n".join([*lines, "COMMIT;"]).encode("utf-8", "surrogateescape")


def parquet(path):
    file = parquet_reader.File(path)
    lines = [f"{sorted(file.facts.items())} {file.created_by} {file.rows} rows"]
    for column in file.columns:
        lines.append(" ".join(f"{key}={value}" for key, value in sorted(vars(column).items())))
    return "\n".join(lines + [str(group[column.name]) for group in file.groups for column in file.columns]).encode("utf-8", "surrogateescape")


def packets(data):
    """A Perfetto trace: its packed packets are followed by what they hold."""
    def varint(at):
        value = shift = 0
        while True:
            value |= (data[at] & 127) << shift
            at, shift = at + 1, shift + 7
            if data[at - 1] < 128:
                return value, at
    out, at = b"", 0
    while at < len(data):
        start = at
        tag, at = varint(at)
        size, at = varint(at)
        inner, after = varint(at) if tag == 10 and size else (0, at)
        if inner == 50 << 3 | 2:
            out += zlib.decompress(data[varint(after)[1]:at + size])
        else:
            out += data[start:at + size]
        at += size
    return out


def plain(path):
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        return gzip.decompress(data)
    if data[:4] == b"PK\3\4":
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            assert archive.testzip() is None, path
            for member in archive.infolist():  # a sum is one of the version's number, too
                data = data.replace(struct.pack("<I", member.CRC), b"CRC ")
        return data
    if data[:15] == b"SQLite format 3":
        return database(path)
    if data[:4] == b"PAR1":
        return parquet(path)
    if path.suffix == ".html":
        return page(data)
    if path.suffix == ".perfetto":
        return packets(data)
    return data


# ---- running the cases -------------------------------------------------------------------------

def unpack(folder):
    """The inputs, by the names that the cases have for them."""
    folder.mkdir()
    with tarfile.open(HERE / "inputs.tar.xz") as tar:
        tar.extractall(folder, filter="data") if hasattr(tarfile, "data_filter") else tar.extractall(folder)
    for name in ("golden", "bad"):
        (folder / name).symlink_to(TESTS / name)


def run_case(rbwp, version, folder, case):
    """{part: bytes}: of the last command its exit status, of all of them what they wrote."""
    out = folder / "out"
    out.mkdir()
    said = {"exit": b"", "stdout": b"", "stderr": b""}
    for command in case.split(" && "):
        words, _, source = command.partition(" < ")
        stdin = open(folder / source, "rb") if source else subprocess.DEVNULL
        done = subprocess.run([rbwp, *words.split()[1:]], cwd=folder, stdin=stdin, capture_output=True, timeout=120,
                              env={**KEPT, "LC_ALL": "C.UTF-8", "TZ": "UTC", "HOME": "/nonexistent"})
        if source:
            stdin.close()
        said["exit"] = str(done.returncode).encode()
        said["stdout"] += done.stdout
        said["stderr"] += done.stderr
    # Neither archives, which are compressed, nor kept sums, which name the moment of their file, are anybody's to compare.
    for path in sorted(path for path in out.rglob("*") if path.is_file() and path.suffix not in (".rbwa", ".summary")):
        said[str(path.relative_to(folder))] = plain(path)
    shutil.rmtree(out)
    if " archive " in case:  # how small another library's compressor makes it
        said["stdout"] = re.sub(rb"[\d,]+ bytes from", b"N bytes from", said["stdout"])
    return {part: data.replace(version, b"VERSION") for part, data in said.items()}


def run_all(build, chosen):
    """{group: {case: {part: bytes}}}. build: its folder, or its rbwp."""
    rbwp = str((pathlib.Path(build) if os.path.isfile(build) else pathlib.Path(build) / "tools/rbwp").resolve())
    version = subprocess.run([rbwp, "version"], capture_output=True, check=True).stdout.split()[1]
    workers = min(os.cpu_count() or 1, 4)
    folders = queue.Queue()
    with tempfile.TemporaryDirectory() as work, concurrent.futures.ThreadPoolExecutor(workers) as pool:
        unpack(pathlib.Path(work) / "0")
        folders.put(pathlib.Path(work) / "0")
        for i in range(1, workers):
            folder = pathlib.Path(work) / str(i)
            shutil.copytree(pathlib.Path(work) / "0", folder, symlinks=True, copy_function=os.link)
            folders.put(folder)

        def one(case):
            folder = folders.get()
            try:
                return run_case(rbwp, version, folder, case)
            finally:
                folders.put(folder)

        made = {group: {case: pool.submit(one, case) for case in cases} for group, cases in chosen.items()}
        return {group: {case: job.result() for case, job in cases.items()} for group, cases in made.items()}


# ---- what is frozen ----------------------------------------------------------------------------

def sum_of(data):
    return hashlib.sha256(data).hexdigest()[:32]


def sums(parts):
    """{part: what identifies it}, but for silent ones."""
    return {part: data.decode() if part == "exit" else f"{len(data)} {sum_of(data)}" for part, data in parts.items() if data or part not in ("stdout", "stderr")}


def lines_of(case, parts, shown):
    """A case as frozen/ has it. shown: the texts that stand further up."""
    yield f"$ {case}"
    for part, checksum in sums(parts).items():
        yield f"  {part} {checksum}"
        data = parts[part]
        if part in ("stdout", "stderr") and len(data) <= WHOLE_BYTES and not data.startswith((b"{", b"[")) and data not in shown:
            shown.add(data)
            yield from ("    |" + line for line in data.decode("utf-8", "backslashreplace").removesuffix("\n").split("\n"))


def keep_folder():
    return pathlib.Path(os.environ.get("RBWP_ORACLE") or pathlib.Path.home() / ".cache/rbwp-oracle")


def freeze(build):
    folder = keep_folder()
    folder.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(HERE / "frozen", ignore_errors=True)
    (HERE / "frozen").mkdir()
    for group, cases in run_all(build, groups()).items():
        shown = set()
        (HERE / "frozen" / f"{group}.txt").write_text("".join(line + "\n" for case, parts in cases.items() for line in lines_of(case, parts, shown)))
        for parts in cases.values():
            for data in parts.values():
                (folder / sum_of(data)).write_bytes(data)
    print(f"frozen; the outputs in whole are in {folder}")


def frozen(group):
    """{case: {part: what identifies it}}"""
    path = HERE / "frozen" / f"{group}.txt"
    words = re.split(r"^\$ (.*)\n", path.read_text(), flags=re.M)[1:] if path.exists() else []
    return {case: dict(re.findall(r"^  (\S+) (.*)$", lines, re.M)) for case, lines in zip(words[::2], words[1::2])}


def readable(data):
    """Lines that a person can compare: long ones are cut at commas and tags, bytes that are no text are numbers."""
    if b"\0" in data:
        return [data[i:i + 16].hex(" ") for i in range(0, len(data), 16)]
    text = data.decode("utf-8", "backslashreplace")
    return [piece for line in text.splitlines() for piece in (re.split(r"(?<=[,>;])", line) if len(line) > 200 else [line])]


def show(case, before, parts):
    """How a case differs from what is frozen."""
    print(f"$ {case}")
    if before is None:
        print("  it is not frozen")
        return
    after = sums(parts)
    for part in {**after, **before}:
        then, now = before.get(part), after.get(part)
        if now == then:
            continue
        print(f"  {part}: {then or 'nothing'} -> {now or 'nothing'}")
        kept = keep_folder() / then.split()[1] if then and part != "exit" else None
        if part == "exit" or (kept and not kept.exists()):
            continue
        diff = list(difflib.unified_diff(readable(kept.read_bytes()) if kept else [], readable(parts.get(part, b"")), "frozen", "now", lineterm="", n=1))[2:]
        print("\n".join("    " + line[:200] for line in diff[:SHOWN_LINES]))
        if len(diff) > SHOWN_LINES:
            print(f"    ... and {len(diff) - SHOWN_LINES} lines more")


def compare(build, wanted, part, parts):
    """Whether all is as it was. wanted: parts of names of groups or of cases; none: all; of each so many that one."""
    chosen = {group: [case for case in cases if not wanted or any(word in f"{group}: {case}" for word in wanted)][part - 1::parts] for group, cases in groups().items()}
    different = total = left = 0
    for group, cases in run_all(build, chosen).items():
        before = frozen(group)
        for case, parts in cases.items():
            if b"without SQLite" in parts["stderr"]:
                left += 1
                continue
            total += 1
            if before.get(case) != sums(parts):
                different += 1
                show(case, before.get(case), parts)
    for group, cases in groups().items():
        for case in frozen(group).keys() - set(cases):
            different += 1
            print(f"$ {case}\n  it is frozen in {group}.txt, and no case any more")
    print(f"oracle: {total} cases, {different} differ" + (f"; {left} not run, this build is without SQLite" if left else ""))
    return different == 0 and total > 0
