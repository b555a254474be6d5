/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chrome_spans.h - events of Chrome JSON as spans.
 *
 * Events are in no order, so all spans go through a span_sorter, and flows
 * along with them (event_spans.h). Whatever is not understood is counted and
 * reported.
 */
#ifndef CHROME_SPANS_H
#define CHROME_SPANS_H

#include "json_scan.h"
#include "event_spans.h"
#include "span_detail.h"
#include "text_buffer.h"

/* ---- one event of Chrome Trace JSON ---------------------------------------------------------- */
/*
 * One event of Chrome Trace JSON, whatever the order of its members.
 *
 * Numbers that name something (pid, tid, id) are kept as they are written, for they may be strings
 * as well. Times are decimal text turned into nanoseconds without a detour through a double.
 */

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

/* ---- chrome own ------------------------------------------------------------------------------ */
/* What our own exports say of a span by its category and by some of its args. */

/* rest_out: the source's own category, behind ours; may be NULL. */
uint8_t chrome_own_category(const struct chrome_event *event, struct trace_text *rest_out);

struct chrome_own {
    const struct chrome_args *args;
    struct trace_detail *head;
    struct trace_span *span;
    uint32_t launch_track; /* its number in the export; TRACE_NONE none */
    uint32_t made;         /* as in struct chrome_kineto */
};
/* What an event of theirs in Kineto's form says of itself (kineto_words.h). */
struct chrome_kineto {
    bool shadow;  /* none of the trace */
    bool own;     /* its category is the source's own word */
    bool clamped; /* it begins at start_ns, whatever its time is */
    uint8_t category;
    uint32_t made;  /* bits of enum kineto_made: arguments that the trace has not */
    uint32_t track; /* on which it is, by its number in the export; TRACE_NONE: where it stands */
    int64_t start_ns;
};
void chrome_own_kineto(const struct chrome_event *event, struct chrome_kineto *kineto_out);
/* The source's own category. */
struct trace_text chrome_own_label(const struct chrome_event *event,
                                   const struct chrome_kineto *kineto);

/* True when the argument was one of ours, and taken. context: a struct chrome_own. */
bool chrome_own_arg(void *context, uint32_t arg);

/* ---- chrome spans ---------------------------------------------------------------------------- */

/* The processes and tracks of Chrome JSON, and what they are called.
 *
 * Events name them by numbers or strings; the first one that does makes the
 * track. Asynchronous events have a track for each category of a process.
 * Names may stand behind the events, so tracks are announced to the trace when the
 * text is read again. */

struct chrome_process {
    uint64_t os_id;
    uint32_t node;
    bool is_own, host_apart; /* host_apart: labels are not its host */
    uint32_t number;         /* of the trace, + 1; 0: not added yet */
};

struct chrome_track {
    uint32_t process; /* number in process_map */
    uint32_t number;  /* of the trace, + 1; 0: not added yet */
    bool async, gpu, is_number, counter;
    enum trace_track_kind kind; /* is_own: of our own export */
    bool is_own;
    uint32_t own, own_parent; /* its numbers there, + 1; 0 none */
    uint32_t works;           /* number there + 1 of the track whose spans stand here; 0 its own */
    uint32_t same;            /* number + 1 of the track of which it is another row */
    uint64_t id, os_id;
    int64_t last_ns; /* latest time seen on it */
};

struct chrome_tracks {
    struct trace *trace; /* and opened: from chrome_spans_start on */
    const struct trace_source *opened;
    struct id_texts texts;
    struct thread_map process_map, track_map, own_map;
    struct chrome_process *processes;
    struct chrome_track *tracks;
    uint32_t *own; /* by number in own_map: the first of its tracks, + 1 */
    uint32_t process_room, track_room, own_room;
    bool full; /* there was no room */
};

/* The track of an event and its number; NULL when there is no room. */
struct chrome_track *chrome_tracks_find(struct chrome_tracks *tracks,
                                        const struct chrome_event *event, uint32_t *number_out);
