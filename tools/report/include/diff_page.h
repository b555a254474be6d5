/* SPDX-License-Identifier: Apache-2.0 */
/* diff_page.h - two runs, or several of two sides, beside each other as one page (report.h). */
#ifndef DIFF_PAGE_H
#define DIFF_PAGE_H

#include "out.h"
#include "stats_diff.h"

struct diff_page {
    const struct diff *diff;
    const struct stats *const *stats; /* of the runs of a, then of b; with options.cells */
    char *const *files;               /* theirs */
};

/* False with the message given: something is missing in the page. */
bool diff_page_write(struct out *out, const struct diff_page *page);

#endif /* DIFF_PAGE_H */
