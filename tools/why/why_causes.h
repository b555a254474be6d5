/* SPDX-License-Identifier: Apache-2.0 */
/* why_causes.h - what one cause needs beyond a call's times: who it was, and what calls share. */
#ifndef WHY_CAUSES_H
#define WHY_CAUSES_H

#include "why_split.h"

enum { USUAL_PARTS = 256 };
#define NEARLY 0.9 /* all */

/* Of the ordinary calls; means after why_split has made them. */
struct usual {
    double calls, with_cpu;
    double queue_ns, running_ns, runnable_ns, waiting_ns, faults;
    double tail_ns; /* from the end of its GPU work to its own */
    uint64_t median_ns, *totals;
    struct usual_part {
        uint8_t kind;
        uint32_t name;
        double ns; /* of all */
    } parts[USUAL_PARTS];
    uint32_t count;
};

/* The excess of a call on its way to causes. */
struct handing {
    struct why_split *split;
    const struct why_calls *calls;
    const struct why_call *call;
    struct usual *usual;
    uint64_t left_ns;
    double located_ns; /* of the call's blocked time, what is known of */
    double gpu_ns;     /* got by causes of the GPU, and not yet taken off what the thread did */
    double running_ns; /* CPU time above the usual, without that */
};

enum why_cause_number why_cause_of_wait(const struct why_calls *calls, const struct why_call *call,
                                        const struct why_part *part);
/* Who held what the part of the call waited for. */
struct why_by why_by_of(const struct why_calls *calls, const struct why_call *call,
                        const struct why_part *part);
/* Who ended what the call was blocked in, at its end, if looks say that it was a futex. */
struct why_by why_by_of_blocked(const struct why_calls *calls, const struct why_call *call);
/* What the one who held it did meanwhile, by looks. */
struct why_by why_by_of_look(const struct why_calls *calls, const struct why_call *call,
                             int64_t from_ns, int64_t to_ns);
/* Whether somebody was at work, in calls or in waits that are not for work, for most of the longest
 * wait of the call, itself a wait; also where it is not known who ended it. */
bool why_is_awaited(const struct why_calls *calls, const struct why_call *call);
/* Whether the part waited for a message: who sent it late, or (by->starved) it was under way long.
 */
bool why_message_of(const struct why_calls *calls, const struct why_part *part, struct why_by *by);
/* How long no thread of the process did anything while the call was open, where at least two of
 * them else do something all the time, and none ran; 0: not so. */
int64_t why_stood_still(const struct why_calls *calls, const struct why_call *call);
void why_find_argument(struct why_split *split, const struct why_calls *calls, uint64_t median_ns);
void why_find_period(struct why_split *split, const struct why_calls *calls);
/* What a run without the cause could gain: threads wait side by side. */
void why_find_bounds(struct why_split *split, const struct why_calls *calls);

#endif /* WHY_CAUSES_H */
