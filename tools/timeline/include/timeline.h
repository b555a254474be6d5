/* SPDX-License-Identifier: Apache-2.0 */
/* timeline.h - tracks over time as lines of a terminal: how busy, and with what. */
#ifndef TIMELINE_H
#define TIMELINE_H

#include "export.h"
#include "terminal.h"

struct timeline_options {
    struct export_options trace; /* output and filter are used */
    struct terminal_options terminal;
    bool ascii;
    uint32_t width; /* columns, 0: the terminal's */
};

enum exit_code timeline_show(const struct timeline_options *options, struct operands files);

#endif /* TIMELINE_H */
