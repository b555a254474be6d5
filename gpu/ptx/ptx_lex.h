/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ptx_lex.h - the tokens of PTX.
 *
 * Blanks, comments and lines of a preprocessor stand between tokens. A word is a name, number,
 * directive or mnemonic with all its dots; a colon ends it, two of them do not (shared::cta).
 */
#ifndef PTX_LEX_H
#define PTX_LEX_H

#include "ptx.h"

enum { PTX_TOKEN_END = 0, PTX_TOKEN_WORD = 'w', PTX_TOKEN_STRING = 's' };

struct ptx_lex {
    struct ptx_module *module; /* gets its table of lines */
    struct ptx_error *error;
    uint32_t at, lines_room;
    /* The token: its kind (or the character that it is), bytes and line. */
    char kind;
    struct ptx_span span;
    uint32_t line;
};

/* Both read a token; false with the error filled. */
bool ptx_lex_start(struct ptx_lex *lex, struct ptx_module *module, struct ptx_error *error);
bool ptx_lex_next(struct ptx_lex *lex);

#endif /* PTX_LEX_H */
