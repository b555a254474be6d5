/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbwp_verify.h - check a whole file against every rule of SPEC.md.
 *
 * A reader (rbwp_reader.h) reports what keeps it from reading; the verifier
 * also reports what a reader can live with: sums, the index, names given
 * twice, begins without ends between. It reads the file once, in bounded
 * memory.
 */
#ifndef RBWP_VERIFY_H
#define RBWP_VERIFY_H

#include "rbwp_format.h"
#include "rbwp_reader.h"

RBWP_C_BEGIN_

/* A table, and how many of its rows keep all rules. */
struct rbwp_verify_table {
    uint32_t table;
    uint32_t name_bytes; /* in name; a longer one is cut */
    uint64_t rows;
    char name[48]; /* any bytes, not terminated */
};
#define RBWP_VERIFY_TABLES 32

/* What was found. May grow at its end. */
struct rbwp_verify_result {
    uint64_t bytes, blocks, opaque_blocks, records; /* valid ones; blocks without opaque ones */
    uint64_t table_rows;                            /* in tables (SPEC.md, section 9.2) */
    uint64_t breaks;                                /* rules broken, cuts not counted */
    bool finalised;                                 /* closed in good order */
    bool cut;             /* the file stops early and nothing contradicts it (SPEC.md, section 8) */
    bool has_trailer;     /* a whole one */
    bool blocks_checked;  /* false: too many blocks to check R20 and R60 to R66 */
    uint32_t table_count; /* tables that have a schema; the first of them are listed */
    struct rbwp_verify_table tables[RBWP_VERIFY_TABLES];
};

/*
 * Called for each break, in the order found, and for a cut (problem->cut_tail). The problem is
 * valid during the call. Return false to stop the verification.
 */
typedef bool rbwp_verify_callback(void *context, const struct rbwp_problem *problem);

/*
 * Verifies what fd has: a regular file from its beginning, anything else as a stream. fd stays
 * the caller's. callback may be NULL.
 * RBWP_OK: the file was read to its end, result_out->breaks says whether it is good. RBWP_END: the
 * callback stopped it. Otherwise as rbwp_reader_open and rbwp_reader_next_block, with *result_out
 * as far as it got (and the break that refused the file counted and reported).
 */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_verify_fd_sized(int fd, rbwp_verify_callback *callback,
                                                             void *context,
                                                             struct rbwp_verify_result *result_out,
                                                             size_t result_bytes,
                                                             struct rbwp_error *error);

/* The same for a file by name and for bytes in memory. */
RBWP_API RBWP_MUST_USE enum rbwp_status
rbwp_verify_sized(const char *path, rbwp_verify_callback *callback, void *context,
                  struct rbwp_verify_result *result_out, size_t result_bytes,
                  struct rbwp_error *error);
RBWP_API RBWP_MUST_USE enum rbwp_status
rbwp_verify_memory_sized(const void *data, size_t size_bytes, rbwp_verify_callback *callback,
                         void *context, struct rbwp_verify_result *result_out, size_t result_bytes,
                         struct rbwp_error *error);

/* These give the result's size where the caller was compiled. */
static inline RBWP_MUST_USE enum rbwp_status rbwp_verify_fd(int fd, rbwp_verify_callback *callback,
                                                            void *context,
                                                            struct rbwp_verify_result *result_out,
                                                            struct rbwp_error *error)
{
    return rbwp_verify_fd_sized(fd, callback, context, result_out, sizeof *result_out, error);
}
static inline RBWP_MUST_USE enum rbwp_status
rbwp_verify(const char *path, rbwp_verify_callback *callback, void *context,
            struct rbwp_verify_result *result_out, struct rbwp_error *error)
{
    return rbwp_verify_sized(path, callback, context, result_out, sizeof *result_out, error);
}
static inline RBWP_MUST_USE enum rbwp_status
rbwp_verify_memory(const void *data, size_t size_bytes, rbwp_verify_callback *callback,
                   void *context, struct rbwp_verify_result *result_out, struct rbwp_error *error)
{
    return rbwp_verify_memory_sized(data, size_bytes, callback, context, result_out,
                                    sizeof *result_out, error);
}

RBWP_C_END_
#endif /* RBWP_VERIFY_H */
