/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chrome_args.h - the args of one event of Chrome JSON, typed.
 *
 * Members in the order of the text; objects and arrays are kept as JSON. What
 * is too much for an event is left out and counted.
 */
#ifndef CHROME_ARGS_H
#define CHROME_ARGS_H

#include "json_scan.h"
#include "span_detail.h"
#include "text_buffer.h"

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
    uint64_t cut; /* of all events: left out or cut */
    bool failed;  /* out of memory: some are missing */
};

void chrome_args_clear(struct chrome_args *args);
void chrome_args_free(struct chrome_args *args);
/* Behind the opening brace. */
void chrome_args_read(struct chrome_args *args, struct json_scan *scan);

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

#endif /* CHROME_ARGS_H */
