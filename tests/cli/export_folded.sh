# SPDX-License-Identifier: Apache-2.0
# Collapsed stacks: the time that each span spent itself, computed here from the dump; every line is
# a stack and a number whatever the names are.
. "$(dirname "$0")/lib.sh"

"$PYTHON" - "$RBWP" "$GOLDEN" "$here" "$work" <<'P' || fail "folded"
import collections, glob, json, os, re, subprocess, sys

rbwp, golden, here, work = sys.argv[1:]
sys.dont_write_bytecode = True
sys.path.insert(0, here)
import export_expect as x


def clean(span):
    """A name as text forms show it, but for the semicolon."""
    key = "name_hex" if span.get("name_hex") else "name"
    name = bytes.fromhex(span[key]) if key == "name_hex" else x.name_of(span).encode()
    show = lambda t: "".join("\\\\" if c == "\\" else "".join("\\x%02x" % b for b in c.encode("utf-8", "surrogateescape"))
                             if ord(c) < 32 or 127 <= ord(c) < 160 or ord(c) == 0x2028 or 0xdc80 <= ord(c) <= 0xdcff else c for c in t)
    return show(name.decode("utf-8", "surrogateescape")).replace(";", ",")


def want(path):
    """Self times of all stacks of thread spans, by names alone."""
    found = json.loads(subprocess.run([rbwp, "dump", "--spans", path], capture_output=True).stdout)
    by_id = {s["id"]: s for s in found if s["kind"] != "gpu"}
    own = collections.Counter()

    def stack(s):
        return (stack(by_id[s["parent"]]) if s["parent"] else ()) + (s["thread_id"], clean(s))[0 if not s["parent"] else 1:]

    for s in by_id.values():
        own[stack(s)] += s["duration"]
        if s["parent"]:
            own[stack(by_id[s["parent"]])] -= s["duration"]
    return collections.Counter({k[1:]: 0 for k in own}) + sum((collections.Counter({k[1:]: v}) for k, v in own.items()), collections.Counter())


def have(path):
    lines = x.export(rbwp, "folded", path).decode("utf-8").split("\n")
    assert lines.pop() == ""
    own = collections.Counter()
    for line in lines:
        frames, number = line.rsplit(" ", 1)
        frames = frames.split(";")
        assert int(number) > 0 and len(frames) >= 3
        if not frames[1].startswith("GPU "):
            own[tuple(frames[2:])] += int(number)
    return own


# With --json it says what it wrote, and what it dropped; the export goes elsewhere.
output = f"{work}/summed.folded"
run = lambda *words: subprocess.run([rbwp, *words], capture_output=True, text=True)
done = run("export", "--to", "folded", "--json", "-o", output, f"{golden}/gpu_work.bin")
file, = json.loads(done.stdout)["files"]
spans = json.loads(run("dump", "--spans", f"{golden}/gpu_work.bin").stdout)
assert (done.returncode, file["file"], file["bytes"], file["spans"]) == (0, output, len(open(output, "rb").read()), len(spans)), done
assert file["first"] == min(s["begin"] for s in spans if s.get("begin") is not None) and not any(file["dropped"].values()) and not done.stderr, done
# What the sentence says was dropped, kind by kind; without a span there is no first one.
subprocess.run([os.environ["MAKE_MODEL"], f"{work}/model.bin", "rows"], check=True)
done = run("export", "--to", "folded", "--json", "-f", "-o", output, f"{work}/model.bin")
dropped = json.loads(done.stdout)["files"][0]["dropped"]
said = [int(n) for n in re.findall(r"(\d+) ", done.stderr.partition("folded: dropped ")[2])]
assert said == [n for n in dropped.values() if n] and (dropped["links"], dropped["counter_values"], dropped["points"]) == (76, 80, 4), done
nothing, = json.loads(run("export", "--to", "folded", "--json", "-f", "-o", output, f"{golden}/empty.bin").stdout)["files"]
assert (nothing["spans"], nothing["first"], nothing["last"]) == (0, None, None), nothing
rows = run("merge", "--to", "folded", "--csv", "files", "-f", "-o", output, f"{golden}/gpu_work.bin").stdout.splitlines()
assert len(rows) == 2 and rows[0].startswith("file,bytes,spans,links,") and rows[1].startswith(f"{output},{file['bytes']},{len(spans)},"), rows
done = run("export", "--to", "folded", "--json", f"{golden}/gpu_work.bin")
assert done.returncode == 2 and "--json and --csv need -o FILE" in done.stderr and not done.stdout, done
names = ["straddle", "gaps", "multi_thread", "level1_one_thread", "level2_all_types", "gpu_work", "discard", "empty"]
for name in names:
    path = f"{golden}/{name}.bin"
    assert have(path) == want(path), (name, have(path) - want(path), want(path) - have(path))
path = f"{work}/hostile.bin"
x.hostile_names(path)
assert have(path) == want(path)
path = f"{work}/many.bin"
x.many_inside(path)
lines = x.export(rbwp, "folded", path).decode()
# The big call is told behind what is in it: then its time holds theirs, too.
assert lines == "node 0;thread 0x9;big 700040\nnode 0;thread 0x9;small 350000\n", lines

# GPU work, and the exit codes of damaged files.
path = f"{work}/overlap.bin"
x.overlapping_gpu(path)
gpu = re.findall(r"^node 0;GPU 0.(\d);(.*)$", x.export(rbwp, "folded", path).decode(), re.M)
assert sorted(gpu) == [("1", "launch 250"), ("1", "launch;launch 30"), ("2", "launch 470")], gpu
for path in glob.glob(f"{golden}/../bad/*/input.bin") + glob.glob(f"{golden}/crash*.bin"):
    done = subprocess.run([rbwp, "export", "--to", "folded", path], capture_output=True)
    assert done.returncode == x.code_of(rbwp, path), (path, done.returncode)
P
finish
