/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify.h - check an archive against the tree it was made of.
 */
#ifndef VERIFY_H
#define VERIFY_H

#include "rbwp_work.h"

#include <stdint.h>

struct verify_totals {
    uint64_t members; /* seen in the archive */
    uint64_t bytes;   /* of contents that were compared */
    uint64_t wrong;   /* members that differ from the tree; stderr says which */
};

/*
 * Reads the archive from the start of descriptor archive, as a work item of the manager, and
 * compares every member with the entry below root of the same path. RBWP_OK if it could be read
 * to its end; otherwise error says what is wrong with it. Waits.
 */
enum rbwp_status verify_archive(struct rbwp_work_manager *manager, int archive, int root,
                                struct verify_totals *totals_out, struct rbwp_error *error);

#endif /* VERIFY_H */
