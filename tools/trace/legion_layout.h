/* SPDX-License-Identifier: Apache-2.0 */
/*
 * legion_layout.h - how a record of a Legion Prof log is read: what the log declares of its kind,
 * corrected where writers are known to declare what they do not write.
 */
#ifndef LEGION_LAYOUT_H
#define LEGION_LAYOUT_H

#include "legion_log.h"

enum { STEP_NOT_WANTED = LEGION_FIELDS, STEP_WANTED_TEXT = LEGION_FIELDS + 1 };

enum step_shape { STEP_FIXED, STEP_TEXT, STEP_POINT, STEP_ARRAY, STEP_UUID };

struct step {
    char name[24];
    uint8_t shape; /* enum step_shape */
    uint8_t field; /* enum legion_field, STEP_NOT_WANTED or STEP_WANTED_TEXT */
    bool only_reduce;
    uint32_t bytes; /* of STEP_FIXED */
};

struct legion_layout {
    uint32_t id;
    enum legion_kind kind;
    char name[48];
    enum legion_layout_state { LAYOUT_USED, LAYOUT_LEFT_OUT, LAYOUT_UNKNOWN, LAYOUT_LACKS } state;
    uint64_t lacks; /* fields, as bits; of LAYOUT_LACKS those without which it is left out */
    uint64_t records;
    uint32_t count;
    struct step *steps;
};

/* "Name {id:NUMBER, field, field}", terminated. NULL, or what is wrong with it. The caller frees
 * layout_out->steps. */
const char *legion_layout_parse(const char *line, uint32_t version,
                                struct legion_layout *layout_out);

/* Of the records that were read: what is left out, and what is missing, by kind. */
void legion_layouts_tell(const char *name, const struct legion_layout *layouts, uint32_t count);

#endif /* LEGION_LAYOUT_H */
