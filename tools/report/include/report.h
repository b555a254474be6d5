/* SPDX-License-Identifier: Apache-2.0 */
/* report.h - a trace as one page that opens anywhere: one HTML file that needs no network. */
#ifndef REPORT_H
#define REPORT_H

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

#endif /* REPORT_H */
