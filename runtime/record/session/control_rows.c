/* SPDX-License-Identifier: Apache-2.0 */
#include "control_rows.h"

#include "known_tables.h"
#include "names.h"
#include "rbwp_rows.h"
#include "recording.h"
#include "slot_limits.h"

#include <string.h>

static const struct rbwp_schema schema = KNOWN_SCHEMA(control);

/* Guarded by the registry's lock. */
static uint64_t left_out_before[RBWP_SLOTS_MAX];

void control_note(const char *what, unsigned slot, const char *slot_name, uint64_t value)
{
    unsigned table;
    uint64_t what_number, name_number = 0;
    /* In a child that waits for its first record nothing records yet. */
    if (!rbwp_is_on_(1) || !__atomic_load_n(&recording_now, __ATOMIC_ACQUIRE) ||
        rbwp_table_register(&schema, &table) != RBWP_OK ||
        rbwp_name_intern(what, strlen(what), &what_number) != RBWP_OK)
        return;
    if (*slot_name && rbwp_name_intern(slot_name, strlen(slot_name), &name_number) != RBWP_OK)
        name_number = 0;
    const uint64_t cells[] = {(uint64_t)rbwp_now_ns(), what_number, slot, name_number, value};
    rbwp_row_add(table, cells);
}

static void note_limits(const struct rbwp_work_item_name *item)
{
    const struct slot_limits limits = slot_limits_of(item->slot);
    if (limits.disabled)
        control_note("disable", item->slot, item->name, 0);
    if (limits.least_ns)
        control_note("least", item->slot, item->name, limits.least_ns);
}

uint64_t control_left_out(unsigned slot)
{
    thread_registry_lock();
    uint64_t count = slot_limits_left_out(slot) - left_out_before[slot];
    thread_registry_unlock();
    return count;
}

void control_count_from_now(void)
{
    thread_registry_lock();
    for (unsigned slot = 0; slot < RBWP_SLOTS_MAX; slot++)
        left_out_before[slot] = slot_limits_left_out(slot);
    thread_registry_unlock();
}

static void note_left_out(const struct rbwp_work_item_name *item)
{
    const uint64_t count = control_left_out(item->slot);
    if (count)
        control_note("left out", item->slot, item->name, count);
}

static void note_each(void (*note)(const struct rbwp_work_item_name *item))
{
    struct names_snapshot names;
    if (!slot_limits_ever() || names_take(&names) != RBWP_OK)
        return;
    for (uint32_t i = 0; i < names.work_item_count; i++)
        note(&names.work_items[i]);
    names_release(&names);
}

void control_note_limits(void)
{
    note_each(note_limits);
}

void control_note_left_out(void)
{
    note_each(note_left_out);
}
