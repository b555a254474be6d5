# SPDX-License-Identifier: Apache-2.0
"""Spans as bars over time, by matplotlib, which is imported when something is drawn."""

from typing import TYPE_CHECKING, Any

import numpy as np

from .groups import coded_column

if TYPE_CHECKING:
    from .columns import Spans

_COLORS = 9  # values that took longest have one each, all others share grey


def _new_axes() -> Any:
    try:
        import matplotlib.pyplot as pyplot
    except ImportError:
        raise ImportError("plot: matplotlib is not installed (Debian: python3-matplotlib; pip install matplotlib)") from None
    return pyplot.subplots(figsize=(12, 6), layout="constrained")[1]


def plot_spans(spans: "Spans", axes: Any = None, color: str = "name") -> Any:
    """What Spans.plot says."""
    wanted = {name: spans[name] for name in ("start", "duration_ns", "track", "depth")}
    codes, entries = coded_column(spans, color)
    axes = _new_axes() if axes is None else axes
    axes.set_xlabel("seconds")
    axes.invert_yaxis()  # the first track on top
    if not len(spans):
        return axes
    rows, row = np.unique(np.stack([wanted["track"], wanted["depth"]]), axis=1, return_inverse=True)
    left = (wanted["start"] - wanted["start"].min()) / 1e9
    bars = np.stack([left, wanted["duration_ns"] / 1e9], axis=1)
    totals = np.bincount(codes, wanted["duration_ns"], len(entries))
    order = np.argsort(-totals, kind="stable")
    place = np.argsort(order)  # of each value, by what it took
    for number in range(min(len(entries), _COLORS + 1)):
        shade, label = (f"C{number}", str(entries[order[number]])) if number < _COLORS else ("0.7", "others")
        chosen = np.minimum(place, _COLORS)[codes] == number
        for one in np.unique(row[chosen]):
            axes.broken_barh(bars[chosen & (row == one)], (one - 0.45, 0.9), color=shade)
        axes.plot([], [], linewidth=6, color=shade, label=label)
    firsts = np.flatnonzero(np.diff(rows[0].astype(np.int64), prepend=-1))
    axes.set_yticks(firsts, list(spans.texts("track")[rows[0][firsts]]))
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return axes
