/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ptx.h - a module of PTX as statements, and back as text.
 *
 * Reads what compilers and people write without judging what it means: a statement is found by its
 * shape (a line, a semicolon, a pair of braces), so instructions of later versions pass through.
 * The tree is flat: statements stand in the order of the text, a pair of braces is two statements
 * that know each other. Each owns the blanks and comments before it, so printing all gives the text
 * back byte for byte.
 *
 * No GPU, no runtime: this room sees nothing but the C library. Texts are any bytes; errors have a
 * line, a column and a reason. Nothing here prints, exits, or changes the caller's text.
 */
#ifndef PTX_H
#define PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PTX_BYTES_MAX (256u << 20) /* of a text */
#define PTX_NONE UINT32_MAX        /* no statement, no block */

/* Bytes of the text, from begin to before end. */
struct ptx_span {
    uint32_t begin, end;
};

struct ptx_error {
    uint32_t line, column; /* from 1; 0: of no place */
    char reason[200];
};

enum ptx_kind {
    PTX_HEADER,      /* of a function, all before its brace or semicolon */
    PTX_DIRECTIVE,   /* .reg, .file, .section with its braces ... */
    PTX_LOC,         /* .loc in a function */
    PTX_LABEL,       /* with its colon */
    PTX_INSTRUCTION, /* with its guard and semicolon */
    PTX_OPEN,        /* { of a function or of braces in one */
    PTX_CLOSE        /* } */
};

struct ptx_statement {
    enum ptx_kind kind;
    bool guarded;         /* begins with @ */
    uint32_t lead;        /* where the blanks and comments before it begin */
    struct ptx_span span; /* from its first token to its last */
    struct ptx_span name; /* its mnemonic, directive or label */
    struct ptx_span last; /* its last word: where a branch goes to */
    uint32_t line, last_line;
    uint32_t scope; /* PTX_OPEN that it stands in, PTX_NONE outside of functions */
    uint32_t match; /* of PTX_OPEN and PTX_CLOSE: the other one */
};

struct ptx_function {
    bool entry;             /* a kernel */
    struct ptx_span name;   /* empty: it has none */
    struct ptx_span params; /* between the parentheses; empty without */
    uint32_t header;        /* its PTX_HEADER */
    uint32_t open, close;   /* its braces; PTX_NONE: a declaration */
};

struct ptx_module {
    const char *text; /* the caller's */
    uint32_t bytes;
    uint32_t *lines; /* where each line begins; line 1 is lines[0] */
    uint32_t line_count;
    struct ptx_statement *statements;
    uint32_t count;
    struct ptx_function *functions;
    uint32_t function_count;
};

/* False with error filled; ptx_free is needed only after true. text must stay. */
bool ptx_parse(struct ptx_module *module, const char *text, size_t bytes, struct ptx_error *error);
void ptx_free(struct ptx_module *module);

/* ---- what a statement says ------------------------------------------------------------- */

struct ptx_place {
    uint32_t file, line, column;
};
struct ptx_loc {
    struct ptx_place at;
    bool inlined;
    struct ptx_place call; /* where it was inlined */
};
/* The numbers of a PTX_LOC; those that it lacks are 0. */
struct ptx_loc ptx_loc(const struct ptx_module *module, const struct ptx_statement *statement);

/* The number of a .file, 0 if the statement is none. */
uint32_t ptx_file_number(const struct ptx_module *module, const struct ptx_statement *statement);
/* What .file says of a number, without its quotes; empty where nothing does. */
struct ptx_span ptx_file(const struct ptx_module *module, uint32_t number);

/* Whether the bytes of span are text, or begin with it. */
bool ptx_is(const struct ptx_module *module, struct ptx_span span, const char *text);
bool ptx_begins(const struct ptx_module *module, struct ptx_span span, const char *text);

/* The function of that name that has a body, PTX_NONE if there is none. NULL: the first kernel. */
uint32_t ptx_find_kernel(const struct ptx_module *module, const char *name);

/* Names of parameters of function, one after the other: index 0, 1 ...; empty at the end. */
struct ptx_span ptx_param(const struct ptx_module *module, const struct ptx_function *function,
                          uint32_t index);

/* How an instruction moves on. */
enum ptx_move { PTX_ON, PTX_BRANCH, PTX_BRANCH_INDEXED, PTX_LEAVE };
enum ptx_move ptx_move(const struct ptx_module *module, const struct ptx_statement *statement);

/* Units beside the scalar ones that an instruction belongs to. */
enum ptx_class { PTX_SCALAR, PTX_MMA, PTX_WGMMA, PTX_TCGEN05, PTX_CP_ASYNC, PTX_TMA };
enum ptx_class ptx_class(const struct ptx_module *module, const struct ptx_statement *statement);
const char *ptx_class_name(enum ptx_class unit);

/* Whether the mnemonic is one of those that PTX has, up to version 9. */
bool ptx_instruction_known(const struct ptx_module *module, const struct ptx_statement *statement);

/* ---- errors ---------------------------------------------------------------------------- */

/* Fills error with the place of a byte of the text. Always false. */
bool ptx_fail(struct ptx_error *error, const struct ptx_module *module, uint32_t at,
              const char *format, ...) __attribute__((format(printf, 4, 5)));
/* The same of no place. */
bool ptx_fail_plain(struct ptx_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#define PTX_EXCERPT_BYTES 128
/* The line of an error, or the part of it around the column, with blanks for tabs, and a caret that
 * stands below the column. Both empty for an error of no place. */
void ptx_excerpt(const char *text, size_t bytes, const struct ptx_error *error,
                 char line[PTX_EXCERPT_BYTES], char caret[PTX_EXCERPT_BYTES]);

/* ---- printing -------------------------------------------------------------------------- */

/* Text that is put between the bytes of the module's. */
struct ptx_edit {
    uint32_t at;          /* before this byte */
    struct ptx_span text; /* in the bytes of the edits */
};
struct ptx_edits {
    struct ptx_edit *edits; /* in order of at */
    uint32_t count, room;
    char *bytes;
    size_t used, bytes_room;
    bool failed; /* out of memory */
};
void ptx_edits_free(struct ptx_edits *edits);
/* What is added from now on goes before the byte at, which is not before that of the last call. */
void ptx_edit_at(struct ptx_edits *edits, uint32_t at);
void ptx_edit_add(struct ptx_edits *edits, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Where text goes that stands before or after a statement: at the beginning of a line where that is
 * the same. */
uint32_t ptx_before(const struct ptx_module *module, uint32_t statement);
uint32_t ptx_after(const struct ptx_module *module, uint32_t statement);

/* The statements one after the other, with the edits (NULL: none), in memory that the caller frees;
 * NULL without memory. */
char *ptx_print(const struct ptx_module *module, const struct ptx_edits *edits, size_t *bytes_out);

#endif /* PTX_H */
