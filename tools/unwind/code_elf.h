/* SPDX-License-Identifier: Apache-2.0 */
/* code_elf.h - ELF files that a recording names, as modules of libdwfl. */
#ifndef CODE_ELF_H
#define CODE_ELF_H

#include "code_map.h"

#include <elfutils/libdwfl.h>

/* Reports each file that counts, of one machine: that of the first. Returns EM_..., EM_NONE: there
 * is no file. */
unsigned code_elf_report(Dwfl *dwfl, const struct code_map *map, int64_t time_ns);
/* The same of one file, at the addresses that it was linked for. False: it does not count. */
bool code_elf_report_linked(Dwfl *dwfl, const struct code_range *range, int64_t time_ns);
/* Which instruction stands before an address: one that calls `target`, one that calls what a
 * register, memory or the linker says, one that calls something else. */
enum code_call { CALL_NONE, CALL_THERE, CALL_ANYWHERE, CALL_ELSEWHERE };
enum code_call code_elf_call(Dwfl *dwfl, const struct code_map *map, unsigned machine,
                             uint64_t address, uint64_t target);

#endif /* CODE_ELF_H */
