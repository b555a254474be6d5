/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tail.h - what stands behind the blocks: descriptor tables, trailer, footer.
 */
#ifndef TAIL_H
#define TAIL_H

#include "descriptor.h"
#include "rbwp_reader.h"
#include "source.h"
#include "trailer.h"

/* ---- what a reader found wrong --------------------------------------------------------------- */

#define PROBLEMS_KEPT_MAX 1000u

struct problems {
    struct rbwp_problem *kept;
    size_t kept_count, capacity;
    uint64_t count;
};

/* Adds one. Without memory it is only counted: false. */
bool problems_add(struct problems *problems, const struct rbwp_problem *problem);
/* Adds one that is an error and nothing else. */
void problems_add_error(struct problems *problems, const struct rbwp_error *error);
void problems_clear(struct problems *problems);
void problems_free(struct problems *problems);

/* ---- tail ------------------------------------------------------------------------------------ */

/* The bytes from the descriptor offset to the end of the file, and what they mean. */
struct tail {
    struct buffer buffer;
    uint64_t offset;
    struct descriptor_tables descriptors;
    struct trailer trailer;
    bool has_trailer;
    struct problems problems;
};

/*
 * Reads and decodes the tail that begins at the descriptor offset. What is wrong with it goes to
 * tail->problems. RBWP_E_VERSION: the file must be refused (R54), error says why. RBWP_E_IO,
 * RBWP_E_MEMORY. error is not NULL and may be written in each case. Free the tail in each case.
 */
enum rbwp_status tail_load(struct tail *tail, struct source *source,
                           const struct rbwp_file_header *header, struct rbwp_error *error);
void tail_free(struct tail *tail);

/* Tables and trailer are none; the problems stay. */
void tail_forget(struct tail *tail);

/*
 * For a file that was not finalised: if it ends in a whole trailer that says where the tables are
 * (SPEC.md, section 10.8), the last three fields of header are set from it. Not for streams.
 */
enum rbwp_status tail_find_tables(struct source *source, struct rbwp_file_header *header,
                                  struct rbwp_error *error);

#endif /* TAIL_H */
