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

#include "json_scan.h"
#include "span_detail.h"
#include "text_buffer.h"
#include "trace.h"

/* ---- the args of one event of Chrome JSON, typed --------------------------------------------- */

#define CHROME_ARGS_MAX 1024u
#define CHROME_ARGS_BYTES_MAX (256u << 10)

struct chrome_arg {
    uint32_t key_at, key_bytes, at, bytes; /* in text */
    enum json_token token;                 /* JSON_OBJECT or JSON_ARRAY: all of its text */
};

/* Zero is none. */
struct chrome_args {
    struct chrome_arg *list;
    uint32_t count, room;
    struct text_buffer text;
    uint64_t cut; /* of all events: dropped or cut */
    bool failed;  /* out of memory: some are missing */
};

void chrome_args_free(struct chrome_args *args);

static inline struct trace_text chrome_args_key(const struct chrome_args *args, uint32_t i)
{
    return (struct trace_text){args->text.bytes + args->list[i].key_at, args->list[i].key_bytes};
}
static inline struct trace_text chrome_args_text(const struct chrome_args *args, uint32_t i)
{
    return (struct trace_text){args->text.bytes + args->list[i].at, args->list[i].bytes};
}
/* The argument of that name; CHROME_ARGS_MAX: there is none. */
uint32_t chrome_args_find(const struct chrome_args *args, const char *key);
/* A string or number as it is written; empty: there is none. */
struct trace_text chrome_args_word(const struct chrome_args *args, const char *key);
/* A number, as JSON or a string in either base, else 0. */
uint64_t chrome_args_u64(const struct chrome_args *args, const char *key);
/* The value of an argument that is a number: whole if it is written so and fits. */
bool chrome_args_number(const struct chrome_args *args, uint32_t i, struct trace_sample *value_out);
/* All of them become arguments of a span, but those of which special says that they are something
 * else. special may be NULL. */
void chrome_args_add(const struct chrome_args *args, struct detail_maker *maker,
                     struct trace *trace, bool (*special)(void *context, uint32_t arg),
                     void *context);

/* ---- chrome event ---------------------------------------------------------------------------- */

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
