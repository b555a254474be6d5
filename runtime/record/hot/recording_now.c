/* SPDX-License-Identifier: Apache-2.0 */
/* recording_now.c - which session records, and at which level: what all who record look at. */
#include "recording.h"

int rbwp_level_;
struct recording *recording_now;
void (*recording_begins_late)(void);

static bool is_recording(void)
{
    return __builtin_expect(__atomic_load_n(&recording_now, __ATOMIC_ACQUIRE) != NULL, 1);
}

bool recording_is_there(void)
{
    if (is_recording())
        return true;
    if (recording_begins_late)
        recording_begins_late();
    return is_recording();
}

uint64_t recording_ticks(uint64_t ticks)
{
    if (is_recording())
        return ticks;
    return recording_is_there() ? rbwp_now_ticks() : ticks;
}
