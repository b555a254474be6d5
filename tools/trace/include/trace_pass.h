/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_pass.h - one pass over files: opened, put on one axis, and read one after the other into a
 * sink.
 *
 * What becomes of the trace is a struct trace_maker's: an exporter, the
 * statistics, the report. The pass opens its output, when all files were found
 * good enough to begin with, and closes it.
 */
#ifndef TRACE_PASS_H
#define TRACE_PASS_H

#include "align.h"
#include "input_list.h"
#include "out.h"
#include "terminal.h"

/* What the command line said of it. */
struct reading_options {
    bool live;        /* with the records that only FILE.live has */
    bool raw_times;   /* GPU work as it was seen, with what noticing it adds */
    bool annotate;    /* GPU work of ranges in Chrome JSON that has none of its own */
    unsigned threads; /* at work, 0 = one a CPU */
    struct input_options inputs;
    struct out_options output;
    struct filter_options filter;
    struct align_options align;       /* of merge; zero for others */
    struct terminal_options terminal; /* whether progress is shown, and colors */
};
extern const struct option reading_option_table[]; /* of struct reading_options: live, threads */
/* The groups of options of a command, in whose config struct reading_options is the member reading.
 */
#define READING_GROUPS(config, filters, terminals)                                                 \
    {"Reading", reading_option_table, offsetof(config, reading)},                                  \
        {"Filters", filters, offsetof(config, reading.filter)},                                    \
        {"Inputs", input_option_table, offsetof(config, reading.inputs)},                          \
        {"Output", out_option_table, offsetof(config, reading.output)},                            \
    {                                                                                              \
        "Terminal", terminals, offsetof(config, reading.terminal)                                  \
    }

struct trace_pass {
    const struct trace_maker *maker;
    const struct reading_options *options;
    const void *asked; /* what the maker was asked for: its own options */
    struct operands inputs;
    uint32_t nodes;    /* of the job, as far as the sources know */
    int64_t origin_ns; /* where the first of them begins */
    bool knows_cpu;    /* one of them has tables that say whether calls ran */
    struct out out;    /* unless the maker has its own output */
    struct job_threads *threads;
    struct filter_options filter; /* of the options, its times since 1970 where that is known */
    struct filter_found found;    /* what it met */
    bool failed;                  /* trace_pass_fail was called */
    bool innermost;           /* set by begin: of GPU work that ranges around a range have none */
    enum trace_stacks stacks; /* the maker's, or set by begin */
    bool is_part;             /* of several outputs: what leads to other files is no news */
    bool nothing;        /* when it ends: the filters left nothing, so nothing is to be written */
    struct trace *trace; /* set between begin and the first call of the sink */
    struct trace_sink sink; /* filled by begin */
    void *state;            /* the maker's */
};

/* All files, in their order. */
struct trace_sources {
    struct trace_source *list;
    struct alignment *alignments;
    int count;
};

struct trace_maker {
    bool own_output; /* opens options->output.path itself, or has none */
    bool clips;      /* wants what lies inside --from and --to, not the spans that reach into it */
    enum trace_stacks stacks;
    bool empty_is_good; /* filters that leave nothing are no mistake: programs ask, in windows */
    /* False with the message given. */
    bool (*begin)(struct trace_pass *pass);
    /* Reads the sources in a way of its own, and closes them or not: there is no trace then. NULL:
     * they are read one after the other into the sink. */
    enum exit_code (*read)(struct trace_pass *pass, const struct trace_sources *sources);
    /* After the last call of the sink, also when reading failed. Frees state. */
    enum exit_code (*end)(struct trace_pass *pass);
};

/* For makers. Without memory: it is said once, and what comes from then on is dropped. */
void trace_pass_fail(struct trace_pass *pass);
/* grow_zeroed32; fails without memory. */
bool trace_pass_grow(struct trace_pass *pass, void *array, uint32_t *room, uint32_t count,
                     size_t element_bytes);
/* For the sink of a state that begins with its pass: it has failed, or the output has. */
bool trace_pass_is_full(void *state);

/* For a maker that reads in its own way: sources, by pass's maker, which has none, into an output
 * of their own. pass is a copy of what read was given, with other options. */
enum exit_code trace_pass_write(struct trace_pass *pass, const struct trace_sources *sources);

enum exit_code trace_pass(const struct trace_maker *maker, const void *asked,
                          const struct reading_options *options, struct operands files);

#endif /* TRACE_PASS_H */
