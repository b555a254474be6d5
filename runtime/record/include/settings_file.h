/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings_file.h - a file with flags and commands (-bgworkprofile_settings), one a line.
 *
 * Lines that begin with "-" are flags, "#" outside of quotes begins a comment, all others are
 * commands as rbwp ctl gives them: disable, enable and least, of slots by name. The file must be
 * this user's or root's, and nobody else's to write: who may write it controls the recording.
 */
#ifndef SETTINGS_FILE_H
#define SETTINGS_FILE_H

#include "rbwp_format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SETTINGS_BYTES_MAX 65536u
#define SETTINGS_WORDS_MAX 8

/* Its text, which the caller frees. RBWP_E_USAGE: it cannot be read, or is not to be trusted. */
enum rbwp_status settings_read(const char *path, char **text_out, struct rbwp_error *error);

/* The next line that says something: its words, cut out of *rest; more than there is room for are
 * dropped. 0: no further one. Words between double quotes may have blanks. */
size_t settings_line(char **rest, char *words[SETTINGS_WORDS_MAX]);

/* ---- sizes and durations --------------------------------------------------------------------- */

/* Sizes and durations as flags and rules have them: a whole number and a unit. */

/* "64M": K, M or G, of 1024. False: it is none, 0, or too large. */
bool limit_text_bytes(const char *text, size_t count, uint64_t *bytes_out);
/* "30s": ns, us, ms, s, min or h. */
bool limit_text_ns(const char *text, size_t count, uint64_t *ns_out);

/* ---- rules ----------------------------------------------------------------------------------- */

/*
 * What a rule says.
 *
 *     call:NAME>10ms      a call of a work item of this name lasted longer
 *     queue:NAME>5ms      work for one waited longer until it was begun (rbwp_queue.h)
 *     counter:NAME>100    a counter had a larger value (rbwp_counter.h)
 */

enum rule_kind { RULE_CALL, RULE_QUEUE, RULE_COUNTER, RULE_KINDS };

struct rule_text {
    enum rule_kind kind;
    const char *name; /* in the text */
    size_t name_bytes;
    uint64_t limit; /* ns, or the counter's */
};

/* False: it is none. */
bool rule_text_read(const char *text, size_t count, struct rule_text *rule_out);

/* One rule, or several with commas between them. RBWP_E_USAGE: error says how they look. */
enum rbwp_status rule_text_check(const char *text, struct rbwp_error *error);

#endif /* SETTINGS_FILE_H */
