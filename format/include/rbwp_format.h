/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbwp_format.h - the words of the RBWP file format, version 1.
 *
 * Constants, record kinds, status codes and the decoded record. SPEC.md is the
 * normative text; names here are the names used there. This header needs
 * nothing but the C library and is safe to include from C++.
 *
 * All times are nanoseconds. Unless a field says otherwise they are absolute:
 * nanoseconds since 1970-01-01 UTC, without leap seconds (SPEC.md, "Time").
 */
#ifndef RBWP_FORMAT_H
#define RBWP_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define RBWP_C_BEGIN_ extern "C" {
#define RBWP_C_END_ }
#else
#define RBWP_C_BEGIN_
#define RBWP_C_END_
#endif
RBWP_C_BEGIN_

#define RBWP_VERSION_MAJOR 0
#define RBWP_VERSION_MINOR 2
#define RBWP_VERSION_PATCH 0
#define RBWP_VERSION_STRING "0.2.0"

/*
 * Before 1.0 the ABI changes with the minor version. What inlined calls touch therefore has the
 * minor version in its symbol's name: a program built with another version's headers does not link
 * with this library, and is not loaded with it (docs/design/abi.md).
 */
#define RBWP_TEXT_(number) #number
#define RBWP_TEXT_OF_(number) RBWP_TEXT_(number)
#define RBWP_ABI_NAME_(name)                                                                       \
    __asm__(name RBWP_TEXT_OF_(RBWP_VERSION_MAJOR) "_" RBWP_TEXT_OF_(RBWP_VERSION_MINOR))

#if defined(__GNUC__)
#define RBWP_API __attribute__((visibility("default")))
#define RBWP_MUST_USE __attribute__((warn_unused_result))
#else
#define RBWP_API
#define RBWP_MUST_USE
#endif

/* The version of the library in use, "0.2.0". May differ from the header's. */
RBWP_API const char *rbwp_version(void);

/* ---- status codes ------------------------------------------------------ */

/*
 * What a call came to. 0 is done, positive values are ordinary answers that
 * are not failures, negative values are failures.
 */
enum rbwp_status {
    RBWP_OK = 0,
    RBWP_END = 1,   /* no more: the end was reached in good order */
    RBWP_AGAIN = 2, /* not now: try again later */

    RBWP_E_INVALID = -1,     /* an argument is outside its documented range */
    RBWP_E_MEMORY = -2,      /* an allocation failed */
    RBWP_E_IO = -3,          /* the operating system refused a read, write, open ... */
    RBWP_E_NOT_RBWP = -4,    /* the data does not begin with the RBWP magic */
    RBWP_E_VERSION = -5,     /* a version or must-understand part this library does not know */
    RBWP_E_CORRUPT = -6,     /* the data breaks a rule of SPEC.md */
    RBWP_E_TRUNCATED = -7,   /* the data stops before it should */
    RBWP_E_LIMIT = -8,       /* more than the format or a stated bound allows */
    RBWP_E_BUSY = -9,        /* somebody else holds what was asked for */
    RBWP_E_STATE = -10,      /* not possible in the present state (closed, not started ...) */
    RBWP_E_USAGE = -11,      /* a command-line flag or its value is wrong */
    RBWP_E_UNSUPPORTED = -12 /* not available here: this machine, build or call */
};

/* A short English name for a status ("corrupt data"). Never NULL. */
RBWP_API const char *rbwp_status_text(enum rbwp_status status);

/*
 * Where and why something failed. Filled by calls that take one; a caller
 * that does not care passes NULL. The text is one line without a newline and
 * says what happened, where, and where possible what to do.
 */
struct rbwp_error {
    enum rbwp_status status;
    uint64_t offset; /* in the file, bytes; UINT64_MAX when it has no place */
    const char
        *section;  /* "header", "block", "record", "descriptors", "trailer" ... or "" (static) */
    unsigned rule; /* number of the broken rule in SPEC.md, 0 if none */
    int os_errno;  /* errno of the failed system call, 0 if none */
    char text[256];
};

/* ---- file layout (SPEC.md, "Layout") ----------------------------------- */

