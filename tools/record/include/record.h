/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record.h - runs an unmodified program, and makes a profile of what it did.
 *
 * What it records is chosen by sources, or it is the time of source lines in kernels (ptx). The
 * program is run in any case: what cannot be recorded is said in one line. Its exit status, or the
 * signal that ended it, is ours.
 */
#ifndef RECORD_H
#define RECORD_H

#include "out.h"

#include <limits.h>

enum record_source {
    RECORD_GPU = 1,     /* kernels, copies, sets */
    RECORD_RANGES = 2,  /* what the program marks by NVTX */
    RECORD_THREADS = 4, /* what threads do and wait for */
    RECORD_WORK = 8     /* of a program that records itself, by librbwp */
};
#define RECORD_ALL (RECORD_GPU | RECORD_RANGES | RECORD_THREADS | RECORD_WORK)

struct record_options {
    bool ptx;
    unsigned sources;          /* enum record_source; 0: what is there. Not with ptx */
    int64_t after_ns, for_ns;  /* what is recorded of the program's time; for 0: all of it */
    int64_t stacks_ns;         /* of threads and work: stacks of what takes longer; 0: none */
    const char *capture_range; /* and of GPUs and ranges: while this one is open. NULL: always */
    int capture_signal;        /* between two of these; 0: always */
    uint32_t pid;              /* a program that runs; 0: one is run */
    const char *mode, *file, *threads, *kernel, *capacity; /* as rbwp ptx instrument takes them */
    uint32_t launches;                                     /* of a kernel; 0: the default */
    uint32_t passes;                                       /* 0: one */
    const char *folder; /* that keeps what was collected; NULL: a temporary one */
    const char *report; /* a page; NULL: none */
    uint32_t level;     /* of work; 0: 2 */
    bool repeated; /* one of several runs: nothing is said of what was recorded, and the program
                      has no input and no output but standard error */
    struct out_options output;
};

/* The exit status. Does not return when a signal ended the program. There must be room for one word
 * more, as in argv. */
int record_program(const struct record_options *options, struct operands program);

/* One run that is recorded, without ptx: the status is what waitpid says, -1 where there was no
 * process. */
int record_sources(const struct record_options *options, struct operands program, bool *left_out);

/* Runs of two programs by turns, A B B A, each recorded into a folder of its own: FOLDER/a/01,
 * FOLDER/b/01 and so on. */
struct record_pairs {
    struct record_options record; /* sources, level and the like; not the output */
    struct operands programs[2];  /* with room for one word more behind each */
    uint32_t runs, warm_up;       /* of each; those to warm up come first, and are not kept */
    const char *folder;
    bool force; /* runs that are in it already are removed */
    bool quiet; /* nothing is said of how long they took */
};
/* False with the message given: a program failed, or left no recording. Does not return when the
 * user stops it. folders_out: FOLDER/a and FOLDER/b. */
bool record_pairs(const struct record_pairs *pairs, char folders_out[2][PATH_MAX]);

/* Of a program that runs, and records itself: what it does from now on. */
enum exit_code record_process(const struct record_options *options);

/* The page of options->report. False with the message given. */
bool record_page(const struct record_options *options, struct operands files);

#endif /* RECORD_H */
