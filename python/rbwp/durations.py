# SPDX-License-Identifier: Apache-2.0
"""The table of durations: what `rbwp lanes` and `rbwp events` print, from the same code of the library."""

import ctypes
import sys
from dataclasses import dataclass
from typing import Any, Callable, List, Sequence, TextIO, Tuple

import numpy as np
import numpy.typing as npt

from .native import library


@dataclass(frozen=True)
class Duration:
    """The spans of one event in one group (of lanes), or of one rank. Times in nanoseconds."""
    group: str
    event: str
    count: int
    total_ns: int
    min_ns: int
    p50_ns: int
    p99_ns: int
    max_ns: int
    unmatched: int

    @property
    def mean_ns(self) -> float:
        return self.total_ns / self.count if self.count else 0.0


def table_of(spans: npt.NDArray[Any], take: str, group: Callable[[int], str],
             event: Callable[[int], str]) -> List[Duration]:
    """The table of decoded spans; take is the library's call for their kind."""
    lib = library()
    durations = lib.rbwp_durations_new()
    if not durations:
        raise MemoryError("no memory for the durations")
    try:
        spans = np.ascontiguousarray(spans)
        if not getattr(lib, take)(durations, spans.ctypes.data, len(spans)):
            raise MemoryError("no memory for the durations")
        count = ctypes.c_size_t()
        rows = lib.rbwp_durations_rows(durations, ctypes.byref(count))
        return [
            Duration(group(row.group), event(row.event), row.count, row.total_ns, row.min_ns, row.p50_ns, row.p99_ns,
                     row.max_ns, row.unmatched) for row in rows[:count.value]
        ]
    finally:
        lib.rbwp_durations_free(durations)


def print_durations(table: Sequence[Duration], file: "TextIO | None" = None) -> None:
    """Prints the table; microseconds."""
    out = sys.stdout if file is None else file
    heads = ("group", "event", "n", "total us", "mean us", "min us", "p50 us", "p99 us", "max us", "unmatched")
    lines: List[Tuple[str, ...]] = [heads]
    for row in table:
        times = (row.total_ns, row.mean_ns, row.min_ns, row.p50_ns, row.p99_ns, row.max_ns)
        lines.append((row.group, row.event, str(row.count), *(f"{time / 1000:.3f}" for time in times),
                      str(row.unmatched)))
    widths = [max(len(line[column]) for line in lines) for column in range(len(heads))]
    for line in lines:
        cells = [cell.ljust(width) if column < 2 else cell.rjust(width)
                 for column, (cell, width) in enumerate(zip(line, widths))]
        print("  ".join(cells).rstrip(), file=out)
