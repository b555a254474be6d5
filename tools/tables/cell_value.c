/* SPDX-License-Identifier: Apache-2.0 */
#include "cell_value.h"

#include "cell_text.h"
#include "json_text.h"
#include "terminal_text.h"

#include <math.h>

static void cell_value_put_text(struct out *out, struct rbwp_text text, enum cell_form form)
{
    struct trace_text cell = {text.text, text.bytes};
    const char *rest = text.text;
    size_t left = text.bytes;
    switch (form) {
    case CELL_CSV:
        cell_csv(out, cell, false);
        break;
    case CELL_TSV:
        cell_tsv(out, cell, false);
        break;
    case CELL_JSON:
        json_string(out, text.text, text.bytes);
        break;
    case CELL_PEOPLE:
        while (left) {
            char *at = out_room(out, 4096);
            out_end(out, at + terminal_text_piece(&rest, &left, at, 4096));
        }
        break;
    }
}

/* JSON has no word for what is no number. */
static void put_f64(struct out *out, double value, enum cell_form form)
{
    if (isfinite(value))
        out_format(out, "%.17g", value);
    else
        out_text(out, form == CELL_JSON ? "null"
                      : isnan(value)    ? "nan"
                      : value < 0       ? "-inf"
                                        : "inf");
}

/* A number that stands for something: none if it is 0. */
static void put_reference(struct out *out, uint64_t number, enum cell_form form)
{
    if (number)
        out_u64(out, number);
    else
        out_text(out, form == CELL_JSON ? "null" : "");
}

static double f64_of(uint64_t cell)
{
    double value;
    memcpy(&value, &cell, sizeof value);
    return value;
}

void cell_value(struct out *out, const struct cell_source *source, uint32_t column, uint32_t row,
                enum cell_form form)
{
    uint64_t cell = source->rows->cells[column][row];
    switch (source->rows->schema->columns[column].type) {
    case RBWP_COLUMN_I64:
    case RBWP_COLUMN_TIME:
        out_i64(out, (int64_t)cell);
        break;
    case RBWP_COLUMN_F64:
        put_f64(out, f64_of(cell), form);
        break;
    case RBWP_COLUMN_NAME:
        if (cell)
            cell_value_put_text(out, rbwp_catalog_name(source->catalog, cell), form);
        else
            put_reference(out, 0, form);
        break;
    case RBWP_COLUMN_ROW:
        put_reference(out, cell, form);
        break;
    case RBWP_COLUMN_BYTES:
        cell_value_put_text(out, rbwp_rows_bytes(source->rows, cell), form);
        break;
    default:
        out_u64(out, cell);
        break;
    }
}
