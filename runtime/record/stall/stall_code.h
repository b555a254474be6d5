/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stall_code.h - where this process has code, and rows of the table code_file that say so.
 *
 * One thread at a time, but for code_prepare. Nothing is allocated (stall_proc.h).
 */
#ifndef STALL_CODE_H
#define STALL_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Before a session: no row was written yet. False without memory. */
bool code_prepare(unsigned table);

/* Where a thread's stack is: the mapping that has the address, or, without one, the main thread's.
 */
struct code_stack {
    uint64_t address, start, end; /* end 0: not known */
};
/* Looks through the mappings as they are now. False: they are not known. */
bool code_load(struct code_stack *stacks, unsigned count);

bool code_is_at(uint64_t address);
/* Sees to it that the mapping with the address, if it has code, has its row, between
 * stray_rows_begin and _end. False: there was no room for it. */
bool code_say(uint64_t address);
/* The same of the next one below, of which the data may have the address. */
bool code_say_below(uint64_t address);
/* The number of a name, between stray_rows_begin and _end or before; 0: of none, or of one that
 * there is no room for. */
uint64_t code_name(const char *text, size_t bytes);

/* The bytes of an ELF file's build id as hexadecimal digits, of which there are at most
 * CODE_BUILD_ID_MAX; how many. base: where its first byte is mapped. 0: it has none. */
#define CODE_BUILD_ID_MAX RBWP_EXTEND_BUILD_ID_MAX
unsigned code_build_id(uint64_t base, char *digits_out);

/* ---- symbols --------------------------------------------------------------------------------- */

/* Where the first byte of a file is mapped that has code and was not among those that this has
 * given before in the session; 0: there is none left. */
uint64_t code_new_file(void);

/* The dynamic symbols of an ELF file. */
struct code_symbols {
    uint64_t shift, hash, table, texts; /* hash: DT_GNU_HASH */
    uint32_t header[4];
};
/* base: as above. False: it has none. */
bool code_symbols(uint64_t base, struct code_symbols *symbols_out);
/* The address of one that is defined there; 0: it has none of that name. */
uint64_t code_symbol(const struct code_symbols *symbols, const char *name);

#endif /* STALL_CODE_H */
