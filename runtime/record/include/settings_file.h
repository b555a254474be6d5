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

#define SETTINGS_BYTES_MAX 65536u
#define SETTINGS_WORDS_MAX 8

/* Its text, which the caller frees. RBWP_E_USAGE: it cannot be read, or is not to be trusted. */
enum rbwp_status settings_read(const char *path, char **text_out, struct rbwp_error *error);

/* The next line that says something: its words, cut out of *rest; more than there is room for are
 * dropped. 0: no further one. Words between double quotes may have blanks. */
size_t settings_line(char **rest, char *words[SETTINGS_WORDS_MAX]);

#endif /* SETTINGS_FILE_H */
