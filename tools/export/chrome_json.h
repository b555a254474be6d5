/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chrome_json.h - a Chrome Trace JSON file being written: what its parts share.
 *
 * chrome_rows.c has processes, tracks, names, counters, losses and facts, chrome_args.c
 * arguments, export_chrome.c events and the file. PyTorch's form of it (kineto_json.h) differs in
 * what events are called and where they stand.
 */
#ifndef CHROME_JSON_H
#define CHROME_JSON_H

#include "args_json.h"
#include "export.h"
#include "json_text.h"
#include "own_keys.h"
#include "pending_links.h"
#include "dropped_report.h"

/* Durations of which doubles make the right ends.
 *
 * Who reads Chrome JSON adds start and duration as doubles of microseconds.
 * Where two spans abut, the sum may lie above the start of the next, and where
 * two end together, the inner one may end after the outer one: a viewer then
 * takes them to overlap (speedscope leaves an end out, and the totals are
 * wrong). Such a span is written a little shorter than it is, by far less than
 * half a nanosecond and by more than doubles are wrong there; of several that
 * end together each by more than the one around it. All others keep their
 * three decimals. */

/* Spans of one lane that are open. Zero is none. */
struct chrome_lane_ends {
    struct chrome_open_end *open;
    uint32_t depth, room;
};

/* The next span of the lane, number at of its batch. *steps becomes by how many steps it is to be
 * shorter, that of earlier spans of the batch (all are in steps) if it shows that they abut. False
 * without memory. */
bool chrome_ends_take(struct chrome_lane_ends *lane, int64_t start_ns, int64_t stop_ns, uint32_t at,
                      uint16_t *steps);
/* No more spans of the batch: those that are still open may abut to whatever comes. */
void chrome_ends_finish_batch(struct chrome_lane_ends *lane, uint16_t *steps);

/* Thousandths of a nanosecond by which a span that stops at stop_ns from the origin is shorter. */
uint32_t chrome_ends_shorter(int64_t stop_ns, uint16_t steps);

enum { CHROME_EVENT_BYTES_MAX = 256 }; /* of one without its texts, more than 10 numbers */

enum { CHROME_PLACE_BYTES = 48 };

struct chrome_lane {
    uint32_t tid;
    uint32_t place_bytes;           /* 0: not written yet */
    char place[CHROME_PLACE_BYTES]; /* as chrome_put_place puts it */
    struct chrome_lane_ends ends;
};

struct chrome_row {
    uint32_t pid;
    uint32_t lane_count;
    struct chrome_lane *lanes;
    bool has_spans;
    bool repeats;   /* of a counter: another one of the process has its name */
    bool is_block;  /* a process of its own, with its groups as threads */
    uint32_t group; /* number of such a group + 1 */
};

/* In UTF-8. */
struct chrome_name {
    struct trace_text text;
    bool is_plain; /* short, and JSON as it is */
};
enum { CHROME_PLAIN_BYTES_MAX = 512 };

enum { CHROME_CATEGORY_BYTES = 128 };

/* The last category that had a source's own beside ours: neighbours share it. */
struct chrome_category {
    uint32_t label; /* 0: none yet */
    uint8_t ours;
    uint32_t bytes;
    char text[CHROME_CATEGORY_BYTES]; /* ,"cat":"..." */
};

struct chrome {
    struct trace_pass *pass;
    struct kineto *kineto;   /* NULL: plain Chrome JSON */
    int64_t base_ns;         /* kineto: from which times count */
    struct chrome_row *rows; /* by track */
    uint32_t row_count, pid_count, name_count;
    uint32_t *pids;            /* by process */
    struct chrome_name *names; /* by number */
    struct kept_facts facts;
    struct viewer_ids ids;
    struct viewer_text text;
    struct pending_links links;
    struct thread_map counters; /* hashes of their processes and names */
    struct thread_map groups;   /* of lanes, where blocks are processes */
    struct dropped dropped;
    struct chrome_category category;
    struct args_keys keys;
    uint16_t *steps; /* of the spans of a batch, by which they are shorter */
    uint32_t step_room;
    uint64_t events, early;
};

/* ---- pieces of events -------------------------------------------------------------- */