#define RBWP_MAGIC "RBWP"
#define RBWP_FILE_VERSION 1
#define RBWP_FILE_HEADER_BYTES 36
#define RBWP_FILE_FLAGS_OFFSET 6 /* in it, of the flags, 16 bits */
#define RBWP_BLOCK_HEADER_BYTES 32

#define RBWP_FLAG_LEVEL2 0x0001u /* bit 0 of the header's flags: level-2 data may be present */

#define RBWP_SLOTS_MAX 256        /* slots are 0-255 */
#define RBWP_SUB_ITEMS_MAX 65536  /* sub-item ids are 0-65535 */
#define RBWP_NAME_BYTES_MAX 65535 /* names are any bytes, no terminator */
#define RBWP_TIME_BITS 62         /* an absolute record time keeps 62 bits */

/* A reader allocates no more than this for one block, whatever the file says. */
#define RBWP_BLOCK_BYTES_MAX (16u << 20)

/* Largest encoded record: 8-byte time, kind, 25-byte payload. */
#define RBWP_RECORD_BYTES_MAX 34
/* Smallest encoded record: 2-byte time and kind. */
#define RBWP_RECORD_BYTES_MIN 3

/* Kinds of record, as stored. */
enum rbwp_kind {
    RBWP_COARSE_BEGIN = 0x01, /* a work item's do_work was entered; slot */
    RBWP_COARSE_END = 0x02,
    RBWP_FINE_BEGIN = 0x11, /* a sub-item began; sub_item */
    RBWP_FINE_END = 0x12,
    RBWP_GPU_WORK = 0x21 /* GPU work launched by a slot: proc_id, slot, start, stop */
};

/* Types of sub-item, as stored in the sub-item table. */
enum rbwp_sub_item_type {
    RBWP_AM_HANDLER = 0,
    RBWP_XFER_CHANNEL = 1,
    RBWP_DEPPART_OP = 2,
    RBWP_GPU_REAP = 3,
    /* Kinds of a program's own (rbwp_sub_item_kind_register): not stored as types. */
    RBWP_OWN_KIND_FIRST = 128,
    RBWP_OWN_KIND_LAST = 255
};

/* "COARSE_BEGIN", "GPU_WORK" ...; "UNKNOWN" for other values. Static text. */
RBWP_API const char *rbwp_kind_name(unsigned kind);
/* "AM_HANDLER", "XFER_CHANNEL" ...; "UNKNOWN" for other values. Static text. */
RBWP_API const char *rbwp_sub_item_type_name(unsigned type);

/* One record, decoded. Fields that a kind does not carry are 0. */
struct rbwp_record {
    int64_t time_ns;    /* absolute; see RBWP_TIME_BITS */
    uint32_t offset;    /* inside the uncompressed block data, bytes */
    uint8_t time_bytes; /* 2, 4 or 8, as encoded */
    uint8_t kind;       /* enum rbwp_kind */
    uint8_t slot;       /* COARSE_BEGIN, GPU_WORK */
    uint16_t sub_item;  /* FINE_BEGIN */
    uint64_t proc_id;   /* GPU_WORK: Realm processor id or the user's own */
    int64_t start_ns;   /* GPU_WORK: as stored, may be negative or after stop */
    int64_t stop_ns;    /* GPU_WORK */
};

/* The 36-byte file header, decoded. Counts and offset are 0 in a file that was never finalised. */
struct rbwp_file_header {
    uint16_t version;
    uint16_t flags; /* RBWP_FLAG_* */
    uint32_t node;
    int64_t zero_time_ns;
    uint32_t work_items;        /* entries in the work-item table */
    uint32_t sub_items;         /* entries in the sub-item table */
    uint64_t descriptor_offset; /* file offset of the tables; 0 = not finalised */
};

/* The 32-byte header of a block, decoded. */
struct rbwp_block_header {
    uint64_t thread_id;
    uint32_t sequence;
    uint32_t records;      /* 0 marks an opaque block (an extension) */
    int64_t base_time_ns;  /* time of the first record */
    uint32_t data_bytes;   /* uncompressed */
    uint32_t stored_bytes; /* zlib stream; 0 = data_bytes bytes stored as they are */
};

