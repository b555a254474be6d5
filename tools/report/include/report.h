/* SPDX-License-Identifier: Apache-2.0 */
/* report.h - a trace as one page that opens anywhere: one HTML file that needs no network. */
#ifndef REPORT_H
#define REPORT_H

#include "stats_diff.h"
#include "trace_pass.h"

enum { REPORT_DETAIL_MB = 32, REPORT_DETAIL_MB_MAX = 400 };

struct report_options {
    struct reading_options reading;
    struct {
        bool set;
        uint32_t megabytes;
    } detail;          /* of the page, for single spans */
    const char *cache; /* where sums of single files are kept; NULL: nowhere */
    const char
        *source;    /* of kernels: a file, or a folder with files; NULL: where the profile says */
    bool no_source; /* the page has none of it */
};

enum exit_code report_files(const struct report_options *options, struct operands files);

/* ---- diff page ------------------------------------------------------------------------------- */
/* Two runs, or several of two sides, beside each other as one page (report.h). */

struct diff_page {
    const struct diff *diff;
    const struct stats *const *stats; /* of the runs of a, then of b; with options.cells */
    char *const *files;               /* theirs */
};

/* False with the message given: something is missing in the page. */
bool diff_page_write(struct out *out, const struct diff_page *page);

#endif /* REPORT_H */
