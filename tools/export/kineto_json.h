/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kineto_json.h - Chrome Trace JSON in the form of PyTorch's profiler (Kineto), for what reads
 * that: Holistic Trace Analysis, TensorBoard.
 *
 * Its readers go by categories and arguments, and by where an event stands:
 * work of a GPU in a process that has the GPU's number, in a thread that has the
 * stream's; the call that launched it on its thread, with the same "correlation"; named
 * ranges on the thread itself. The model has other places for these, so events say
 * under "rbwp" what a reader of ours has to know: nothing is lost.
 *
 * kineto_rows.c has places, chrome_args.c arguments, export_kineto.c launches, arrows,
 * spans and the file.
 */
#ifndef KINETO_JSON_H
#define KINETO_JSON_H

#include "chrome_json.h"
#include "kineto_words.h"

/* Arguments of the source that say what Kineto has a place for. */
enum kineto_key {
    KINETO_LAUNCHED = KINETO_MADE_KEYS, /* when its launching call was done */
    KINETO_ID,
    KINETO_RANGE,
    KINETO_GRAPH_NODE, /* of a graph that was launched as a whole */
    KINETO_CALL,       /* a text: the function that launched it */
    KINETO_KEYS
};

/* What Kineto's readers get of one span. */
struct kineto_facts {
    struct trace_text category; /* Kineto's word for it */
    struct trace_text rest;     /* the source's own word, where it is none of Kineto's */
    bool own;                   /* category is the source's own word */
    bool on_gpu;                /* of a GPU's track */
    uint32_t has;               /* bits by number of the key: the source says it */
    uint32_t made;              /* of the first keys: bits of those that are to be written */
    uint64_t value[KINETO_KEYS];
    struct trace_text call; /* what the source says of KINETO_CALL */
    uint32_t works;         /* track whose spans stand where this one does */
};

struct kineto_place {
    uint32_t pid, tid;
    bool is_written;
    uint32_t works;  /* track of the work that stands there */
    int64_t last_ns; /* latest end of it */
};

struct kineto_gpu {
    uint32_t pid;
    uint32_t device; /* number of the GPU */
};

struct kineto {
    uint32_t keys[KINETO_KEYS]; /* numbers of names + 1 */
    struct thread_map gpu_map, place_map;
    struct kineto_gpu *gpus;
    struct kineto_place *places;
    uint32_t gpu_room, place_room;
    struct linked_spans called; /* correlations whose call was written */
};

/* ---- places ----------------------------------------------------------------------- */

/* False: its spans stand elsewhere. */
bool kineto_has_row(const struct chrome *chrome, const struct trace_track *track, uint32_t lane);
/* Whether it is a GPU's, or a stream's. */
bool kineto_is_gpu(const struct trace *trace, const struct trace_track *track);
/* Where a span stands, which is written with the first one; facts get its GPU, stream and works. */
struct kineto_place kineto_place_of(struct chrome *chrome, const struct trace_span *span,
                                    struct kineto_facts *facts);
/* Where an end of an arrow is, of which no more is known. */
struct kineto_place kineto_place_of_track(struct chrome *chrome, uint32_t track);

/* ---- arguments -------------------------------------------------------------------- */

/* Of the sink: notes the names of arguments. */
void kineto_take_name(void *context, uint32_t number, struct trace_text name);
struct kineto_facts kineto_facts_of(const struct chrome *chrome, const struct trace_span *span,
                                    const struct trace_detail *detail);
/* ,"args":{...} or nothing. */
void kineto_write_args(struct chrome *chrome, const struct trace_span *span,
                       const struct trace_detail *detail, const struct kineto_facts *facts);

/* ---- launches and arrows ---------------------------------------------------------- */

#endif /* KINETO_JSON_H */
