/* SPDX-License-Identifier: Apache-2.0 */
#include "table_walk.h"

#include "message.h"

bool table_walk_begin(struct table_walk *walk, struct input *input)
{
    *walk = (struct table_walk){.input = input, .catalog = rbwp_catalog_new()};
    if (!walk->catalog)
        message("out of memory");
    return walk->catalog;
}

void table_walk_end(struct table_walk *walk)
{
    rbwp_catalog_free(walk->catalog);
}

static void tell(struct table_walk *walk, const struct rbwp_error *error)
{
    if (walk->broken++ < INPUT_PROBLEM_LINES)
        message("%s: %s", walk->input->name, error->text);
}

bool table_walk_next(struct table_walk *walk, struct rbwp_rows *rows_out)
{
    struct rbwp_block block;
    struct rbwp_error error;
    while (input_next(walk->input, &block)) {
        enum rbwp_status status = rbwp_catalog_take(walk->catalog, &block, rows_out, &error);
        if (status == RBWP_OK)
            return true;
        if (status < 0)
            tell(walk, &error);
    }
    return false;
}
