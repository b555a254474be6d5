/* SPDX-License-Identifier: Apache-2.0 */
/* problems.c - see problems.h. Bounded, since a hostile file can break a rule every few bytes. */
#include "problems.h"

#include <stdlib.h>

bool problems_add(struct problems *problems, const struct rbwp_problem *problem)
{
    problems->count++;
    if (problems->kept_count == PROBLEMS_KEPT_MAX)
        return true;
    if (problems->kept_count == problems->capacity) {
        size_t capacity = problems->capacity ? 2 * problems->capacity : 8;
        struct rbwp_problem *kept = realloc(problems->kept, capacity * sizeof *kept);
        if (!kept)
            return false;
        problems->kept = kept;
        problems->capacity = capacity;
    }
    problems->kept[problems->kept_count++] = *problem;
    return true;
}

void problems_add_error(struct problems *problems, const struct rbwp_error *error)
{
    struct rbwp_problem problem = {.error = *error};
    (void)problems_add(problems, &problem); /* it is counted in any case */
}

void problems_clear(struct problems *problems)
{
    problems->kept_count = 0;
    problems->count = 0;
}

void problems_free(struct problems *problems)
{
    free(problems->kept);
    *problems = (struct problems){0};
}