/* An entry of the work-item table. The name is name_bytes of any bytes, not terminated. */
struct rbwp_work_item_name {
    uint16_t slot;
    uint16_t name_bytes;
    const char *name;
};

/* An entry of the sub-item table. */
struct rbwp_sub_item_name {
    uint16_t id;
    uint8_t type; /* enum rbwp_sub_item_type, or a later one */
    uint16_t name_bytes;
    const char *name;
};

/* ---- GPU work, beside its records: an extension (SPEC.md, "gpux") ---------------- */

#define RBWP_GPU_EXTRA_TAG "gpux"
#define RBWP_GPU_EXTRA_HEAD_BYTES 16 /* behind the tag, before the entries */
#define RBWP_GPU_EXTRA_BYTES 56      /* an entry as it is written; those read have 40 or more */

/* What is known of the GPU_WORK record with the same processor id, start and stop. */
struct rbwp_gpu_extra {
    int64_t start_ns, stop_ns; /* as in the record */
    int64_t launch_ns;         /* when the call that launched it began to */
    uint64_t thread_id;        /* that made it, as in block headers; 0 = one that does not record */
    uint32_t start_gap_ns, stop_gap_ns; /* upper bounds on the error */
    int64_t launched_ns;                /* when that call had been made; 0 = not known */
    uint32_t launching_ns; /* the stream had been free so long before start: the work was being
                              launched, or ran already; 0 with a stream that was busy */
    uint32_t flags;        /* RBWP_GPU_EXTRA_IDLE; others are for later */
};
#define RBWP_GPU_EXTRA_IDLE 1u /* the stream was free at the launch: start is launched_ns */

/* ---- the trailer, an extension (SPEC.md, "Trailer") --------------------- */

/* A recording thread. */
struct rbwp_thread_info {
    uint64_t thread_id;               /* as in block headers */
    uint64_t os_id;                   /* gettid(); 0 unknown */
    int64_t attached_ns, detached_ns; /* detached_ns is 0 if attached at stop */
    uint64_t records;                 /* written for this thread */
    uint16_t name_bytes;
    const char *name; /* any bytes, not terminated */
};

/* Why records are missing or calls were refused. Values are stored in files. */
enum rbwp_loss_cause {
    RBWP_LOSS_DROPPED = 1,       /* at the cap with policy "drop" */
    RBWP_LOSS_STALLED = 2,       /* at the cap while the writer made no progress */
    RBWP_LOSS_IO = 3,            /* the file could not be written */
    RBWP_LOSS_MEMORY = 4,        /* no memory for a chunk */
    RBWP_LOSS_NOT_ATTACHED = 5,  /* recorded on a thread that is not attached */
    RBWP_LOSS_NESTED_BEGIN = 6,  /* begin inside an open item; the call was ignored */
    RBWP_LOSS_STRAY_END = 7,     /* end, discard or fine_end without its begin */
    RBWP_LOSS_UNCLOSED_FINE = 8, /* end with sub-items open; they were closed there */
    RBWP_LOSS_SIGNAL = 9,        /* recorded from a signal handler inside a recording call */
    RBWP_LOSS_RANGE = 10,        /* slot, sub-item id or time outside its range */
    RBWP_LOSS_KEPT_EMPTY = 11,   /* a discard that could not be honoured: its item was kept */
    RBWP_LOSS_GPU_PENDING = 12,  /* GPU work still pending when the drain limit expired */
    RBWP_LOSS_GPU_FAILED = 13,   /* GPU work whose completion the driver did not report */
    RBWP_LOSS_UNPROTECTED = 14,  /* died with the process, in memory that no file had: at most so
                                    many records */
    RBWP_LOSS_OVERWRITTEN = 15,  /* in memory that something wrote over before it was written to the
                                    file: at most so many records */
    RBWP_LOSS_ROWS = 16,         /* rows of tables that there was no room for: rbwp_rows.h */
    RBWP_LOSS_ROWS_IO = 17,      /* rows that could not be written to the file */
    RBWP_LOSS_GPU_CAPTURE = 18, /* launched into a graph capture: it runs with the graph, untimed */
    RBWP_LOSS_GPU_STOPPING = 19, /* GPU work that began while the session was being stopped */
};
#define RBWP_LOSS_CAUSE_MAX 21 /* no larger one is in use; some below it are not either */
/* "dropped", "stalled" ...; "unknown" for other values. Static text. */
RBWP_API const char *rbwp_loss_cause_name(unsigned cause);

