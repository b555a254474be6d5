/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.h - command-line options from tables.
 *
 * One entry says everything about an option: its names, what it takes, its
 * line of help and the function that stores it. Parsing, --help and shell
 * completions read the same entries. Options that several subcommands share
 * (output, filters) are a group with a table of its own; a group says where
 * in the subcommand's config its values live.
 *
 * Long options are written in full, as "--name value" or "--name=value";
 * letters may be joined ("-fo FILE"); "--" ends the options; options and
 * operands may be mixed; "-" is an operand.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Why a value was refused; one line. */
struct option_error {
    char text[256];
};

struct option {
    const char *name;     /* long name without dashes; NULL ends a table */
    char letter;          /* 0 = none */
    const char *argument; /* what it takes, for the help; NULL = nothing */
    const char *choices;  /* words a completion may offer, blank between them, or a range of
                             numbers: "1..9"; NULL = any */
    const char *help;     /* one line */
    size_t offset;        /* of the value in the group's part of the config */
    /* Stores text (NULL without argument). False with error filled if it cannot be. NULL: a bool
     * becomes true, without argument; the text is kept, without choices; else it is one of these,
     * and 32 bits are kept, the number or the place among the words. */
    bool (*store)(void *value, const char *text, struct option_error *error);
};

/* The words among the choices; NULL: there are none. */
const char *option_words(const struct option *option);

struct option_group {
    const char *title;
    const struct option *options;
    size_t offset; /* of the group's part in the config */
};

/* Keeps the text also where choices are offered. */
bool option_store_text(void *value, const char *text, struct option_error *error);

/* For stores: fills error; false. */
bool option_wrong(struct option_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* For stores: a decimal number from low to high; false with error filled. */
bool option_number(const char *text, uint32_t low, uint32_t high, uint32_t *number_out,
                   struct option_error *error);

/* The same: one of the choices of an option. */
bool option_choice(const char *text, const char *choices, uint32_t *number_out,
                   struct option_error *error);

enum option_result { OPTIONS_DONE, OPTIONS_HELP, OPTIONS_VERSION, OPTIONS_WRONG };

/*
 * Parses words[0..*count), stores into config, and leaves the operands in
 * words with *count set. On OPTIONS_WRONG error says what is wrong.
 */
enum option_result options_parse(const struct option_group *groups, void *config, char **words,
                                 int *count, struct option_error *error);

/* Calls take once for each option, those that every command has included. */
void options_each(const struct option_group *groups,
                  void (*take)(void *context, const struct option *option), void *context);

/* Calls line once for each line of help. */
void options_help(const struct option_group *groups, void (*line)(void *context, const char *text),
                  void *context);

/* The word of the list that was probably meant, or NULL. next gives words until NULL. */
const char *options_nearest(const char *word, const char *(*next)(void *context), void *context);

#endif /* OPTIONS_H */
