/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names.h - the names of work items (by slot, over time) and sub-items.
 *
 * One registry for the process, independent of sessions: names given before a
 * session starts are in its file. A slot that is released keeps its past uses
 * until the session that may have recorded them has ended.
 */
#ifndef NAMES_H
#define NAMES_H

#include "rbwp_record.h"

/* What a file needs to know. The strings are the registry's and stay valid until names_release. */
struct names_snapshot {
    struct rbwp_work_item_name *work_items; /* by slot; the present or else the last name */
    struct rbwp_sub_item_name *sub_items;   /* by id */
    struct rbwp_slot_use *slot_uses;  /* of slots that were reused; times on the monotonic clock */
    struct rbwp_sub_item_kind *kinds; /* of sub-items that are of one of the program's own */
    uint32_t work_item_count, sub_item_count, slot_use_count, kind_count;
    uint64_t
        left_uses; /* past ones whose names were not kept; one of slot_uses stands for a slot's */
};

/* RBWP_E_MEMORY; the snapshot is then empty, and released. */
enum rbwp_status names_take(struct names_snapshot *snapshot_out);
/* Of a snapshot that was taken, once. */
void names_release(struct names_snapshot *snapshot);

/* All names into the live file. */
void names_log(void);

/* Called when a slot has this name from now on, with no lock held, once it is set
 * (dump.h). */
typedef void names_slot_fn(unsigned slot, const char *name);
extern names_slot_fn *_Atomic names_on_slot;

/* From begin to end, uses of released slots are kept for the file. */
void names_begin_session(void);
void names_end_session(void);

#endif /* NAMES_H */