/* Losses of one cause on one thread. */
struct rbwp_loss {
    uint64_t thread_id;        /* 0 = not known, or several */
    uint32_t cause;            /* enum rbwp_loss_cause */
    uint64_t count;            /* records, or calls for the causes that are misuse */
    int64_t first_ns, last_ns; /* range in which they happened; 0,0 = not known */
};

/* A point at which the recorder's clock was compared with the system's. */
struct rbwp_clock_sample {
    uint64_t ticks;
    int64_t time_ns; /* on the time line of the records */
    int64_t monotonic_ns;
    int64_t realtime_ns;
};

#define RBWP_CLOCK_DOUBTED 1u /* at the end the system did not trust the counter any more */
enum rbwp_clock_kind { RBWP_CLOCK_TSC = 1, RBWP_CLOCK_MONOTONIC = 2, RBWP_CLOCK_USER = 3 };

/* A name that a slot had for part of the run (slots can be released and reused). */
struct rbwp_slot_use {
    uint16_t slot;
    int64_t from_ns, to_ns; /* to_ns is 0 if still in use at stop */
    uint16_t name_bytes;
    const char *name;
};

/* A run of whole blocks in the file. Ranges follow each other without gaps from offset 36. */
struct rbwp_index_range {
    uint64_t offset;
    uint64_t bytes;
    uint64_t records;
    int64_t first_ns, last_ns; /* smallest and largest record time inside; 0,0 without records */
    uint64_t thread_id;        /* of all blocks in it; 0 = several */
    uint32_t blocks;
    uint32_t crc32c; /* of the bytes of the range as stored */
};

/* A place between blocks at which it is known what each thread has open (SPEC.md, 10.18). */
struct rbwp_mark {
    uint64_t offset;
    uint32_t crc32c;     /* of all blocks before it */
    uint32_t open_count; /* of rbwp_trailer's open_items, those that are open here */
    /* Of the GPU_WORK records from here to the next mark: how many, smallest start, largest stop.
     */
    uint64_t gpu_works;
    int64_t gpu_first_ns, gpu_last_ns;
};

/* A work item or sub-item that has begun and not ended. Those of a thread stand together, the
 * outermost first. */
struct rbwp_open_item {
    uint64_t thread_id;
    int64_t begin_ns;
    uint16_t id;  /* slot or sub-item */
    uint8_t kind; /* RBWP_COARSE_BEGIN or RBWP_FINE_BEGIN */
};

/* A thread's first block with records. */
struct rbwp_first_block {
    uint64_t thread_id, offset;
    int64_t first_ns; /* smallest time in it */
    int64_t last_ns;  /* largest time in any block of the thread */
};

/*
 * Where blocks of one table are: its schema and its rows, in the order of the file; of table 0
 * those of names, whose numbers stand for rows. Between them there may be other blocks.
 */
struct rbwp_table_range {
    uint64_t offset;      /* of the first one's header */
    uint64_t bytes;       /* from there to the end of the last one */
    uint64_t block_bytes; /* of its own blocks */
    uint32_t table;
    uint32_t blocks;              /* its own; at least 1 */
    uint64_t rows;                /* in them */
    uint64_t first_row, last_row; /* their numbers; 0,0 without rows */
    int64_t first_ns, last_ns;    /* smallest and largest time in them; 0,0 without times */
    uint64_t thread_id;           /* that made them; 0 = several, or not known */
};

/* A GPU, and how late its completions are seen. */
struct rbwp_gpu_info {
    uint64_t proc_id;  /* as in GPU_WORK */
    uint32_t api;      /* 0 CUDA, 1 HIP, 2 OpenCL */
    uint32_t rounds;   /* in which bias and spread were measured; 0 = not measured */
    int64_t bias_ns;   /* median excess of GPU_WORK over the work's duration */
    int64_t spread_ns; /* of the bias, between its quartiles */
    uint16_t name_bytes;
    const char *name; /* any bytes, not terminated */
    /* The same three of work on idle streams (RBWP_GPU_EXTRA_IDLE). */
    uint32_t idle_rounds;
    int64_t idle_bias_ns, idle_spread_ns;
};

