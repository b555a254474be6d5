/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recover_part.h - a whole file out of a live file alone, by the process that writes it: the newest
 * data of a recording that keeps no others (SPEC.md, 10.16).
 */
#ifndef RECOVER_PART_H
#define RECOVER_PART_H

#include "live_layout.h"
#include "rbwp_recover.h"

/* Up to where a file has what came into the ring, and the losses: live_ring_facts. */
struct recover_cut {
    uint64_t ticket, records, rows, bytes;
    uint64_t dropped; /* records and rows that were to be in it */
    struct live_told told;
};

struct recover_part {
    const struct rbwp_sink *sink;
    int live_fd;    /* of FILE.live; taken over */
    bool ended;     /* nothing is recorded any more, and nothing is on its way to the ring */
    bool ring_only; /* without what has not reached the ring yet */
    struct recover_cut *cut_out; /* may be NULL */
    int64_t since_ns;        /* chunks that had ended by then are dropped; INT64_MIN: none are */
    const int64_t *ended_ns; /* when the recording ended; 0: it goes on; NULL: not known */
    uint32_t why;            /* enum rbwp_kept_why, and more of it */
    uint16_t text_bytes;
    const char *text;
    /* Between true and false nothing is added to the ring. */
    void (*hold)(void *context, bool on);
    /* Segments of the ring up to this number have been copied; may be NULL. */
    void (*passed)(void *context, uint64_t number);
    void *context;
    /* What the file says of its session; NULL: what the live file knows. */
    const struct rbwp_tables *tables;
    const struct rbwp_trailer *trailer;
};

/* As rbwp_recover. */
enum rbwp_status recover_part_write(const struct recover_part *part,
                                    struct rbwp_recover_result *result_out,
                                    struct rbwp_error *error);

/* When a process was seen to have ended, by CLOCK_MONOTONIC. */
struct recover_end {
    uint64_t process_id;
    int64_t monotonic_ns;
};

/* As rbwp_recover. Where the live file is that process's the session lasted until then, and so did
 * what was open. ended may be NULL. */
enum rbwp_status recover_ended(const char *path, const char *live_path,
                               const struct rbwp_sink *sink, const struct recover_end *ended,
                               struct rbwp_recover_result *result_out, struct rbwp_error *error);

#endif /* RECOVER_PART_H */
