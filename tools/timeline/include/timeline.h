/* SPDX-License-Identifier: Apache-2.0 */
/* timeline.h - tracks over time as lines of a terminal: how busy, and with what. */
#ifndef TIMELINE_H
#define TIMELINE_H

#include "result_print.h"
#include "trace_pass.h"

struct timeline_options {
    struct reading_options reading;
    bool ascii, json;
    const char *csv; /* one of the lists of --json */
    uint32_t width;  /* columns, 0: the terminal's */
};

extern const struct result_column timeline_columns[];

enum exit_code timeline_show(const struct timeline_options *options, struct operands files);

#endif /* TIMELINE_H */