/* What the trailer's tables lack. Values are stored in files. */
enum rbwp_left_kind {
    RBWP_LEFT_THREADS = 1,   /* threads without an entry in the table of threads */
    RBWP_LEFT_SLOT_USES = 2, /* past names of slots; one entry of each slot stands for them */
    RBWP_LEFT_LOSSES = 3,    /* losses without an entry of their own; summed up as thread 0's */
    RBWP_LEFT_LIVE_LOG = 4   /* names, threads and losses that a process that died did not note */
};
/* "threads", "slot uses" ...; "unknown" for other values. Static text. */
RBWP_API const char *rbwp_left_kind_name(unsigned kind);

struct rbwp_left {
    uint32_t kind; /* enum rbwp_left_kind */
    uint64_t entries;
    uint64_t records; /* in the file, that they would be about; 0 = not known, or none */
};

/* Together with host and process id: which process recorded. */
struct rbwp_process_info {
    uint8_t boot_id[16]; /* of its machine since that was started; all 0 unknown */
    int64_t start_ns;    /* of the process since then; 0 unknown */
    uint16_t title_bytes;
    const char *title; /* what it calls itself; any bytes, not terminated */
};

/* What is known of the job that a process is part of. Values are stored in files. */
enum rbwp_job_what {
    RBWP_JOB_ID = 1,        /* text: what its batch system or launcher calls it */
    RBWP_JOB_STEP = 2,      /* text: which part of it, where a job has several */
    RBWP_JOB_NODE_NAME = 3, /* text: of the machine, as the launcher has it, or the host's */
    RBWP_JOB_RANK = 4,      /* number: of the process in the job, from 0 */
    RBWP_JOB_RANKS = 5,     /* number: of its processes */
    RBWP_JOB_LAUNCHER = 6,  /* text: who gave rank and ranks: "Open MPI", "Slurm" ... */
    RBWP_JOB_HARDWARE = 7,  /* text: one line about the machine, for people */
    RBWP_JOB_STARTED = 8,   /* number: when the process was started, by the wall clock */
    RBWP_JOB_PARENT = 9     /* number: the process id of its parent when the session began */
};
/* "job", "step", "node name" ...; "unknown" for other values. Static text. */
RBWP_API const char *rbwp_job_what_name(unsigned what);

struct rbwp_job_fact {
    uint32_t what;  /* enum rbwp_job_what */
    int64_t number; /* of those that are numbers, else 0 */
    uint16_t text_bytes;
    const char *text; /* of those that are texts; any bytes, not terminated */
};

/* How far another process's clock was from this one's at a time. */
struct rbwp_node_clock {
    int64_t time_ns;    /* on the time line of this file's records */
    int64_t offset_ns;  /* to be added to it: the same instant on the reference's time line */
    uint64_t bound_ns;  /* the offset may be wrong by so much */
    uint32_t reference; /* rank of the process whose clock it is */
};

/* Why a file was written that holds a part of a recording. Values are stored in files. */
enum rbwp_kept_why {
    RBWP_KEPT_STOP = 0,    /* the recording ended, or its process did */
    RBWP_KEPT_CALL = 1,    /* the program asked for it */
    RBWP_KEPT_SIGNAL = 2,  /* a signal did */
    RBWP_KEPT_RULE = 3,    /* a rule: the text says which, and what it met */
    RBWP_KEPT_CONTROL = 4, /* somebody asked from outside */
    RBWP_KEPT_ROTATED = 5, /* the recording goes on in another file */
    RBWP_KEPT_SPLIT = 6    /* it was made of a part of another file */
};
/* "stop", "call", "signal", "rule" ...; "unknown" for other values. Static text. */
RBWP_API const char *rbwp_kept_why_name(unsigned why);

