/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_source.h - one file of some profiler, read into a trace.
 *
 * What a file is, is seen from its first bytes (behind gzip, where it is
 * compressed), never from its name. Each kind of file is one struct
 * trace_format in a room of its own; a new kind is a line in
 * importers.h.
 *
 * A source is opened first, which shows how its time relates to that of
 * others (struct trace_facts), and read when it is known by how much it has
 * to be shifted. A pipe is copied to a temporary file.
 */
#ifndef TRACE_SOURCE_H
#define TRACE_SOURCE_H

#include "filter.h"
#include "ordered_jobs.h"
#include "trace.h"
#include "trace_axis.h"

/* ---- made of --------------------------------------------------------------------------------- */

struct recording_id {
    uint64_t os_id; /* of the process; 0 unknown */
    int64_t
        began_ns;  /* when the session did; of an unknown process, the run's zero time; 0: none */
    uint32_t part; /* of a recording that was cut into files; of an unknown process, its node */
};

struct made_of {
    struct recording_id *list;
    uint32_t count, room;
};

struct trace_facts;
struct trace_source;
void made_of_add(struct made_of *made, struct recording_id id);
/* A fact of an export; nothing happens if it is another one. */
void made_of_note(struct made_of *made, struct trace_text key);
/* Adds to a trace the facts that the recordings are in it. */
void made_of_add_facts(struct trace *trace, const struct made_of *made, const char *file);
struct recording_id recording_id_of(const struct trace_facts *facts);
/* Whether one of both is an export that has what the other one is, or a file of it, or has. */
bool made_of_same(const struct trace_source *a, const struct trace_source *b);

/* ---- trace source ---------------------------------------------------------------------------- */

/* The quickest message from another node: when it came less when it was sent, each on its node's
 * clock, counted from its node's zero time. */
struct trace_latency {
    uint32_t from_node;
    int64_t least_ns;
};

/* Which process recorded it. A node number does not say: all that one program starts without a
 * launcher are node 0. */
struct trace_identity {
    uint64_t os_id;   /* 0 unknown */
    uint64_t parent;  /* process id of its parent; 0 unknown */
    bool has_family;  /* its parent or a child of it is among the sources, too */
    int64_t start_ns; /* of the process, since its machine was started; 0 unknown */
    bool has_boot;
    uint8_t
        boot_id[16]; /* of its machine since that was started: those that share it share clocks */
    int64_t session_ns; /* when it began to record; 0 unknown */
    /* Of a file that has a part of a recording: which one, from 1, or 0; enum rbwp_kept_why; from
     * when on it is complete, 0 from where the one before ended. */
    bool kept;
    uint32_t part, why;
    int64_t from_ns;
};

/* Which job it is of; empty and 0: not known. */
struct trace_job {
    struct trace_text id, step, launcher, command;
    uint32_t rank, ranks;
};
/* False if one of both says of a part what the other one contradicts. */
bool trace_same_job(const struct trace_job *a, const struct trace_job *b);

/* What is known of a source before its spans are read. "Axis" is the source's own: nanoseconds
 * since 1970 where it knows them. */
