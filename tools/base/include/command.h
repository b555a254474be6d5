/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command.h - what a subcommand is.
 *
 * A subcommand is one file cmd_NAME.c that defines one struct command command_NAME,
 * and its name in the list of main.c. The frame parses the options into a zeroed
 * config of config_bytes, answers --help and --version, and calls run with
 * what is left. Defaults are therefore always zero.
 */
#ifndef COMMAND_H
#define COMMAND_H

#include "options.h"

/* How a tool ends. */
enum exit_code {
    EXIT_GOOD = 0,
    EXIT_BAD_DATA = 1, /* nothing of an input could be read, or the output could not be written */
    EXIT_USAGE = 2,
    EXIT_PARTIAL = 3, /* something was read, and damage was reported */
    EXIT_SLOWER = 4   /* diff: all was read, and something got slower than is tolerated */
};

/* The worse of two: bad data, then partly, then good. */
static inline enum exit_code exit_worse(enum exit_code a, enum exit_code b)
{
    if (a == EXIT_BAD_DATA || b == EXIT_BAD_DATA)
        return EXIT_BAD_DATA;
    return a > b ? a : b;
}

/* The words after the options. */
struct operands {
    char **words;
    int count;
};

/* What the words are. */
enum command_inputs {
    INPUTS_NONE,    /* the command's own business */
    INPUTS_EACH,    /* files (input_list.h), one after the other */
    INPUTS_TOGETHER /* files on one axis of time: the command is given all, also those of which it
                       is to take a part alone (input_list.h) */
};

struct command {
    const char *name;
    const char *summary;               /* one line, no full stop */
    const char *operands;              /* "FILE..." for the usage line */
    const char *description;           /* paragraphs of --help, lines of at most 79 columns */
    const struct option_group *groups; /* ends with an entry without options */
    size_t config_bytes;
    bool needs_file; /* '-' is standard input */
    enum command_inputs inputs;
    size_t inputs_offset; /* of struct input_options in the config, unless INPUTS_NONE */
    enum exit_code (*run)(void *config, struct operands operands);
};

#endif /* COMMAND_H */
