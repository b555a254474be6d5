/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chrome_clock.h - what the times of Chrome JSON count, and from when.
 *
 * Times are microseconds of some clock. What says more stands anywhere in the
 * text: a base (PyTorch, clang, our own exports), a unit (iris), the name of
 * the clock (Chromium), the program that wrote it (Node). Times since 1970 are
 * recognised by their size.
 */
#ifndef CHROME_CLOCK_H
#define CHROME_CLOCK_H

#include "chrome_event.h"
#include "trace_source.h"

enum chrome_dialect {
    CHROME_ANY,
    CHROME_PYTORCH,
    CHROME_IRIS,
    CHROME_CLANG,
    CHROME_NODE,
    CHROME_OURS
};
/* "Chrome", "PyTorch" ... */
extern const char *const chrome_dialect_name[];

struct chrome_clock {
    struct chrome_unit unit;
    struct chrome_unit noted_unit; /* by which first_ns and last_ns were read */
    enum chrome_dialect dialect;
    bool has_base, odd_unit;
    bool from_base;            /* times count from a base that is told as PyTorch does */
    int64_t origin_ns;         /* of our own exports: where the trace begins */
    bool monotonic;            /* it is the clock that counts since the machine was started */
    int64_t first_ns, last_ns; /* of events; first > last: none has a time */
};

void chrome_clock_start(struct chrome_clock *clock);
/* A member of the whole text, whose value is next, taken for what it says. False if it says
 * nothing of times; then nothing was taken. */
bool chrome_clock_member(struct chrome_clock *clock, struct json_scan *scan,
                         struct trace_facts *facts);
/* A metadata event may say who wrote it. */
void chrome_clock_metadata(struct chrome_clock *clock, const struct chrome_event *event);
void chrome_clock_note(struct chrome_clock *clock, const struct chrome_event *event);
/* When all was seen. */
void chrome_clock_finish(struct chrome_clock *clock, struct trace_facts *facts, const char *name);

#endif /* CHROME_CLOCK_H */
