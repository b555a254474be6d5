/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The message that ended a wait. No table says so: it is the one message to the process whose
 * handler ended with the wait. Where clocks are not known well enough, nobody is said to be late.
 */
#include "why_causes.h"

#include "trace_link.h"
#include "trace_span.h"

enum { SHARP = 10 }; /* times are to be as good as that part of a wait */

static bool is_near(int64_t a, int64_t b, uint64_t most_ns)
{
    return (a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a) <= most_ns;
}

static bool ended(const struct why_part *part, const struct trace_message *message)
{
    const uint64_t sharp_ns = part->longest_ns / SHARP;
    const bool sharp = message->from_process == message->to_process ||
                       (message->bounded && message->bound_ns <= sharp_ns);
    return (part->kind == WHY_WAIT || part->kind == WHY_WAITING_ITEM) && sharp &&
           message->handled.start_ns <= part->stop_ns &&
           is_near(message->handled.stop_ns, part->stop_ns, sharp_ns);
}

void why_calls_on_message(void *context, const struct trace_message *message)
{
    struct why_calls *calls = context;
    const struct why_track *sender = why_tracks_of(&calls->tracks, message->sent.track);
    uint32_t i = why_calls_windows_until(calls, message->handled.stop_ns);
    while (sender && i-- > 0 && calls->windows[i].until_ns >= message->handled.start_ns) {
        const struct why_call *call = &calls->list[calls->windows[i].call];
        if (calls->tracks.list[call->thread].track.process != message->to_process ||
            message->handled.start_ns > call->end_ns)
            continue;
        for (uint32_t at = call->parts; at; at = calls->parts[at - 1].next) {
            struct why_part *part = &calls->parts[at - 1];
            if (!ended(part, message))
                continue;
            part->messages++;
            part->sender = sender->thread;
            part->sent_ns = message->sent.start_ns;
            part->arrived_ns = message->handled.arrived_ns;
        }
    }
}

bool why_message_of(const struct why_calls *calls, const struct why_part *part, struct why_by *by)
{
    const int64_t half_ns = (int64_t)(part->longest_ns / 2);
    if (part->messages != 1 || part->sender == TRACE_NONE)
        return false;
    if (why_overlap_ns(part->start_ns, part->stop_ns, part->start_ns, part->sent_ns) >= half_ns) {
        *by = why_by_thread(calls, part->sender, part->start_ns, part->sent_ns);
        return true;
    }
    *by = (struct why_by){part->sender, TRACE_NONE, TRACE_NONE, true};
    return why_overlap_ns(part->start_ns, part->stop_ns, part->sent_ns, part->arrived_ns) >=
           half_ns;
}