/* Microseconds with three decimals. */
static inline char *chrome_put_us(char *at, uint64_t ns)
{
    at = put_u64(at, ns / 1000);
    uint32_t rest = (uint32_t)(ns % 1000);
    *at++ = '.';
    *at++ = (char)('0' + rest / 100);
    return put_2_digits(at, rest % 100);
}

static inline char *chrome_put_time(const struct chrome *chrome, char *at, int64_t time_ns)
{
    int64_t origin_ns = chrome->kineto ? chrome->base_ns : trace_origin_ns(chrome->pass->trace);
    at = PUT(at, ",\"ts\":");
    if (time_ns >= origin_ns)
        return chrome_put_us(at, (uint64_t)time_ns - (uint64_t)origin_ns);
    if (chrome->kineto)
        return chrome_put_us(at, 0);
    *at++ = '-';
    return chrome_put_us(at, (uint64_t)origin_ns - (uint64_t)time_ns);
}

/* The same, on its own. */
static inline void chrome_time(struct chrome *chrome, int64_t time_ns)
{
    struct out *out = &chrome->pass->out;
    out_end(out, chrome_put_time(chrome, out_room(out, CHROME_EVENT_BYTES_MAX), time_ns));
}

static inline char *chrome_put_place(char *at, uint32_t pid, uint32_t tid)
{
    at = PUT(at, ",\"pid\":");
    at = put_u64(at, pid);
    at = PUT(at, ",\"tid\":");
    return put_u64(at, tid);
}

static inline char *chrome_put_hex(char *at, uint64_t value)
{
    static const char digits[] = "0123456789abcdef";
    int shift = 60;
    at = PUT(at, "\"0x");
    while (shift > 0 && value >> shift == 0)
        shift -= 4;
    for (; shift >= 0; shift -= 4)
        *at++ = digits[value >> shift & 15];
    *at++ = '"';
    return at;
}

/* Before the first event. */
void kineto_write_head(struct chrome *chrome);

static inline void chrome_separate(struct chrome *chrome)
{
    if (chrome->kineto && !chrome->events)
        kineto_write_head(chrome);
    out_text(&chrome->pass->out, chrome->events++ ? ",\n" : "\n");
}

/* ,"KEY":"text", without the comma. */
void chrome_text(struct chrome *chrome, const char *key, struct trace_text text);

#define CHROME_NO_THREAD UINT32_MAX
/* {"ph":"M",...,"args":{: metadata, up to the arguments. */
void chrome_begin_metadata(struct chrome *chrome, const char *what, uint32_t pid, uint32_t tid);
/* All of it. */
void chrome_sort_index(struct chrome *chrome, const char *what, uint32_t pid, uint32_t tid,
                       uint64_t index);

/* ---- rows --------------------------------------------------------------------------- */

/* Of the sink. */
void chrome_take_process(void *context, const struct trace_process *process);
void chrome_take_track(void *context, const struct trace_track *track);
void chrome_take_name(void *context, uint32_t number, struct trace_text name);
/* The thread number of a lane, whose name is written at the first call. */
uint32_t chrome_tid(struct chrome *chrome, uint32_t track, uint32_t lane);
void chrome_rows_free(struct chrome *chrome);

/* ---- counters, losses, facts, the end ------------------------------------------------- */

void chrome_take_samples(void *context, uint32_t number, const struct trace_sample *samples,
                         size_t count);
void chrome_take_loss(void *context, const struct trace_loss *loss);
void chrome_take_fact(void *context, const char *key, struct trace_text value);
/* "otherData":{...}. */
void chrome_write_facts(struct chrome *chrome);
/* Behind the last byte: reports what was dropped, and frees. */
enum exit_code chrome_end(struct chrome *chrome, const char *format);

/* ---- arguments ---------------------------------------------------------------------- */

/* ,"args":{"slot":3} or nothing, of spans that have no more. */
static inline char *chrome_put_item(char *at, enum trace_category category, uint32_t item)
{
    const char *key = own_key_of_item(category, item);
    if (!key)
        return at;
    at = PUT(at, ",\"args\":{\"");
    memcpy(at, key, 4);
    at = PUT(at + 4, "\":");
    at = put_u64(at, item);
    *at++ = '}';
    return at;
}

/* ,"args":{...} or nothing. */
void chrome_write_args(struct chrome *chrome, const struct trace_span *span,
                       const struct trace_detail *detail);

#endif /* CHROME_JSON_H */
