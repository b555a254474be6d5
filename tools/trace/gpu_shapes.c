/* SPDX-License-Identifier: Apache-2.0 */
/* Columns are found by name. */
#include "gpu_shapes.h"
#include "thread_map.h"

#include <stdlib.h>
#include <string.h>

static uint64_t cell(const struct rbwp_rows *rows, const char *name, uint32_t row)
{
    const struct rbwp_schema *schema = rows->schema;
    for (uint32_t i = 0; i < schema->column_count; i++) {
        const struct rbwp_column *column = &schema->columns[i];
        if (column->type == RBWP_COLUMN_U64 && column->name_bytes == strlen(name) &&
            memcmp(column->name, name, column->name_bytes) == 0)
            return rows->cells[i][row];
    }
    return 0;
}

bool gpu_shapes_take(struct gpu_shapes *shapes, const struct rbwp_rows *rows, bool *failed)
{
    static const char table[] = "gpu_shape";
    if (rows->schema->name_bytes != strlen(table) ||
        memcmp(rows->schema->name, table, strlen(table)) != 0)
        return false;
    for (uint32_t i = 0; i < rows->rows; i++) {
        uint64_t number = cell(rows, "shape", i);
        if (number == 0 || number >= GPU_SHAPES_MAX)
            continue;
        if (!thread_array_grow(&shapes->list, &shapes->room, (uint32_t)number + 1,
                               sizeof *shapes->list)) {
            *failed = true;
            return true;
        }
        shapes->list[number] = (struct gpu_shape){
            .known = true,
            .grid = {cell(rows, "grid_x", i), cell(rows, "grid_y", i), cell(rows, "grid_z", i)},
            .block = {cell(rows, "block_x", i), cell(rows, "block_y", i), cell(rows, "block_z", i)},
            .registers = cell(rows, "registers", i),
            .shared = cell(rows, "shared", i)};
    }
    return true;
}

const struct gpu_shape *gpu_shapes_get(const struct gpu_shapes *shapes, uint64_t number)
{
    return number && number < shapes->room && shapes->list[number].known ? &shapes->list[number]
                                                                         : NULL;
}

void gpu_shapes_free(struct gpu_shapes *shapes)
{
    free(shapes->list);
    *shapes = (struct gpu_shapes){0};
}
