#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""walls.py SOURCE BUILD - the walls between the rooms stand: a wrong include or call is found.

Reads the table of rooms (cmake/rooms.txt), as the build does, and looks at what was really built:
the commands by which each room's files were compiled, and the names in their objects. For each room:
- it finds the headers that the rooms show which it may see, and no other room's;
- the compiler itself does not find what it must not see: the private headers of all others, and what those show to others;
- every function and variable that it takes from the project is one of a room that it may see;
- no include goes round the include path, but those of a room's own lists (.def);
- one object more, which takes something of every room, is found to be wrong for each that it must not see.
And the table has no circles, no file stands outside of a room, and no more than two files take names of each other in a circle.
"""
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

STREETS = {"tools/main.c"}  # of no room: it joins them
# Whose functions stand in for the C library's, which others mean; and what the names of their own begin with.
PRELOADED = {"runtime/threads": ("wait_", "waiter_", "wakes_", "real_"), "gpu/inject": ("inject_", "nvtx_")}
OPTIONAL = "runtime/jobs/mpi", "runtime/threads"  # whose objects are there if an MPI library is, or glibc


def read_table(path):
    """{room: rooms that it sees}, in the order of the file."""
    rooms = {}
    for line in path.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            room, _, seen = line.partition(":")
            for other in seen.split():
                if other not in rooms:
                    sys.exit(f"rooms.txt: {room} sees {other}, which does not stand above it")
            rooms[room] = seen.split()
    return rooms


class Room:
    def __init__(self, source, name, entries):
        self.name, self.folder = name, source / name
        self.private = set(self.folder.glob("*.h"))
        self.shown = set((self.folder / "include").glob("*.h"))
        target = f"rbwp-{name.replace('/', '-')}{'' if '/' in name else '-room'}.dir"
        commands = [shlex.split(entry["command"]) for entry in entries
                    if os.path.dirname(entry["file"]) == str(self.folder) and target in entry["command"]]
        self.has_code = any(self.folder.glob("*.c"))
        if self.has_code != bool(commands):
            sys.exit(f"compile_commands.json has no file of {name}")
        self.objects = [self.directory(entries) / words[words.index("-o") + 1] for words in commands]
        if name in OPTIONAL:
            self.objects = [path for path in self.objects if path.exists()]
        self.flags = [word for word in (commands or [[]])[0] if re.match(r"-I|-D|-std", word)]
        path = [pathlib.Path(word[2:]) for word in self.flags if word.startswith("-I")]
        self.found = {header.name: header.resolve() for folder in reversed(path) for header in folder.glob("*.h")}

    @staticmethod
    def directory(entries):
        return pathlib.Path(entries[0]["directory"])

    def finds(self, header):
        """Whether an #include of its name gets that header."""
        return self.found.get(header.name) == header

    def found_by_compiler(self, headers):
        """The names of those that the compiler finds with the flags of the room; the system has a numa.h, too."""
        text = "".join(f'#if __has_include("{name}")\nfound {name}\n#endif\n' for name in headers)
        done = subprocess.run(["cc", *self.flags, "-nostdinc", "-E", "-P", "-x", "c", "-"], cwd=self.folder, input=text,
                              capture_output=True, text=True, check=True)
        return set(re.findall(r"^found (.+)$", done.stdout, re.M))

    def files(self):
        """{object: (defined, taken)}"""
        files = names_of_files(self.objects)
        if self.name in PRELOADED:
            for file, (defined, taken) in files.items():
                files[file] = {symbol for symbol in defined if symbol.startswith(PRELOADED[self.name])}, taken
        return files


def names_of_files(objects):
    files = {str(path): (set(), set()) for path in objects}
    if not files:
        return files
    listing = subprocess.run(["nm", "-P", "-A", "-g", *files], capture_output=True, text=True, check=True)
    for line in listing.stdout.splitlines():
        file, _, rest = line.partition(": ")
        words = rest.split()
        if len(words) >= 2 and len(words[1]) == 1 and words[0].isidentifier():  # others are the compiler's own
            files[file][words[1] in "Uw"].add(words[0])
    return files


def together(files):
    """(defined, taken) by all of them."""
    defined, taken = (set().union(*names) for names in zip(*files.values())) if files else (set(), set())
    return defined, taken - defined


def seen_by(name, table):
    """Rooms whose names it may take. A room without code stands for those in its folder, but not among these."""
    inside = [other for other in table for seen in table[name]
              if other.startswith(f"{seen}/") and not name.startswith(f"{seen}/")]
    return {name, *table[name], *inside}


