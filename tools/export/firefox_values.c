/* SPDX-License-Identifier: Apache-2.0 */
/* The inner loops of the export: room for all of a piece is asked for once. */
#include "digits.h"
#include "firefox_values.h"
#include "trace_span.h"
#include "viewer_parts.h"

enum { INSTANT = 0x80 }; /* behind the categories */
_Static_assert((int)TRACE_CATEGORIES <= (int)INSTANT, "a bit is left");

char *firefox_put_ms(char *at, int64_t ns)
{
    uint64_t many = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    if (ns < 0)
        *at++ = '-';
    at = put_u64(at, many / 1000000);
    *at++ = '.';
    uint32_t rest = (uint32_t)(many % 1000000);
    return put_4_digits(put_2_digits(at, rest / 10000), rest % 10000);
}

/* ---- kept ---------------------------------------------------------------------------------- */

void firefox_keep_data(struct spool *spool, uint32_t stream, const struct trace_span *span,
                       const struct buffer *tail)
{
    size_t tail_bytes = tail ? tail->count : 0;
    char *at = spool_room(spool, stream, 2 * VARINT_BYTES_MAX + 2 + tail_bytes);
    if (!at)
        return;
    *at++ = (char)span->category;
    *at++ = (char)span->flags;
    at = put_short(put_short(at, span->item), tail_bytes);
    if (tail_bytes)
        memcpy(at, tail->bytes, tail_bytes);
    spool_end(spool, stream, at + tail_bytes);
}

void firefox_keep_what(struct spool *spool, uint32_t stream, const struct trace_span *span)
{
    char *at = spool_room(spool, stream, VARINT_BYTES_MAX + 1);
    if (!at)
        return;
    *at++ = (char)(span->category | (span->flags & TRACE_INSTANT ? INSTANT : 0));
    spool_end(spool, stream, put_short(at, span->name));
}

void firefox_keep_end(struct spool *spool, uint32_t stream, int64_t time_ns, bool there)
{
    char *at = spool_room(spool, stream, VARINT_BYTES_MAX + 1);
    if (!at)
        return;
    at = put_difference(spool, stream, at, time_ns); /* first: it looks where the piece begins */
    *at++ = (char)there;
    spool_end(spool, stream, at);
}

/* ---- columns --------------------------------------------------------------------------------- */

static char *put_data(char *at, uint8_t category, uint8_t flags, uint64_t item)
{
    at = PUT(at, "\n{\"type\":\"span\"");
    if (category == TRACE_CALL || category == TRACE_GPU_WORK)
        at = put_u64(PUT(at, ",\"slot\":"), item);
    else if (category <= TRACE_SUB_ITEM || item)
        at = put_u64(PUT(at, ",\"item\":"), item);
    if (flags & TRACE_UNFINISHED)
        at = flags & TRACE_OPEN ? PUT(at, ",\"end\":\"open\"") : PUT(at, ",\"end\":\"unknown\"");
    return at;
}

static char *put_whole_data(char *at, struct spool_values *values)
{
    uint8_t category = (uint8_t)*values->at++, flags = (uint8_t)*values->at++;
    at = put_data(at, category, flags, get_short(values));
    size_t tail_bytes = (size_t)get_short(values);
    memcpy(at, values->at, tail_bytes);
    values->at += tail_bytes;
    at += tail_bytes;
    *at++ = '}';
    return at;
}

static char *firefox_values_put_name(char *at, struct spool_values *values)
{
    values->at++;
    return put_u64(at, get_short(values));
}

static char *put_phase(char *at, struct spool_values *values)
{
    enum { PHASE_INSTANT, PHASE_INTERVAL };
    bool instant = *values->at++ & INSTANT;
    (void)get_short(values);
    return put_u64(at, instant ? PHASE_INSTANT : PHASE_INTERVAL);
}

static char *put_category(char *at, struct spool_values *values)
{
    uint8_t category = *values->at++ & (INSTANT - 1);
    (void)get_short(values);
    return put_u64(at, category);
}

static char *put_stack(char *at, struct spool_values *values)
{
    uint64_t stack = get_short(values);
    return stack == UINT32_MAX ? PUT(at, "null") : put_u64(at, stack);
}

static char *firefox_values_put_end(char *at, struct spool_values *values, int64_t origin_ns)
{
    int64_t time_ns = get_near(values);
    return *values->at++ ? firefox_put_ms(at, viewer_since(origin_ns, time_ns)) : PUT(at, "null");
}

/* A column of what PUT_VALUE makes of each value: it has so many bytes at least, and its text so
 * many at most, the comma not counted. */
#define FIREFOX_VALUES_COLUMN(function, value_bytes_min, text_bytes_max, put_value)                \
    void function(int64_t origin_ns, struct buffer *to, const char *piece, size_t bytes,           \
                  bool first)                                                                      \
    {                                                                                              \
        struct spool_values values = {.at = piece};                                                \
        char *at = (char *)buffer_reserve(to, bytes / (value_bytes_min) * ((text_bytes_max) + 1) + \
                                                  bytes);                                          \
        (void)origin_ns;                                                                           \
        while (at && values.at < piece + bytes) {                                                  \
            if (!first)                                                                            \
                *at++ = ',';                                                                       \
            first = false;                                                                         \
            at = (put_value);                                                                      \
        }                                                                                          \
        if (at)                                                                                    \
            buffer_end(to, (uint8_t *)at);                                                         \
    }

FIREFOX_VALUES_COLUMN(firefox_data, 4, 80,
                      put_whole_data(at, &values)) /* and the tail, which is in the piece */
FIREFOX_VALUES_COLUMN(firefox_names, 2, DIGITS_MAX, firefox_values_put_name(at, &values))
FIREFOX_VALUES_COLUMN(firefox_phases, 2, 1, put_phase(at, &values))
FIREFOX_VALUES_COLUMN(firefox_categories, 2, 3, put_category(at, &values))
FIREFOX_VALUES_COLUMN(firefox_times, 1, FIREFOX_MS_MAX,
                      firefox_put_ms(at, viewer_since(origin_ns, get_near(&values))))
FIREFOX_VALUES_COLUMN(firefox_ends, 2, FIREFOX_MS_MAX,
                      firefox_values_put_end(at, &values, origin_ns))
FIREFOX_VALUES_COLUMN(firefox_lengths, 1, FIREFOX_MS_MAX,
                      firefox_put_ms(at, (int64_t)get_short(&values)))
FIREFOX_VALUES_COLUMN(firefox_stacks, 1, DIGITS_MAX, put_stack(at, &values))
