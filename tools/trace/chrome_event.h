/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chrome_event.h - one event of Chrome Trace JSON, whatever the order of its members.
 *
 * Numbers that name something (pid, tid, id) are kept as they are written, for
 * they may be strings as well. Times are decimal text turned into nanoseconds
 * without a detour through a double.
 */
#ifndef CHROME_EVENT_H
#define CHROME_EVENT_H

#include "chrome_args.h"

/* A number or a string that names something; cut at its room. */
struct chrome_id {
    bool given, is_number;
    uint32_t bytes;
    char text[128];
};

struct chrome_event {
    char phase;   /* 0: none */
    char binding; /* of bp, 0 none */
    bool has_time, has_duration, bad_time;
    int64_t time_ns, duration_ns;
    struct chrome_id process, thread, id;
    bool id_is_local; /* to the process */
    uint32_t name_bytes, category_bytes;
    char name[JSON_TEXT_MAX], category[512];
    struct chrome_args *args; /* the caller's; its content is the event's */
};

/* How long the unit of times is: numerator/denominator ns. */
struct chrome_unit {
    uint32_t numerator, denominator;
};

/* Behind the opening brace; event->args is set. False when the text ends before the event does. */
bool chrome_event_read(struct json_scan *scan, struct chrome_unit unit, struct chrome_event *event);

bool chrome_event_is(const struct chrome_event *event, const char *name);
bool chrome_event_has_category(const struct chrome_event *event, const char *category);

/* Decimal text times the unit; false if it is none, or beyond 73 years. */
bool chrome_time(const char *text, uint32_t bytes, struct chrome_unit unit, int64_t *ns_out);

#endif /* CHROME_EVENT_H */
