/* SPDX-License-Identifier: Apache-2.0 */
/* problems.c - see problems.h. Bounded, since a hostile file can break a rule every few bytes. */
#include "problems.h"
#include "grow.h"

#include <stdlib.h>

bool problems_add(struct problems *problems, const struct rbwp_problem *problem)
{
    problems->count++;
    if (problems->kept_count == PROBLEMS_KEPT_MAX)
        return true;
    if (!grow_array(&problems->kept, &problems->capacity, problems->kept_count + 1,
                    sizeof *problems->kept))
        return false;
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
