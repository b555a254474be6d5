/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record.h - runs a program that nobody changed, and makes a profile of what it did.
 *
 * Each source of records (record_source.h) sets up the program's environment and, when it has
 * ended, makes the file of what was left. The program is run in any case: what cannot be recorded
 * is told in one line. Its exit status, or the signal that ended it, is ours.
 */
#ifndef RECORD_H
#define RECORD_H

#include "out.h"

struct record_options {
    bool ptx;
    bool background; /* what threads do and wait for; not with ptx */
    const char *mode, *file, *threads, *kernel, *capacity; /* as rbwp ptx instrument takes them */
    uint32_t launches;                                     /* of a kernel; 0: the default */
    uint32_t passes;                                       /* 0: one */
    const char *folder; /* that keeps what was collected; NULL: a temporary one */
    const char *report; /* a page; NULL: none */
    struct out_options output;
};

/* The exit status. Does not return when a signal ended the program. There must be room for one word
 * more, as in argv. */
int record_program(const struct record_options *options, struct operands program);

#endif /* RECORD_H */
