/* SPDX-License-Identifier: Apache-2.0 */
/* problems.h - what a reader found wrong: the first ones kept, all counted. */
#ifndef PROBLEMS_H
#define PROBLEMS_H

#include "rbwp_reader.h"

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

#endif /* PROBLEMS_H */
