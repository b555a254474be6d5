#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What docs/figures.md and docs/tested.md say of the stored runs of the benchmarks.

figures.py summary FILE    how many targets a run reaches, and which it misses
figures.py write           makes docs/figures.md and the table of docs/tested.md of bench/results
figures.py check           ends with 1 when they are not what write makes

Runs are outputs of bench/run.sh, with the lines of bench_figure.h (*.txt), and of the scripts of tests/gpu, which begin
with what they ran on (*.log). bench/overview.md is how docs/figures.md begins, with names of
figures in braces; bench/misses.md says of missed targets why, by a measurement.
"""
import pathlib
import re
import sys

BENCH = pathlib.Path(__file__).resolve().parent
ROOT = BENCH.parent
RESULTS = BENCH / "results"
LINE = re.compile(r"(figure|target) +([^:]+): ([^\s;]+) ?([^;]*)(?:; (at most|at least) (\S+): (met|missed.*))?$")
# The first line of a script's log, and targets as its steps print them.
LOG_HEAD = re.compile(r"(?P<Machine>.+), driver (?P<Driver>\S+), (?P<Date>\S+), commit (?P<Commit>\S+): (?P<script>\S+)$")
LOG_LINES = (
    re.compile(r"(?:figure )? *(.+?): (\S+(?: \S+){0,2}?) +\(?target: (at most|at least) (\S+): ([^()]+)\)?$"),
    re.compile(r"(\S.{20,}?) {2,}(\S+ \S*) +target +()(\S+) (\S+)$"),
)
LOGS_BEGIN, LOGS_END = "<!-- logs: begin (bench/figures.py makes them of bench/results) -->\n", "<!-- logs: end -->\n"


class Run:
    """The head, and the figures by name, of one output."""

    def __init__(self, text, name):
        self.name, self.head, self.figures = name, {}, {}
        section = ""
        for line in text.splitlines():
            if line.startswith("== "):
                section = line[3:]
            elif not section and " " in line:
                key, value = line.split(maxsplit=1)
                self.head[key] = value
            found = LINE.match(line)
            if found:
                self.add(section, *found.groups()[1:])

    def add(self, section, name, value, unit, side, target, verdict):
        figure = {"section": section, "value": value, "unit": unit, "side": side, "target": target, "verdict": verdict}
        while self.figures.get(name, figure) != figure: # the same line twice is one figure
            name += " (again)"
        self.figures[name] = figure

    def targets(self):
        return {name: figure for name, figure in self.figures.items() if figure["side"]}

    def missed(self):
        return {name: figure for name, figure in self.targets().items() if figure["verdict"] != "met"}


class Log(Run):
    """The same of what a script of tests/gpu printed; its last lines say whether all of it went well."""

    def __init__(self, text, name):
        super().__init__("", name)
        lines = text.splitlines()
        self.head = LOG_HEAD.match(lines[0]).groupdict()
        self.script = self.head.pop("script")
        self.result = next((line[3:] for line in reversed(lines) if line in ("== all good", "== something failed")), "cut by a time limit")
        for line in lines:
            found = next(filter(None, (form.match(line) for form in LOG_LINES)), None)
            if found:
                name, value, side, target, verdict = found.groups()
                self.add(self.script, name.strip(), value, "", side or "at most", target, "met" if verdict in ("met", "good") else verdict)
            elif (found := LINE.match(line)) and found[5]:
                self.add(self.script, *found.groups()[1:])


def read_run(path):
    return (Log if path.suffix == ".log" else Run)(path.read_text(), path.name)


def stored():
    paths = [*RESULTS.glob("*.txt"), *RESULTS.glob("*.log")]
    return [read_run(path) for path in sorted(paths, key=lambda path: (path.name != "run.txt", path.suffix != ".txt", path.name))]


def said(figure):
    return f"{figure['value']} {figure['unit']}".strip()


def reasons():
    """The headings of misses.md: names of targets, or how the names of several begin."""
    return [name.strip() for name in re.findall(r"^## (.+)$", (BENCH / "misses.md").read_text(), flags=re.MULTILINE)]


def reason(known, name):
    return max((start for start in known if name.startswith(start)), key=len, default=None)


def summary(run):
    known = reasons()
    missed = run.missed()
    print(f"{len(run.targets()) - len(missed)} of {len(run.targets())} targets are met")
    for name, figure in missed.items():
        tail = "" if reason(known, name) else "  (bench/misses.md does not say why)"
        print(f"  {name}: {said(figure)}; {figure['side']} {figure['target']}: {figure['verdict']}{tail}")


def overview(runs):
    """bench/overview.md with {NAME} or {NAME|FORMAT} replaced; {head:KEY} is a line of the head of run.txt. A line with a
    figure that no run has is left out, and reported."""
    figures = {name: figure for run in runs for name, figure in run.figures.items()}

    def put(found):
        name, _, form = found[1].partition("|")
        if name.startswith("head:"):
            return runs[0].head.get(name[5:], "?")
        if name not in figures:
            raise KeyError(name)
        value = figures[name]["value"]
        return format(float(value), form) if form else value

    lines = []
    for line in (BENCH / "overview.md").read_text().splitlines(keepends=True):
        try:
            lines.append(re.sub(r"\{([^{}]+)\}", put, line))
        except KeyError as missing:
            print(f"bench/overview.md: no stored run has the figure {missing}", file=sys.stderr)
    return "".join(lines)


def table(run):
    lines = []
    for section in dict.fromkeys(figure["section"] for figure in run.targets().values()):
        lines += [f"### {section if '/' in section.split()[0] else section[:1].upper() + section[1:]}", "", "| | measured | target | |", "|---|---|---|---|"]
        for name, figure in run.targets().items():
            if figure["section"] != section:
                continue
            lines.append(f"| {name} | {said(figure)} | {figure['side']} {figure['target']} | {figure['verdict']} |")
        lines.append("")
    return lines


def page(runs):
    lines = [overview(runs)]
    for run in runs:
        lines += [f"## bench/results/{run.name}", ""]
        lines += [f"{key[:1].upper()}{key[1:]}: {value}  " for key, value in run.head.items()]
        lines += ["", f"{len(run.targets()) - len(run.missed())} of {len(run.targets())} targets are met.", ""]
        lines += table(run)
    return "\n".join(lines).rstrip("\n") + "\n"


def logs_block(runs):
    """What ran on which GPU, and how it ended."""
    lines = ["| machine | script | when, of which state | result |", "|---|---|---|---|"]
    for run in runs:
        if isinstance(run, Log):
            met = f"; {len(run.targets()) - len(run.missed())} of {len(run.targets())} targets met" if run.targets() else ""
            lines.append(f"| {run.head['Machine']}, driver {run.head['Driver']} | [{run.script}](../bench/results/{run.name}) | "
                         f"{run.head['Date']}, {run.head['Commit']} | {run.result}{met} |")
    return "".join(line + "\n" for line in lines)


def between(path, begin, end, block):
    """The file with what stands between two lines replaced."""
    before, _, rest = path.read_text().partition(begin)
    _, _, after = rest.partition(end)
    if not after:
        sys.exit(f"{path.name} has no block {begin.strip()}")
    return before + begin + block + end + after


def made():
    """The files as they should be, by path."""
    runs = stored()
    tested = ROOT / "docs" / "tested.md"
    return {ROOT / "docs" / "figures.md": page(runs), tested: between(tested, LOGS_BEGIN, LOGS_END, logs_block(runs))}


def main(what="", *paths):
    if what == "summary" and len(paths) == 1:
        summary(read_run(pathlib.Path(paths[0])))
    elif what == "write" and not paths:
        for path, text in made().items():
            path.write_text(text)
    elif what == "check" and not paths:
        stale = [str(path.relative_to(ROOT)) for path, text in made().items() if not path.exists() or path.read_text() != text]
        if stale:
            sys.exit(f"{', '.join(stale)}: not what the stored runs say; run bench/figures.py write")
    else:
        sys.exit(__doc__)


main(*sys.argv[1:])