/* Of a recording that keeps its newest data alone: what the file has of it. */
struct rbwp_kept {
    int64_t from_ns; /* what was recorded from here on is in the file; of what was before, a part */
    /* That were recorded before, and are not in the file. */
    uint64_t dropped_records, dropped_rows, dropped_bytes;
    uint64_t keep_bytes, keep_ns; /* how much was to be kept; 0 = not bounded by that */
    uint32_t why;                 /* enum rbwp_kept_why */
    uint32_t part; /* of a recording that is cut into files: which one, from 1; 0 not */
    uint16_t text_bytes;
    const char *text; /* more of why; any bytes, not terminated */
};

/*
 * A section of the trailer whose tag SPEC.md does not name: a program's own. Tags that begin with
 * 'x' or 'X' are for that. The data are the program's; a reader hands them out as they are stored.
 */
struct rbwp_section {
    char tag[4];
    uint32_t bytes;
    const void *data;
};

/* A sub-item is of a kind of the program's own; its type says nothing then. Or a work item is. */
struct rbwp_sub_item_kind {
    uint16_t id; /* of the sub-item, or with RBWP_KIND_OF_SLOT the slot */
    uint16_t name_bytes;
    uint32_t flags;   /* RBWP_KIND_WAITS, RBWP_KIND_OF_SLOT, or later ones */
    const char *name; /* of the kind; any bytes, not terminated */
};
#define RBWP_KIND_WAITS 1u   /* while it is under way its thread waits, and is not busy */
#define RBWP_KIND_OF_SLOT 2u /* it is a work item's */

/* All that the trailer holds; may grow at its end. Arrays belong to whoever made the struct. */
struct rbwp_trailer {
    const char *host;    /* not terminated */
    const char *command; /* command line, arguments separated by NUL; not terminated */
    const char *writer;  /* "librbwp 0.1.0"; not terminated */
    uint32_t host_bytes, command_bytes, writer_bytes;
    uint64_t process_id;
    uint32_t nodes;            /* nodes in the job, 0 unknown */
    uint32_t level;            /* 1 or 2 */
    int64_t start_ns, stop_ns; /* the session */

    uint32_t clock_kind;     /* enum rbwp_clock_kind, 0 unknown */
    uint32_t clock_flags;    /* RBWP_CLOCK_DOUBTED, or later ones; in what was padding */
    uint64_t clock_hz;       /* ticks per second, rounded; 0 unknown */
    uint64_t clock_error_ns; /* bound on |record time - true time| from sampling */
    uint64_t cap_bytes;      /* -bgworkprofile_bufsize in bytes, 0 = unlimited */
    uint64_t peak_bytes;     /* most recorded-but-unwritten data at any time */
    uint64_t discarded;      /* items that did no work and left no trace */

    const struct rbwp_thread_info *threads;
    const struct rbwp_loss *losses;
    const struct rbwp_clock_sample *samples;
    const struct rbwp_slot_use *slot_uses;
    const struct rbwp_gpu_info *gpus;
    const struct rbwp_left *left;
    const struct rbwp_process_info *processes; /* the first counts */
    const struct rbwp_index_range *index;
    const struct rbwp_table_range *table_ranges; /* NULL: the file has no index of its tables */
    const struct rbwp_section *sections; /* those not named above, in the order of the file */
    uint32_t thread_count, loss_count, sample_count, slot_use_count, gpu_count, left_count,
        process_count, index_count, table_range_count, section_count;

    const struct rbwp_job_fact *job_facts; /* of those with the same what the first counts */
    const struct rbwp_node_clock *node_clocks;
    uint32_t job_fact_count, node_clock_count;

    const struct rbwp_kept *kept; /* the first counts; none: the file has the whole recording */
    uint32_t kept_count;

    const struct rbwp_sub_item_kind *sub_item_kinds;
    uint32_t sub_item_kind_count;

    /* What threads have open at some places between blocks; 0 marks: not known. */
    const struct rbwp_mark *marks;           /* ascending; the last one is the end of the blocks */
    const struct rbwp_open_item *open_items; /* of the first mark, then of the second ... */
    const struct rbwp_first_block *first_blocks; /* of each thread, in the order of the file */
    uint32_t mark_count, open_item_count, first_block_count;
};

RBWP_C_END_
#endif /* RBWP_FORMAT_H */
