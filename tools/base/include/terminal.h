/* SPDX-License-Identifier: Apache-2.0 */
/*
 * terminal.h - what a terminal may be sent.
 *
 * Colours only where the output is a terminal that wants them (NO_COLOR,
 * https://no-color.org) or where --color says so; its width; whether it knows
 * more than ASCII.
 */
#ifndef TERMINAL_H
#define TERMINAL_H

#include "options.h"

enum terminal_color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

struct terminal_options {
    int color; /* enum terminal_color */
    bool no_progress;
};
extern const struct option terminal_option_table[]; /* of struct terminal_options */
/* The same for output that has no colours. */
extern const struct option progress_option_table[];

/* Escape sequences, empty where there are no colours. */
struct colors {
    const char *bold, *dim, *red, *off;
    bool any;
};
struct colors terminal_colors(const struct terminal_options *options, int fd);

/* Columns: of the terminal, else $COLUMNS, else 100. */
unsigned terminal_width(int fd);
/* Whether the locale's encoding is UTF-8. */
bool terminal_is_utf8(void);

#endif /* TERMINAL_H */
