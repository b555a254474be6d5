/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chrome_document.h - the whole text of Chrome JSON: an array of events, or an object with one.
 *
 * Other programs write JSON, too. What has no events is not taken for a trace
 * without any, but recognised as what it looks like.
 */
#ifndef CHROME_DOCUMENT_H
#define CHROME_DOCUMENT_H

#include "chrome_event.h"
#include "json_scan.h"
#include "trace_source.h"

/* ---- what the times of Chrome JSON count, and from when -------------------------------------- */

enum chrome_dialect {
    CHROME_ANY,
    CHROME_PYTORCH,
    CHROME_IRIS,
    CHROME_CLANG,
    CHROME_NODE,
    CHROME_OURS
};
/* "Chrome", "PyTorch" ... */
extern const char *const chrome_dialect_name[];

struct chrome_clock {
    struct chrome_unit unit;
    struct chrome_unit noted_unit; /* by which first_ns and last_ns were read */
    enum chrome_dialect dialect;
    bool has_base, odd_unit;
    bool from_base;            /* times count from a base that is written as PyTorch does */
    int64_t origin_ns;         /* of our own exports: where the trace begins */
    bool monotonic;            /* it is the clock that counts since the machine was started */
    int64_t first_ns, last_ns; /* of events; first > last: none has a time */
};

void chrome_clock_start(struct chrome_clock *clock);
/* A metadata event may say who wrote it. */
void chrome_clock_metadata(struct chrome_clock *clock, const struct chrome_event *event);
void chrome_clock_note(struct chrome_clock *clock, const struct chrome_event *event);
/* When all was seen. */
void chrome_clock_finish(struct chrome_clock *clock, struct trace_facts *facts, const char *name);

/* ---- what PyTorch's profiler says of GPUs beside events ("deviceProperties") ---------------- */

enum { CHROME_GPUS_MAX = 64 };

/* Zero is none. */
struct chrome_gpus {
    struct chrome_gpu {
        uint32_t id;
        char name[128];
        uint64_t multiprocessors, memory_bytes; /* 0: not known */
    } gpus[CHROME_GPUS_MAX];
    uint32_t count;
};

/* As facts of a process of the trace, as those of RBWP files. */
void chrome_gpus_add_facts(const struct chrome_gpus *gpus, struct trace *trace, uint32_t process);

/* ---- chrome document ------------------------------------------------------------------------- */

struct chrome_document {
    struct chrome_clock *clock;
    struct trace_facts *facts; /* filled from what stands beside the events; NULL: they are known */
    struct chrome_gpus *gpus;  /* the same */
    /* False when no more is wanted. */
    bool (*take)(void *context, const struct chrome_event *event);
    void *context;
    struct chrome_args args; /* of one event; chrome_document_free frees them */

    /* What was seen. */
    bool has_events;         /* an array for them, empty or not */
    uint64_t events, others; /* others: elements of it that are no objects */
    uint64_t phases;         /* events that have one */
    uint32_t signs;          /* of other programs' JSON, bits */
    bool enough;
};

bool chrome_document_recognises(const uint8_t *head, size_t bytes);
void chrome_document_free(struct chrome_document *document);
void chrome_document_read(struct chrome_document *document, struct json_scan *scan);
/* After reading: whether it is Chrome JSON, or nothing is wrong with it. Else the message is given.
 */
bool chrome_document_is_trace(const struct chrome_document *document, const struct json_scan *scan,
                              const char *name);

#endif /* CHROME_DOCUMENT_H */
