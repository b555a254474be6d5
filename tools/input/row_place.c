/* SPDX-License-Identifier: Apache-2.0 */
#include "row_place.h"

struct row_place row_place_of(const struct rbwp_schema *schema)
{
    struct row_place place = {-1, -1};
    bool start = false;
    for (int i = 0; i < schema->column_count; i++) {
        const struct rbwp_column *column = &schema->columns[i];
        bool starts = column->role == RBWP_ROLE_START;
        if (column->type == RBWP_COLUMN_TIME && (place.time < 0 || (starts && !start))) {
            place.time = i;
            start = starts;
        }
        if (column->type == RBWP_COLUMN_U64 && column->role == RBWP_ROLE_THREAD && place.thread < 0)
            place.thread = i;
    }
    return place;
}

bool row_time(const struct row_place *place, const struct rbwp_rows *rows, uint32_t row,
              int64_t *time_ns_out)
{
    if (place->time >= 0)
        *time_ns_out = (int64_t)rows->cells[place->time][row];
    return place->time >= 0;
}

uint64_t row_thread(const struct row_place *place, const struct rbwp_rows *rows, uint32_t row)
{
    return place->thread >= 0 ? rows->cells[place->thread][row] : rows->thread_id;
}
