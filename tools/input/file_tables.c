/* SPDX-License-Identifier: Apache-2.0 */
#include "file_tables.h"

#include "grow.h"
#include "message.h"

#include <stdlib.h>
#include <string.h>

bool file_tables_begin(struct file_tables *tables, struct input *input)
{
    *tables = (struct file_tables){.input = input, .catalog = rbwp_catalog_new()};
    if (!tables->catalog)
        message("out of memory");
    return tables->catalog;
}

void file_tables_end(struct file_tables *tables)
{
    rbwp_catalog_free(tables->catalog);
    gpu_devices_free(&tables->gpus);
    free(tables->problems);
    *tables = (struct file_tables){0};
}

static void file_tables_note(struct file_tables *tables, const struct rbwp_error *error)
{
    if (tables->broken++ < INPUT_PROBLEM_LINES)
        message("%s: %s", tables->input->name, error->text);
    if (tables->problem_count < FILE_TABLES_PROBLEMS_KEPT &&
        grow_array32(&tables->problems, &tables->problem_room, tables->problem_count + 1,
                     sizeof *tables->problems))
        tables->problems[tables->problem_count++] = (struct rbwp_problem){.error = *error};
}

enum rbwp_status file_tables_take(struct file_tables *tables, const struct rbwp_block *block,
                                  struct rbwp_rows *rows_out, struct rbwp_error *error)
{
    enum rbwp_status status = rbwp_catalog_take(tables->catalog, block, rows_out, error);
    if (status < 0)
        file_tables_note(tables, error);
    if (status == RBWP_OK && !gpu_devices_take(&tables->gpus, rows_out, tables->catalog) &&
        !tables->failed) {
        tables->failed = true;
        message("out of memory; GPUs are missing");
    }
    return status;
}

bool file_tables_next(struct file_tables *tables, struct rbwp_rows *rows_out)
{
    struct rbwp_block block;
    struct rbwp_error error;
    while (input_next(tables->input, &block))
        if (file_tables_take(tables, &block, rows_out, &error) == RBWP_OK)
            return true;
    return false;
}

static int by_offset(const void *left, const void *right)
{
    const struct rbwp_table_range *a = left, *b = right;
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

struct rbwp_table_range *table_ranges_in_order(const struct rbwp_trailer *trailer)
{
    uint32_t count = trailer->table_range_count;
    struct rbwp_table_range *ranges = calloc(count + 1u, sizeof *ranges);
    if (ranges && count) {
        memcpy(ranges, trailer->table_ranges, count * sizeof *ranges);
        qsort(ranges, count, sizeof *ranges, by_offset);
    }
    return ranges;
}
