/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_command.h - what the command rbwp costs on a file that is made here.
 *
 * The file has level-2 records with realistic gaps (log-normal, median
 * 300 ns), of one thread. A stored one (level 0) shows a command alone, a
 * compressed one the command with inflating.
 */
#ifndef BENCH_COMMAND_H
#define BENCH_COMMAND_H

#include <stdint.h>

#define COMMAND_RECORDS_A_PAIR 8
#define COMMAND_RUNS 3

/* Ends the program when it cannot be done. */
void command_make_file(const char *path, uint64_t pairs, int level);

struct command_cost {
    double cpu_s, wall_s;
    long memory_kib;
};
/* The best of three runs into /dev/null. Ends the program when the command fails. */
struct command_cost command_measure(char **argv);
/* The best of so many. output, unless NULL, is a file that the command writes: it is new each time,
 * since a file system may bring one that takes another's name to the disk first. */
struct command_cost command_measure_runs(char **argv, int runs, const char *output);

/* Bytes that the command writes, counted through a pipe so that no disk is filled. */
double command_output_bytes(char **argv);

#endif /* BENCH_COMMAND_H */
