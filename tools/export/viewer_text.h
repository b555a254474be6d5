/* SPDX-License-Identifier: Apache-2.0 */
/*
 * viewer_text.h - texts and times for viewers, which want UTF-8 and count from a trace's origin.
 *
 * A byte that is no part of valid UTF-8 becomes U+FFFD.
 */
#ifndef VIEWER_TEXT_H
#define VIEWER_TEXT_H

#include "trace.h"

/* Room for the text of any name. */
struct viewer_text {
    char *text;
    size_t room;
    bool failed; /* out of memory: a text was left out */
};

/* Puts text into made, which grows; zero is an empty one. What does not fit into memory is left
 * out, and failed says so. */
struct trace_text viewer_text(struct viewer_text *made, struct trace_text text);
void viewer_text_free(struct viewer_text *made);

/* "node 0, worker 3", and " / 2" for a lane behind the first; without an empty process. What is too
 * long is cut. */
#define VIEWER_TITLE_BYTES 2100
void viewer_title(char title[VIEWER_TITLE_BYTES], struct trace_text process,
                  struct trace_text track, uint32_t lane);

/* Since the origin of the trace; what is further away than 64 bits hold is as far away as they do.
 */
static inline int64_t viewer_since(int64_t origin_ns, int64_t time_ns)
{
    int64_t since_ns;
    if (__builtin_sub_overflow(time_ns, origin_ns, &since_ns))
        return time_ns < 0 ? INT64_MIN : INT64_MAX;
    return since_ns;
}
static inline int64_t viewer_time(const struct trace *trace, int64_t time_ns)
{
    return viewer_since(trace_origin_ns(trace), time_ns);
}

#endif /* VIEWER_TEXT_H */
