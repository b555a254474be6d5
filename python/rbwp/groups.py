# SPDX-License-Identifier: Apache-2.0
"""Counts and lengths of spans by the values of some columns, as `rbwp stats` counts them; those of several files, or
parts of one, can be merged, in any order."""

import json
from dataclasses import astuple, dataclass, fields
from typing import Any, Dict, Iterator, List, Sequence, Tuple

import numpy as np
import numpy.typing as npt

Key = Tuple[Any, ...]
_EXACT, _PARTS, _PART_BITS = 64, 32, 5  # of the histograms of rbwp stats
_BUCKETS = _EXACT + 58 * _PARTS
_NO_MIN = np.iinfo(np.int64).max
_SHOWN = 20  # groups, when they are printed


@dataclass(frozen=True)
class Group:
    """Spans of one group. Those that ended are count; open ones still ran at the end, and their time is in total_ns."""
    count: int
    unfinished: int
    open: int
    total_ns: int
    open_ns: int
    mean_ns: int
    min_ns: int
    p50_ns: int
    p90_ns: int
    p99_ns: int
    max_ns: int


def _bucket(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The bucket of each length: below 64 one each, above 32 for each power of two."""
    whole = values.astype(np.uint64)
    power = np.zeros(len(whole), np.uint64)  # of two, the highest one: doubles would round it up
    rest = whole.copy()
    for step in (32, 16, 8, 4, 2, 1):
        over = rest >= np.uint64(1) << np.uint64(step)
        power[over] += np.uint64(step)
        rest[over] >>= np.uint64(step)
    shift = np.where(power > _PART_BITS, power - np.uint64(_PART_BITS), np.uint64(0))
    part = (whole >> shift).astype(np.int64) - _PARTS
    above = _EXACT + (power.astype(np.int64) - _PART_BITS - 1) * _PARTS + part
    return np.where(whole < _EXACT, whole.astype(np.int64), above)


def _low(bucket: int) -> int:
    above = bucket - _EXACT
    return bucket if bucket < _EXACT else (_PARTS + above % _PARTS) << (above // _PARTS + 1)


def _middle(bucket: int) -> int:
    low = _low(bucket)
    high = _low(bucket + 1) - 1 if bucket + 1 < _BUCKETS else 2**64 - 1
    return low + (high - low) // 2


class Groups:
    """Groups by key, a tuple of values of the columns. A mapping: groups[key] is a Group."""

    def __init__(self, columns: Sequence[str]) -> None:
        self.columns: Tuple[str, ...] = tuple(columns)
        self._sums: Dict[Key, List[int]] = {}  # count, unfinished, open, total, open's, min, max
        self._cells: Dict[Key, Dict[int, int]] = {}  # how many lengths a bucket has

    def __repr__(self) -> str:
        """A table of the groups that took longest."""
        longest = sorted(self.items(), key=lambda item: -item[1].total_ns)[:_SHOWN]
        heads = ["count", "total_ns", "mean_ns", "p50_ns", "p99_ns", "max_ns"]
        rows = [[*self.columns, *heads]]
        rows += [[*("-" if part is None else str(part) for part in key), *(f"{getattr(group, head):,}" for head in heads)]
                 for key, group in longest]
        widths = [max(map(len, column)) for column in zip(*rows)]
        lines = ["  ".join(cell.ljust(width) if i < len(self.columns) else cell.rjust(width)
                           for i, (cell, width) in enumerate(zip(row, widths))).rstrip() for row in rows]
        return "\n".join(lines + [f"... and {len(self) - len(longest)} more"] * (len(self) > len(longest)))

    def __len__(self) -> int:
        return len(self._sums)

    def __iter__(self) -> Iterator[Key]:
        return iter(self._sums)

    def __contains__(self, key: object) -> bool:
        return key in self._sums

    def keys(self) -> List[Key]:
        return list(self._sums)

    def items(self) -> List[Tuple[Key, Group]]:
        return [(key, self[key]) for key in self._sums]

    def __getitem__(self, key: Key) -> Group:
        count, unfinished, still_open, total, open_ns, least, most = self._sums[key]
        p50, p90, p99 = (self.quantile_ns(key, permille) for permille in (500, 900, 990))
        mean = (total - open_ns) // count if count else 0
        return Group(count, unfinished, still_open, total, open_ns, mean, least if count else 0, p50, p90, p99, most)

    def quantile_ns(self, key: Key, permille: int) -> int:
        """The least length that so many of 1000 do not exceed, within 1/64."""
        count, least, most = self._sums[key][0], *self._sums[key][5:]
        seen, rank = 0, -(-count * permille // 1000)
        for bucket, number in sorted(self._cells[key].items()):
            seen += number
            if seen >= rank:
                return min(max(_middle(bucket), least), most)
        return 0

    def add(self, other: "Groups") -> "Groups":
        """Takes in what others counted by the same columns."""
        if other.columns != self.columns:
            raise ValueError(f"groups by {self.columns} and by {other.columns} cannot be merged")
        for key, sums in other._sums.items():
            self._add(key, sums, other._cells[key])
        return self

    def _add(self, key: Key, sums: Sequence[int], cells: Dict[int, int]) -> None:
        mine = self._sums.get(key)
        if mine is None:
            self._sums[key], self._cells[key] = list(sums), dict(cells)
            return
        for i in range(5):
            mine[i] += sums[i]
        mine[5], mine[6] = min(mine[5], sums[5]), max(mine[6], sums[6])
        own = self._cells[key]
        for bucket, number in cells.items():
            own[bucket] = own.get(bucket, 0) + number

    def to_pandas(self) -> Any:
        """A DataFrame whose index is the columns."""
        import pandas
        index = pandas.MultiIndex.from_tuples(self.keys(), names=self.columns)
        return pandas.DataFrame([astuple(group) for _, group in self.items()], index=index,
                                columns=[field.name for field in fields(Group)])


def coded_column(spans: Any, name: str) -> Tuple[npt.NDArray[Any], List[Any]]:
    """A number for each row, and the value of each number; None where a row has none."""
    if name.startswith("args."):
        return _argument_codes(spans, name[len("args."):])
    values, known = spans[name], spans.known(name)
    if values.dtype == np.uint32 and name + ".texts" in spans._arrays:
        unique: Dict[str, int] = {}
        places = np.array([unique.setdefault(text, len(unique)) for text in spans.texts(name)] or [0], np.int64)
        codes = places[values]
        told: List[Any] = list(unique)
    else:
        found, codes = np.unique(values, return_inverse=True)
        told = found.tolist()
    if not known.all():
        codes = np.where(known, codes, len(told))
        told.append(None)
    return codes.astype(np.int64), told


def _argument_codes(spans: Any, key: str) -> Tuple[npt.NDArray[Any], List[Any]]:
    """The same of an argument; what is no single value is its JSON."""
    unique: Dict[Any, int] = {}
    values = [json.dumps(value) if isinstance(value, (dict, list)) else value for value in spans.arg(key).tolist()]
    codes = [unique.setdefault((type(value), value), len(unique)) for value in values]
    return np.array(codes, np.int64), [value for _, value in unique]


def group_rows(spans: Any, columns: Sequence[str]) -> Groups:
    """By these columns. The spans have duration_ns, finished, open and category, too."""
    groups = Groups(columns)
    if "category" not in columns:
        queued = spans.text("category") == "queued"  # how long something waited for its call is not a call's time
        spans = spans[~queued] if queued.any() else spans
    coded = [coded_column(spans, name) for name in columns]
    if not len(spans):
        return groups
    rows = np.zeros(len(spans), np.int64)
    for codes, told in coded:  # numbers stay below rows * values, for they are made dense each time
        _, rows = np.unique(rows * len(told) + codes, return_inverse=True)
    order = np.argsort(rows, kind="stable")
    starts = np.flatnonzero(np.diff(rows[order], prepend=-1))
    lengths, finished = spans["duration_ns"][order], spans["finished"][order]
    still_open = spans["open"][order]

    def sums(values: npt.NDArray[Any]) -> List[int]:
        found: List[int] = np.add.reduceat(values.astype(np.int64), starts).tolist()
        return found

    columns_of_sums = (sums(finished), sums(~finished), sums(still_open),
                       sums(np.where(finished | still_open, lengths, 0)), sums(np.where(still_open, lengths, 0)),
                       np.minimum.reduceat(np.where(finished, lengths, _NO_MIN), starts).tolist(),
                       np.maximum.reduceat(np.where(finished, lengths, 0), starts).tolist())
    cells: List[Dict[int, int]] = [{} for _ in starts]
    pairs, counts = np.unique(rows[order][finished] * _BUCKETS + _bucket(lengths[finished]), return_counts=True)
    for pair, number in zip(pairs.tolist(), counts.tolist()):
        cells[pair // _BUCKETS][pair % _BUCKETS] = number
    first_rows = order[starts]
    keys = zip(*([told[code] for code in codes[first_rows].tolist()] for codes, told in coded))
    for key, one, of_key in zip(keys, zip(*columns_of_sums), cells):
        groups._add(key, one, of_key)
    return groups
