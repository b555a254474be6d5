/* SPDX-License-Identifier: Apache-2.0 */
/* judge_runs.h - what diff and compare have in common: runs of two sides, judged and shown. */
#ifndef JUDGE_RUNS_H
#define JUDGE_RUNS_H

#include "stats_diff.h"
#include "stats_files.h"

/* Files, or folders, in the order in which they were given. */
struct run_list {
    const char *list[DIFF_RUNS_MAX];
    uint32_t count;
};

struct judge_options {
    struct reading_options reading;
    bool json, all, one_run;
    uint32_t min_count;
    const char *page, *junit, *csv;
    int metric; /* enum diff_metric */
    struct {
        bool set;
        uint64_t milli_percent;
    } threshold;
};
extern const struct option judge_option_table[]; /* of struct judge_options */

/* False with the message given: options that contradict each other. */
bool judge_options_good(const struct judge_options *options);
/* Before, then after. Folders of runs are divided into them (repeats.h). */
enum exit_code judge_runs(const struct judge_options *options, const struct run_list sides[2]);

#endif /* JUDGE_RUNS_H */
