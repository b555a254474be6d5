/* SPDX-License-Identifier: Apache-2.0 */
/*
 * why_split.h - what the slow calls of a name have above the ordinary ones, cause by cause.
 *
 * A call's time above the median of the ordinary ones is handed out once: to its time in the
 * queue, to waits whose object is known, to a stretch in which nobody did anything, to time without
 * a CPU, to what it was blocked in otherwise, then to its own CPU time and sub-items. Each cause
 * gets what the call has of it above the mean of the ordinary calls; what is left is unknown.
 */
#ifndef WHY_SPLIT_H
#define WHY_SPLIT_H

#include "why_calls.h"

/* clang-format off */
#define WHY_CAUSE_LIST(CAUSE)                                                                      \
    CAUSE(QUEUE, "queue") CAUSE(BEHIND, "behind") CAUSE(LOCK, "lock") CAUSE(WAIT, "wait")          \
    CAUSE(PREEMPTED, "preempted") CAUSE(PAGE_FAULTS, "page_faults") CAUSE(IO, "io")                \
    CAUSE(GPU_QUEUE, "gpu_queue") CAUSE(GPU, "gpu") CAUSE(LAUNCH, "launch")                        \
    CAUSE(MESSAGE, "message") CAUSE(SUB_ITEM, "sub_item") CAUSE(ARGUMENT, "argument")              \
    CAUSE(EVERYONE, "everyone") CAUSE(SELF, "self") CAUSE(UNKNOWN, "unknown")
/* clang-format on */
#define WHY_CAUSE_NUMBER(cause, word) WHY_CAUSE_##cause,
enum why_cause_number { WHY_CAUSE_LIST(WHY_CAUSE_NUMBER) WHY_CAUSES };
extern const char *const why_cause_words[WHY_CAUSES];

enum { WHY_EVIDENCE = 3 };

struct why_evidence {
    uint32_t thread;
    int64_t start_ns;
    uint64_t duration_ns, excess_ns;
};

/* Threads and names: TRACE_NONE where none is known, or there are several. */
struct why_by {
    uint32_t thread, name; /* who, in the end, and the call that it was in */
    uint32_t wait;         /* what it waited for itself: a kind of wait */
    bool starved;          /* it was ready to run, and had no CPU; a message was under way */
    uint32_t holder;       /* 1 + the thread that had it and waited for that one; 0: none */
};

struct why_cause {
    uint32_t cause; /* enum why_cause_number */
    uint32_t calls;
    uint64_t excess_ns, bound_ns;
    uint32_t name, thread; /* where: the sub-item, or the call; the thread that has most of it */
    bool others;           /* other threads have some as well */
    uint64_t thread_ns;    /* by how much it has most */
    uint32_t kind;         /* of a wait: its name */
    uint64_t object;       /* which lock; 0: not known */
    uint64_t system_call;  /* of blocked time, as in the table open_call */
    struct trace_text object_name, system_call_name; /* empty: not known */
    uint32_t key, value; /* of an argument: name, and number in the texts; TRACE_NONE: none */
    uint64_t faults;
    struct why_by by; /* who stands for most of it */
    uint64_t by_ns;   /* by how much */
    struct why_evidence evidence[WHY_EVIDENCE];
    uint32_t evidence_count;
    uint32_t taken; /* the call that it last got time of, 1 + place; 0: none, or no stacks */
};

struct why_split {
    struct why_cause *list; /* after why_split_make: the most excess first, without the unknown */
    uint32_t count, room;
    uint32_t slow, ordinary;                               /* calls that were looked at */
    uint64_t excess_ns, median_ns, unknown_ns, blocked_ns; /* blocked: of the unknown */
    uint64_t period_ns, for_ns;                            /* 0: none */
    struct why_taken {
        uint32_t next, call; /* of the cause, as above */
    } * taken;
    uint32_t taken_count, taken_room;
    bool failed;
};

void why_split_make(struct why_split *split, const struct why_calls *calls);
/* Of a run that is launch-bound: one cause, whose calls are launches. */
void why_split_of_gpu(struct why_split *split, const struct why_gpu *gpu);
/* Of threads that at the end wait for what another one holds: such a wait is no call, as it has not
 * ended. */
void why_split_of_stalls(struct why_split *split, const struct stalls *stalls);
/* Whether something is worth so much that a scheduler does not do everywhere: it makes calls late
 * now and then, before they begin, while they run or wait; and run intervals of threads that wait
 * for work in a system call are none, nor waits for calls that are slow themselves. name: whose
 * calls these are. */
bool why_split_is_news(const struct why_split *split, const struct why_names *names,
                       const struct why_name *name);
/* Late by less than a scheduler makes calls everywhere, and worth less than a tenth of the run. */
bool why_is_scheduling(uint64_t excess_ns, uint64_t calls, uint64_t run_ns);
void why_split_free(struct why_split *split);

/* Starts that come at equal distances; 0: they do not. In the order of time. */
uint64_t why_period(const int64_t *starts, uint32_t count);
/* How likely at least `hits` of `tries` are, each with that chance. */
double why_chance(uint32_t hits, uint32_t tries, double chance);

#endif /* WHY_SPLIT_H */