def wrong_includes(rooms, table):
    for name, room in rooms.items():
        if not room.has_code:
            continue
        hidden = set()
        for other_name, other in rooms.items():
            if other_name == name:
                continue
            sees = other_name in table[name]
            for header in sorted(other.private | other.shown):
                if room.finds(header) != (sees and header in other.shown):
                    yield f"{name} {'does not find' if sees else 'finds'} {header.name} of {other_name}"
            hidden |= {header.name for header in (other.private if sees else other.private | other.shown)}
        own = {header.name for header in room.private | room.shown}
        shown = {header.name for seen in table[name] for header in rooms[seen].shown}
        for header in sorted(room.found_by_compiler(sorted(hidden - own - shown) + sorted(shown)) ^ shown):
            yield f"{name}: the compiler {'does not find' if header in shown else 'finds'} {header}"
        for file in [*room.folder.glob("*.[ch]"), *room.shown]:
            for line in re.findall(r'^\s*#\s*include\s*["<](?:\.\./|/|(?:format|runtime|tools|gpu)/).*',
                                   file.read_text(), re.M):
                # A list of the room's own, which no other file can include by its name alone.
                inside = file.parent / line.split('"')[1] if '"' in line else file
                if inside.suffix != ".def" or room.folder.resolve() not in inside.resolve().parents:
                    yield f"{file}: {line.strip()}"


def owners(names):
    return {symbol: name for name, (defined, _) in names.items() for symbol in defined}


def wrong_links(name, taken, owner, table):
    seen = seen_by(name, table)
    for symbol in sorted(taken):
        if owner.get(symbol, name) not in seen:
            yield f"{name} takes {symbol} of {owner[symbol]}"


def blind_spots(names, owner, table):
    """Rooms in which a link would not be seen that is wrong: an object that takes something of all is put into each."""
    shared = {name: min(defined) for name, (defined, _) in names.items() if defined}
    with tempfile.TemporaryDirectory() as folder:
        text = "".join(f"extern char {symbol}[];\n" for symbol in shared.values())
        text += "const char *const taken[] = {" + ", ".join(shared.values()) + "};\n"
        subprocess.run(["cc", "-c", "-x", "c", "-o", f"{folder}/taken.o", "-"], input=text, text=True, check=True)
        _, taken = together(names_of_files([f"{folder}/taken.o"]))
    for name in table:
        named = {line.rpartition(" ")[2] for line in wrong_links(name, taken, owner, table)}
        hidden = shared.keys() - seen_by(name, table)
        if named != hidden:
            yield f"{name}: it is not seen where it takes of {', '.join(sorted(hidden ^ named))}"


def circles(files):
    """Of {file: files that it takes names of}: those from which each reaches each."""
    number, least, path, found = {}, {}, [], []

    def visit(file):
        number[file] = least[file] = len(number)
        path.append(file)
        for other in files[file]:
            if other not in number:
                visit(other)
            if other in path:
                least[file] = min(least[file], least[other])
        if least[file] == number[file]:
            at = path.index(file)
            found.append(path[at:])
            del path[at:]

    for file in files:
        if file not in number:
            visit(file)
    return found


def large_circles(files):
    """A room sees only rooms above it: no circle is of files of two rooms."""
    for name, units in files.items():
        owner = {symbol: file for file, (defined, _) in units.items() for symbol in defined}
        takes = {file: {owner[symbol] for symbol in taken if symbol in owner} - {file} for file, (_, taken) in units.items()}
        for circle in circles(takes):
            if len(circle) > 2:
                yield f"{name}: {len(circle)} files in a circle: " + " ".join(sorted(pathlib.Path(file).name.removesuffix(".o") for file in circle))


def strangers(source, table):
    for wing in {name.partition("/")[0] for name in table}:
        for path in sorted((source / wing).rglob("*.[ch]")):
            file = str(path.relative_to(source))
            folder = str(pathlib.Path(file).parent).removesuffix("/include")
            if folder not in table and "/kernels" not in folder and file not in STREETS:
                yield f"{file} stands in no room"


def main(source, build):
    source, build = pathlib.Path(source).resolve(), pathlib.Path(build)
    table = read_table(source / "cmake/rooms.txt")
    entries = json.loads((build / "compile_commands.json").read_text())
    rooms = {name: Room(source, name, entries) for name in table}
    files = {name: room.files() for name, room in rooms.items()}
    names = {name: together(units) for name, units in files.items()}
    owner = owners(names)
    links = [line for name, (_, taken) in names.items() for line in wrong_links(name, taken, owner, table)]
    wrong = [*large_circles(files), *wrong_includes(rooms, table), *links, *blind_spots(names, owner, table), *strangers(source, table)]
    print(f"{len(rooms)} rooms, {sum(len(room.objects) for room in rooms.values())} objects looked at")
    sys.exit("\n".join(wrong) or 0)


main(*sys.argv[1:])
