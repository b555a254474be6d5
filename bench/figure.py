#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The lines of bench_figure.h, for scripts: figure.py NAME VALUE UNIT [at most|at least TARGET]."""
import sys


def digits(value):
    """Behind the point, so that four digits are significant."""
    return next((count for count in (3, 2, 1) if abs(value) < 10 ** (4 - count)), 0)


def line(name, value, unit, side=None, target=0.0):
    said = f"{name}: {value:.{digits(value)}f}{' ' if unit else ''}{unit}"
    if side is None:
        return f"figure   {said}"
    larger, smaller = (value, target) if side == "at most" else (target, value)
    if larger <= smaller:
        verdict = "met"
    elif target <= 0 or smaller <= 0:
        verdict = "missed"
    elif larger >= 2 * smaller:
        verdict = f"missed by a factor of {larger / smaller:.1f}"
    else:
        verdict = f"missed by {100 * (larger - smaller) / target:.1f} %"
    return f"target   {said}; {side} {target:.6g}: {verdict}"


def show(*arguments):
    print(line(*arguments), flush=True)


if __name__ == "__main__":
    name, value, unit, *rest = sys.argv[1:]
    show(name, float(value), unit, *((" ".join(rest[:-1]), float(rest[-1])) if rest else ()))
