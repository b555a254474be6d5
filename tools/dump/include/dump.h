/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump.h - the three shapes of rbwp dump, one file each.
 *
 * Each writes one input and leaves opening and closing to cmd_dump.c.
 */
#ifndef DUMP_H
#define DUMP_H

#include "input_list.h"
#include "filter.h"
#include "gpu_bias.h"
#include "out.h"

/* Rows shown of each table. */
struct dump_rows_bound {
    bool set;
    uint32_t rows;
};

struct dump_options {
    struct input_options inputs;
    bool ndjson, spans, live, gpu_bias;
    struct dump_rows_bound rows_max;
    unsigned threads; /* at work, 0 = one a CPU */
    struct out_options output;
    struct filter_options filter;
};

struct dump {
    const struct dump_options *options;
    struct out out;
    struct job_threads *threads;
    uint64_t written; /* elements of the outermost array so far */
    struct filter_found found;
    struct gpu_facts facts; /* of the present input; empty unless --gpu-bias or --spans */
    struct gpu_bias bias;   /* likewise; empty without --gpu-bias */
};

/* Each returns how the dumping went; the state of the input is reported when it is closed. */
enum exit_code dump_blocks(struct dump *dump, struct input *input);  /* one JSON object */
enum exit_code dump_records(struct dump *dump, struct input *input); /* one line a record */
enum exit_code dump_spans(struct dump *dump, struct input *input);   /* spans: array or lines */

#endif /* DUMP_H */
