/* SPDX-License-Identifier: Apache-2.0 */
/*
 * args_json.h - a span's arguments as an object of JSON.
 *
 * {"bytes":4096,"kernel":"saxpy","ratio":0.5}: integers as they are, numbers
 * with a point or an exponent, texts in UTF-8, arrays and objects as the
 * source had them. Times are nanoseconds since 1970. What is no number in
 * JSON (NaN, Infinity) is a text.
 */
#ifndef ARGS_JSON_H
#define ARGS_JSON_H

#include "out.h"
#include "viewer_parts.h"

struct trace_arg;

/* Keys as they are written, by their numbers: few keys are in nearly all spans. Zero is empty. */
struct args_keys {
    bool beside_ours; /* keys of ours are in the same object (own_keys.h) */
    struct args_key {
        uint32_t number, bytes; /* bytes 0: none */
        char text[56];          /* "key": */
    } known[32];
};

/* "key":value,"key":value without the braces; nothing if there are none. text is for what is not
 * UTF-8. keys are of this trace. */
void args_json_members(struct out *out, struct viewer_text *text, struct args_keys *keys,
                       const struct trace *trace, const struct trace_detail *detail);

/* A value alone. */
void args_json_value(struct out *out, struct viewer_text *text, const struct trace *trace,
                     const struct trace_detail *detail, const struct trace_arg *arg);

/* The object as a text, made again and again in the same room. Zero is an empty one. */
struct args_json {
    struct out out;
    char *spilled; /* what did not fit into its buffer */
    size_t spilled_bytes, spilled_room;
    struct viewer_text text;
    struct args_keys keys;
    bool failed;
};
/* Empty if there are none, or without memory. */
struct trace_text args_json_make(struct args_json *made, const struct trace *trace,
                                 const struct trace_detail *detail);
void args_json_free(struct args_json *made);

#endif /* ARGS_JSON_H */
