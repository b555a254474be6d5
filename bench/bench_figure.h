/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_figure.h - what a benchmark has measured, by name, and whether it reaches its target.
 *
 * Each call prints one line that scripts read, bench/figures.py first of all:
 *
 *     figure   NAME: VALUE UNIT
 *     target   NAME: VALUE UNIT; at most 2.6: met
 *     target   NAME: VALUE UNIT; at least 20: missed by 12.0 %
 *
 * A name stands once in a run of bench/run.sh, has no colon, and does not change with the machine:
 * docs/figures.md finds figures by it. Scripts print the same with bench/figure.py.
 */
#ifndef BENCH_FIGURE_H
#define BENCH_FIGURE_H

void figure(const char *name, double value, const char *unit);
void figure_at_most(const char *name, double value, const char *unit, double target);
void figure_at_least(const char *name, double value, const char *unit, double target);

#endif /* BENCH_FIGURE_H */
