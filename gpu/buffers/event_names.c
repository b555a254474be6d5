/* SPDX-License-Identifier: Apache-2.0 */
/* What the arrays and the ids of device events are called. */
#include "rbwp_events.h"

#include <stdio.h>

static const struct {
    const char *name;
    unsigned bytes;
} columns[RBWP_EVENTS_COLUMNS] = {
    {"event_id", 4},        {"pid", 4},      {"pid_m", 4},        {"pid_n", 4},     {"cur_rank", 4},
    {"target_rank", 4},     {"xcc_id", 4},   {"cu_id", 4},        {"timestamp", 8}, {"address", 8},
    {"duration_cycles", 8}, {"op_index", 4}, {"payload_size", 4},
};

static const struct {
    int32_t id;
    const char *name;
} names[] = {
    {0, "load"},        {1, "store"},       {2, "get"},         {3, "put"},
    {4, "copy"},        {5, "atomic_add"},  {6, "atomic_sub"},  {7, "atomic_cas"},
    {8, "atomic_xchg"}, {9, "atomic_xor"},  {10, "atomic_and"}, {11, "atomic_or"},
    {12, "atomic_min"}, {13, "atomic_max"}, {1024, "fetch"},    {2048, "compute"},
    {2049, "reduce"},   {3072, "wait"},     {3073, "barrier"},
};

const char *rbwp_events_column_name(unsigned column)
{
    return column < RBWP_EVENTS_COLUMNS ? columns[column].name : NULL;
}

unsigned rbwp_events_column_bytes(unsigned column)
{
    return column < RBWP_EVENTS_COLUMNS ? columns[column].bytes : 0;
}

const char *rbwp_events_name(int32_t id)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].id == id)
            return names[i].name;
    return NULL;
}

const char *rbwp_events_name_of(int32_t id, char text[RBWP_EVENTS_NAME_BYTES])
{
    const char *name = rbwp_events_name(id);
    if (name)
        return name;
    snprintf(text, RBWP_EVENTS_NAME_BYTES, "unknown_%d", (int)id);
    return text;
}