struct trace_facts {
    bool has_node;
    uint32_t node, nodes; /* nodes: of the job, 0 unknown */
    /* Times in the file count from zero_ns, in ns since 1970. has_zero is false when that is not
     * known: then zero_ns is 0 and the times count from whatever the file has as 0. */
    bool has_zero;
    int64_t zero_ns;
    /* The job's common zero: of equal value in all files of one run whose nodes agreed on it. 0
     * unknown. */
    int64_t run_zero_ns;
    /* has_zero is false, but what the file has as 0 is the zero time of its node's run. */
    bool from_run_zero;
    /* Its axis is the system's wall clock, and nothing else is known of it. */
    bool wall_clock;
    /* Axis and wall clock were compared while it was recorded: shift to be added to times of the
     * axis, and by how much that differed. */
    bool has_realtime;
    int64_t realtime_shift_ns;
    uint64_t realtime_error_ns;
    /* The same with the clock that counts since the machine was started. */
    bool has_monotonic;
    int64_t monotonic_shift_ns;
    uint64_t monotonic_error_ns;
    uint64_t error_ns; /* bound of the source's own clock against CLOCK_REALTIME; 0 unknown */
    /* Where the source begins on its axis, if known without reading; else zero_ns. */
    int64_t first_ns;
    int64_t last_ns;        /* where it ends; 0 unknown */
    struct trace_text host; /* empty: unknown */
    struct trace_identity identity;
    const struct trace_latency *latencies;
    uint32_t latency_count;
    struct trace_job job;
    struct made_of made_of; /* of an export of ours; the frame frees it */
    bool knows_cpu;         /* it has tables that say whether calls ran, as far as its index says */
    /* Comparisons of its clock with that of another process of the job, as long as the source. */
    const struct rbwp_node_clock *clocks;
    uint32_t clock_count;
};

struct trace_read_options {
    const struct filter_options *filter; /* NULL: all */
    struct trace_axis axis;              /* that all times are put on */
    bool clock_bounded;                  /* and are wrong there by clock_error_ns at most */
    uint64_t clock_error_ns;
    struct job_threads *threads; /* that may help; NULL: none */
    bool raw_times;              /* GPU work as it was seen, with what noticing it adds */
    bool clip; /* of spans that reach out of the filter's window only what lies in it is wanted */
    bool innermost; /* GPU work counts for the innermost range that it was launched in, alone */
    enum trace_stacks stacks;
    bool annotate; /* annotations of ranges are made where only other formats would have them */
};

struct trace_source {
    const struct trace_format *format;
    const char *name; /* for messages */
    const char *path; /* a regular file; NULL: only fd is there */
    int fd;           /* at its beginning */
    uint32_t number;  /* of the file among all that were given */
    bool live;        /* with what only a live file beside it has */
    struct trace_facts facts;
    bool again;  /* it can be opened again by its name */
    void *state; /* the format's; NULL while it rests: then texts of facts are its own */
    /* Files of the same recording that come before it (recordings.h), in their order. */
    struct trace_source *earlier;
    uint32_t earlier_count;
    bool has_gap; /* nothing is known of some time between two of them */
};

struct trace_format {
    const char *name;  /* "RBWP" */
    const char *files; /* for a list of them: "RBWP files"; at most 48 characters */
    bool (*recognises)(const uint8_t *head, size_t bytes);
    /* Fills facts and state; false with the message given. */
    bool (*open)(struct trace_source *source);
    /* Adds all to the trace; how well that went, with messages given. */
    enum exit_code (*read)(struct trace_source *source, struct trace *trace,
                           const struct trace_read_options *options);
    /* After read or instead of it. Owns fd no more than read did: it is closed by the frame. */
    enum exit_code (*close)(struct trace_source *source);
    /* The same without a word. NULL: such sources cannot rest. */
    void (*leave)(struct trace_source *source);
};

/* Files are tried as what was added here, in that order. Before any is opened, by one thread;
 * nothing happens to one that is known. */
void trace_formats_add(const struct trace_format *format);
/* Prints one sentence: the kinds of files that a source can be. */
void trace_formats_list(void);

/* "-" is standard input. live: RBWP files with the records that only FILE.live has. False with the
 * message given. */
bool trace_source_open(struct trace_source *source, const char *path, bool live);
enum exit_code trace_source_read(struct trace_source *source, struct trace *trace,
                                 const struct trace_read_options *options);
/* Facts go with it. Nothing happens to one that was closed before. */
enum exit_code trace_source_close(struct trace_source *source);

/* Of many files that are open a source needs only facts: it gives up what else it has until it is
 * woken to be read. Nothing happens to one that cannot be opened again. */
void trace_source_rest(struct trace_source *source);
/* False with the message given; the source rests on then. */
bool trace_source_wake(struct trace_source *source);

#endif /* TRACE_SOURCE_H */
