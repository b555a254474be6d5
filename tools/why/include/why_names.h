/* SPDX-License-Identifier: Apache-2.0 */
/*
 * why_names.h - how long calls usually take, name by name, and which ones took far longer.
 *
 * Of each name the distribution, the calls that took longest and a sample of all are kept. A
 * call's time in its queue is a distribution of its own, as it is known apart from the call.
 * In recordings of unmodified programs run intervals are calls, and so are waits for what another
 * thread, a rank or a disk has; how long a thread waits for work says nothing.
 */
#ifndef WHY_NAMES_H
#define WHY_NAMES_H

#include "histogram.h"
#include "stalls.h"
#include "why_gpu.h"

#include <string.h>

struct trace_span;
struct trace_detail;

enum {
    WHY_LONGEST = 4096, /* kept of a name */
    WHY_SAMPLE = 2048,
    WHY_LEAST = 8 /* calls: of fewer nobody knows what is usual */
};

/* What lies between the ordinary calls and those far from them. */
struct why_bounds {
    uint64_t median_ns; /* of the ordinary ones */
    uint64_t threshold_ns;
    uint64_t ordinary, slow; /* calls */
    uint64_t excess_ns;      /* of the slow ones above the median, to 1.6 % */
};

/* zeros: values of 0 besides. given_ns: the threshold, 0: it is looked for. False: there are too
 * few, or none is far from the others. */
bool why_bounds_find(const struct histogram *values, uint64_t zeros, uint64_t given_ns,
                     struct why_bounds *bounds_out);

/* A call or a time in a queue, of a thread's track. waker, object: of a wait for work, the number
 * of the thread that ended it, as block headers name it, and what it was for, cut; 0: not known. */
struct why_pick {
    int64_t start_ns, stop_ns;
    uint32_t thread, object;
    uint64_t waker;
};
struct why_picks {
    struct why_pick *list;
    uint32_t count, room;
};

struct why_times {
    struct histogram values;
    struct why_picks longest; /* a heap, the shortest first */
    struct why_bounds bounds; /* after why_names_finish */
    bool slow;
};

struct why_name {
    struct trace_text name; /* own memory */
    uint32_t number;        /* of the name */
    bool wait, lock, run;   /* a kind of wait; for a lock; a run interval */
    bool work;              /* a kind of wait that is for work, or for what others work on */
    bool judged;            /* what its slow calls have was looked at */
    bool awaited;           /* of these, those alone count in which others were at work */
    struct why_times own, queued;
    struct why_picks sample;
    uint64_t total_ns, excess_ns;
};

struct why_track {
    struct trace_track track; /* its texts are the trace's */
    uint32_t thread;          /* itself, or the one above; of a process and thread id the first */
    bool waits;               /* rows of the tables wait and mpi_wait */
    bool mpi;                 /* a thread that has rows in mpi_wait */
};

/* The tracks of a trace; both passes have the same. */
struct why_tracks {
    struct why_track *list;
    uint32_t count, room;
    bool failed;
};
void why_tracks_add(struct why_tracks *tracks, const struct trace *trace,
                    const struct trace_track *track);
static inline const struct why_track *why_tracks_of(const struct why_tracks *tracks, uint32_t track)
{
    return track < tracks->count ? &tracks->list[track] : NULL;
}

/* A run interval of an unmodified program's thread; it is a call. */
static inline bool why_is_run(struct trace_text name)
{
    return name.bytes > 6 && memcmp(name.text, "after ", 6) == 0;
}
/* A call of MPI, as its row is named. */
static inline bool why_is_mpi(struct trace_text name)
{
    return name.bytes > 4 && memcmp(name.text, "MPI_", 4) == 0;
}
/* Threads wait so for work: how long says nothing. */
bool why_is_idle(struct trace_text kind);
/* A row of the tables wait and mpi_wait, and not the delay inside of it. */
bool why_is_wait(const struct why_track *track, const struct trace_span *span);
/* The thread of the process with that number, as block headers name it; or TRACE_NONE. */
uint32_t why_tracks_thread(const struct why_tracks *tracks, uint32_t process, uint64_t number);

struct why_names {
    struct trace *const *trace; /* whose sink this is */
    struct why_name *list;
    uint32_t count, room;
    uint32_t *of_number[2]; /* by name, 1 + place in list: calls, and waits */
    uint32_t number_room[2];
    struct why_tracks tracks;
    struct why_job {
        int64_t first_ns, last_ns; /* its calls of MPI that waited; 0, 0: none did */
    } * jobs;                      /* by process */
    uint32_t job_room;
    struct why_worker {
        int64_t first_ns, last_ns; /* its waits for work and locks, from begin to end */
        uint32_t home, votes;      /* the object of most waits for work, if one has most */
    } * workers;                   /* by thread */
    uint32_t worker_room, waker_key, object_key; /* keys: 1 + name; 0: it has not come */
    struct why_gpus gpus;
    struct stalls stalls;      /* waits without an end; after why_names_finish */
    int64_t first_ns, last_ns; /* of all spans */
    uint64_t random, calls, open, lost, refused;
    uint64_t noise_ns; /* what is less of a run of that length is no cause */
    bool matched;      /* some name is wanted */
    bool any_call;     /* a work item's, not a run interval */
    bool failed;
};

/* Its trace will be found at names->trace when it begins. */
struct trace_sink why_names_sink(struct why_names *names);
/* wanted: the names that count, a pattern; NULL: all. */
void why_names_finish(struct why_names *names, const char *wanted, uint64_t given_ns);
/* Those with the most excess, that first that has more; so many. */
unsigned why_names_worst(const struct why_names *names, struct why_name **list, unsigned most);
void why_names_free(struct why_names *names);

/* why_awaited.c: waits of the kinds in which threads wait for work; of locks the first and last. */
bool why_awaited_is(struct trace_text kind);
void why_awaited_add(struct why_names *names, const struct why_name *name,
                     const struct trace_detail *detail, struct why_pick *pick);
/* Drops those in which nobody was at work; sets excess_ns. */
void why_awaited_finish(struct why_names *names);

#endif /* WHY_NAMES_H */
