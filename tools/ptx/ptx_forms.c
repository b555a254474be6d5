/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx_forms.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- numbers --------------------------------------------------------------------------- */

static void cell_numbers(const struct ptx_cell *cell, int64_t numbers[4])
{
    numbers[0] = cell->start_id;
    numbers[1] = cell->end_id;
    numbers[2] = (int64_t)cell->start;
    numbers[3] = (int64_t)cell->end;
}

static void put_little_endian(struct out *out, int64_t number)
{
    char bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (char)((uint64_t)number >> (8 * i));
    out_bytes(out, bytes, sizeof bytes);
}

void ptx_write_npy(struct out *out, const struct ptx_matrix *matrix)
{
    char header[256];
    int64_t numbers[4];
    const int before = 10; /* magic, version, length */
    int count =
        snprintf(header, sizeof header,
                 "{'descr': '<i8', 'fortran_order': False, 'shape': (%" PRIu32 ", %" PRIu64 "), }",
                 matrix->rows, (uint64_t)matrix->lanes * 4);
    int padded = (before + count + 1 + 63) / 64 * 64 - before;
    out_bytes(out, "\x93NUMPY\x01\x00", 8);
    out_bytes(out, (char[]){(char)(padded & 0xff), (char)(padded >> 8)}, 2);
    out_bytes(out, header, (size_t)count);
    for (; count < padded - 1; count++)
        out_text(out, " ");
    out_text(out, "\n");
    for (size_t i = 0; i < (size_t)matrix->rows * matrix->lanes; i++) {
        cell_numbers(&matrix->cells[i], numbers);
        for (int n = 0; n < 4; n++)
            put_little_endian(out, numbers[n]);
    }
}

void ptx_write_csv(struct out *out, const struct ptx_matrix *matrix, bool header)
{
    int64_t numbers[4];
    for (uint32_t lane = 0; header && lane < matrix->lanes; lane++)
        out_format(out,
                   "%st%" PRIu32 "_start_idx,t%" PRIu32 "_end_idx,t%" PRIu32 "_start_time,t%" PRIu32
                   "_end_time%s",
                   lane ? "," : "", lane, lane, lane, lane, lane + 1 == matrix->lanes ? "\n" : "");
    for (uint32_t row = 0; row < matrix->rows; row++) {
        for (uint32_t lane = 0; lane < matrix->lanes; lane++) {
            cell_numbers(ptx_matrix_at(matrix, row, lane), numbers);
            for (int n = 0; n < 4; n++) {
                out_text(out, lane || n ? "," : "");
                out_i64(out, numbers[n]);
            }
        }
        out_text(out, "\n");
    }
}

/* ---- trace.json ------------------------------------------------------------------------ */

static void write_event(struct out *out, const struct ptx_cell *cell, uint32_t lane,
                        const struct ptx_loc_map *locs)
{
    char name[48];
    bool known;
    int64_t loc = ptx_loc_map_find(locs, cell->start_id, &known);
    if (known)
        snprintf(name, sizeof name, "Line %" PRId64, loc);
    else
        snprintf(name, sizeof name, "Probe %" PRIu32, cell->start_id);
    out_format(out, "{\"name\": \"%s\", \"cat\": \"%s\", \"ph\": \"X\", \"ts\": %" PRIu64, name,
               name, cell->start);
    out_format(out, ", \"dur\": %" PRId64 ", \"pid\": 0, \"tid\": %" PRIu32, ptx_cell_cycles(cell),
               lane);
    out_format(out, ", \"args\": {\"start_index\": %" PRIu32 ", \"end_index\": %" PRIu32 "}}",
               cell->start_id, cell->end_id);
}

void ptx_write_trace(struct out *out, const struct ptx_matrix *matrix,
                     const struct ptx_loc_map *locs)
{
    bool first = true;
    out_text(out, "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n");
    for (uint32_t row = 0; row < matrix->rows; row++)
        for (uint32_t lane = 0; lane < matrix->lanes; lane++) {
            const struct ptx_cell *cell = ptx_matrix_at(matrix, row, lane);
            if (cell->start == 0)
                continue;
            out_text(out, first ? "" : ",\n");
            first = false;
            write_event(out, cell, lane, locs);
        }
    out_text(out, "\n]}");
}

/* ---- the summary ----------------------------------------------------------------------- */

static void rule(struct out *out, const char *with)
{
    for (int i = 0; i < 70; i++)
        out_text(out, with);
    out_text(out, "\n");
}

/* Of the durations above 0. */
static void write_slot(struct out *out, const struct ptx_matrix *matrix, uint32_t row,
                       const struct ptx_loc_map *locs)
{
    int64_t low = 0, high = 0;
    double sum = 0;
    uint32_t count = 0, site = ptx_matrix_at(matrix, row, 0)->start_id;
    bool known;
    for (uint32_t lane = 0; lane < matrix->lanes; lane++) {
        int64_t cycles = ptx_cell_cycles(ptx_matrix_at(matrix, row, lane));
        if (cycles <= 0)
            continue;
        low = count == 0 || cycles < low ? cycles : low;
        high = cycles > high ? cycles : high;
        sum += (double)cycles;
        count++;
    }
    out_format(out, "%6" PRIu32 " %6" PRIu32 " %6" PRId64 " %14.1f %12" PRId64 " %12" PRId64 "\n",
               row, site, ptx_loc_map_find(locs, site, &known), count ? sum / count : 0.0, low,
               high);
}

void ptx_write_summary(struct out *out, const struct ptx_matrix *matrix,
                       const struct ptx_loc_map *locs)
{
    out_text(out, "Probe summary\n");
    rule(out, "=");
    out_format(out, "%6s %6s %6s %14s %12s %12s\n", "Slot", "Site", "Loc", "Mean Cycles", "Min",
               "Max");
    rule(out, "-");
    for (uint32_t row = 0; row < matrix->rows; row++)
        write_slot(out, matrix, row, locs);
    rule(out, "=");
}
