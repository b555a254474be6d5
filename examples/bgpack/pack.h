/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack.h - pack a directory tree into a compressed tar with background work.
 */
#ifndef PACK_H
#define PACK_H

#include "rbwp_work.h"
#include "tree.h"

struct pack_options {
    unsigned packers; /* work items that compress at the same time */
    int level;        /* of gzip, 1 to 9 */
    int archive;      /* descriptor to write to, from offset 0 */
    bool quiet;       /* count trouble with entries, but do not print it */
};

struct pack_totals {
    uint64_t files, directories, links, others; /* members of the archive */
    uint64_t skipped;                           /* entries that are missing from it, or in part */
    uint64_t plain_bytes, packed_bytes;         /* of the tar, of the archive */
};

/*
 * Runs the whole job on the manager's workers and waits for it. RBWP_OK, even if entries were
 * skipped (stderr says which); otherwise the archive is not whole and error says why.
 */
enum rbwp_status pack_tree(struct rbwp_work_manager *manager, struct tree *tree,
                           const struct pack_options *options, struct pack_totals *totals_out,
                           struct rbwp_error *error);

#endif /* PACK_H */