/* The track of one series of a counter. NULL when there is no room. */
struct chrome_track *chrome_tracks_find_counter(struct chrome_tracks *tracks,
                                                const struct chrome_event *event, uint32_t arg,
                                                uint32_t *number_out);
/* What a metadata event calls its process or thread. */
void chrome_tracks_name(struct chrome_tracks *tracks, const struct chrome_event *event);
/* When all are named: rows of one track of our own exports are one. */
void chrome_tracks_join(struct chrome_tracks *tracks);
/* The track of an own export that has this number there; NULL: there is none. */
struct chrome_track *chrome_tracks_numbered(struct chrome_tracks *tracks, uint32_t own,
                                            uint32_t *number_out);
/* The number of a track of our own export in the trace; TRACE_NONE: it has none. */
uint32_t chrome_tracks_own(struct chrome_tracks *tracks, uint64_t own);
/* Of its process, likewise added first. */
uint32_t chrome_tracks_add_process(struct chrome_tracks *tracks, uint32_t process);
/* Its number in the trace, to which it and its process are added first where they were not. */
uint32_t chrome_tracks_add(struct chrome_tracks *tracks, uint32_t number);
void chrome_tracks_free(struct chrome_tracks *tracks);

uint64_t chrome_hash_text(uint64_t hash, const char *text, uint32_t bytes);
uint64_t chrome_hash_id(uint64_t hash, const struct chrome_id *id);

/* ---- annotations that Chrome JSON does not have ---------------------------------------------- */

struct rbwp_annotator;

/* Zero makes none. */
struct chrome_ranges {
    struct rbwp_annotator *annotator; /* NULL: nobody asked */
    struct merge_sorter host;         /* ranges and launches, by thread and time */
    bool annotated;                   /* the file has annotations */
    bool failed;                      /* out of memory */
};

/* ---- chrome spans ---------------------------------------------------------------------------- */

enum { CHROME_PHASES = 128 };

struct chrome_spans {
    struct chrome_tracks *tracks;
    const struct trace_source *opened;
    struct trace *trace;
    int64_t zero_ns; /* of the text's times on the trace's axis */
    struct trace_filter filter;
    struct span_sorter spans;
    struct chrome_flows flows;
    struct chrome_ranges ranges;
    struct open_spans open;
    struct sample_sorter samples;
    struct detail_maker detail;
    struct deferred_losses losses; /* of our own exports */
    bool ours;                     /* it is an export of this program */
    bool kineto;                   /* in Kineto's form */
    struct chrome_kineto form;     /* of the event, in that */
    /* The span that came last: ends of flows that follow it are its own. */
    struct {
        bool valid;
        uint32_t row, track;
        uint64_t id; /* 0: it was not wanted */
        int64_t start_ns;
    } last;
    bool by_correlation; /* nothing else says which call launched a kernel */
    uint64_t bad_times, no_times, unfinished;
    uint64_t not_numbers;            /* values of counters */
    uint64_t dropped[CHROME_PHASES]; /* by phase; 0: none or no single character */
};

/* NULL without memory. */
struct chrome_spans *chrome_spans_start(struct chrome_tracks *tracks,
                                        const struct trace_source *opened, struct trace *trace,
                                        const struct trace_read_options *options);
void chrome_spans_take(struct chrome_spans *spans, const struct chrome_event *event);
/* All goes to the trace. False when something is missing, with messages given. */
bool chrome_spans_finish(struct chrome_spans *spans);
void chrome_spans_free(struct chrome_spans *spans);

/* Whether it is a flow from a launch to its kernel. */
bool chrome_spans_is_launch(const struct chrome_event *event);
/* Whether events of this phase are shown, metadata not being one. */
bool chrome_spans_knows(char phase);
/* Whether it is of something that a GPU does. */
bool chrome_spans_is_gpu(const struct chrome_event *event);

#endif /* CHROME_SPANS_H */
