/* SPDX-License-Identifier: Apache-2.0 */
/* Waits between outermost spans. */
#include "waits.h"

#include "message.h"
#include "grow.h"
#include "trace_span.h"

#include <stdlib.h>
#include <string.h>

static struct waits_track *find_track(struct waits *waits, uint32_t track)
{
    if (!grow_zeroed32(&waits->tracks, &waits->track_room, track + 1, sizeof *waits->tracks))
        return NULL;
    return &waits->tracks[track];
}

static void sink_down(struct waits *waits, uint32_t at)
{
    struct wait moved = waits->longest[at];
    for (uint32_t child; (child = 2 * at + 1) < waits->count; at = child) {
        if (child + 1 < waits->count &&
            waits->longest[child + 1].duration_ns < waits->longest[child].duration_ns)
            child++;
        if (moved.duration_ns <= waits->longest[child].duration_ns)
            break;
        waits->longest[at] = waits->longest[child];
    }
    waits->longest[at] = moved;
}

static void keep_longest(struct waits *waits, struct wait wait)
{
    if (waits->count < WAITS_LONGEST) {
        waits->longest[waits->count++] = wait;
        for (uint32_t at = waits->count / 2; waits->count == WAITS_LONGEST && at-- > 0;)
            sink_down(waits, at);
    } else if (wait.duration_ns > waits->longest[0].duration_ns) {
        waits->longest[0] = wait;
        sink_down(waits, 0);
    }
}

static void waits_fail(struct waits *waits)
{
    message_once(&waits->failed, "out of memory; waits are missing");
}

void waits_add(struct waits *waits, const struct trace_span *span)
{
    if (span->depth > 0 || span->parent)
        return;
    struct waits_track *track = find_track(waits, span->track);
    if (!track) {
        waits_fail(waits);
        return;
    }
    if (track->any && span->start_ns > track->until_ns) {
        uint64_t duration_ns = (uint64_t)span->start_ns - (uint64_t)track->until_ns;
        if (!histogram_add(&track->durations, duration_ns))
            waits_fail(waits);
        keep_longest(waits, (struct wait){track->until_ns, duration_ns, span->track});
    }
    track->until_ns =
        track->any && track->until_ns > span->stop_ns ? track->until_ns : span->stop_ns;
    track->any = true;
}

static int longer_first(const void *a, const void *b)
{
    const struct wait *first = a, *second = b;
    if (first->duration_ns != second->duration_ns)
        return first->duration_ns > second->duration_ns ? -1 : 1;
    return first->start_ns < second->start_ns ? -1 : first->start_ns > second->start_ns;
}

void waits_finish(struct waits *waits)
{
    qsort(waits->longest, waits->count, sizeof *waits->longest, longer_first);
}

void waits_free(struct waits *waits)
{
    for (uint32_t i = 0; i < waits->track_room; i++)
        histogram_free(&waits->tracks[i].durations);
    free(waits->tracks);
}

const struct histogram *waits_of(const struct waits *waits, uint32_t track)
{
    bool any = track < waits->track_room && waits->tracks[track].durations.total > 0;
    return any ? &waits->tracks[track].durations : NULL;
}
