/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind.h - the frames of a stack of which only some words are known (SPEC.md, appendix A:
 * stack_word, code_file).
 *
 * By elfutils' libdw, from the call frame information of the ELF files that were mapped. A file
 * counts if its build id is the one that was recorded. Without libdw, and where no file counts,
 * the innermost frame alone is known.
 *
 * A register that is needed and not known ends that. Then the next frame is guessed: the nearest
 * word that is a return address behind a call of the function in question, or beside a saved frame
 * pointer behind a call of nobody knows what; and from which on the stack goes on as frame
 * information says, to another frame or to its end. Frames found like that are marked.
 */
#ifndef UNWIND_H
#define UNWIND_H

#include "rbwp_table.h"

/* Places below this are registers. */
enum stack_place { PLACE_INSTRUCTION, PLACE_STACK, PLACE_FRAME, PLACE_REGISTERS };

struct stack_word {
    uint64_t place, word;
};

struct code_file {
    uint64_t start, end, offset;
    struct rbwp_text path, build_id; /* hexadecimal; empty: not known */
};

enum { FRAMES_MAX = 256 };

struct unwound_frame {
    uint64_t address;
    const char *function; /* NULL: not known */
    uint64_t offset;      /* in the function, or else in the file */
    const char *file;     /* that was mapped there; NULL: not known */
    const char *source;   /* file; NULL: not known */
    uint32_t line;        /* 0: not known */
    bool guessed;
};

struct unwound {
    const struct unwound_frame *frames; /* the innermost first */
    uint32_t count;
    bool whole; /* up to where the thread began */
};

struct unwind; /* opaque */

/* time_ns, since 1970: a file without a build id counts if it is not younger. NULL without
 * memory. */
struct unwind *unwind_new(const struct code_file *files, uint32_t count, int64_t time_ns);
/* words: ascending by place. Valid until the next one. */
struct unwound unwind_stack(struct unwind *unwind, const struct stack_word *words, uint32_t count);
/* What lies at this address of a file's data: a symbol, "name" or "name+0x8", or else
 * "FILE+0x4010", as it was linked. Returns its bytes, at most bytes - 1; 0: it is in no file that
 * counts. */
size_t unwind_object(struct unwind *unwind, uint64_t address, char *text, size_t bytes);
void unwind_free(struct unwind *unwind);

/* As unwind_object, at this address of a file as it was linked: of path and build_id are asked. The
 * caller frees it; NULL: not known. */
char *unwind_function(const struct code_file *file, uint64_t address, int64_t time_ns);

#endif /* UNWIND_H */
