/* SPDX-License-Identifier: Apache-2.0 */
/* trace_rows.h - counters, tables and losses (trace.h). */
#ifndef TRACE_ROWS_H
#define TRACE_ROWS_H

#include "rbwp_table.h"
#include "trace_text.h"

struct trace_sample {
    int64_t time_ns;
    bool whole; /* value is i64, else f64 */
    union {
        int64_t i64;
        double f64;
    } value;
};
static inline double trace_sample_value(const struct trace_sample *sample)
{
    return sample->whole ? (double)sample->value.i64 : sample->value.f64;
}

struct trace_axis;

/* A table whose schema says not how to show it. */
struct trace_table {
    uint32_t number, process;
    const struct rbwp_schema *schema; /* as long as rows of its process come */
};
struct trace_rows {
    uint32_t table;
    const struct rbwp_rows *rows;
    const struct rbwp_catalog *catalog; /* of the names that cells have */
    const struct trace_axis *axis;      /* that times are to be put on */
};

struct trace_loss {
    uint32_t process;
    uint32_t track; /* TRACE_NONE: not known, or several */
    struct trace_text cause;
    uint32_t refused; /* why calls were refused (enum rbwp_loss_cause); 0: records were lost */
    uint64_t count;   /* of records, or of those calls; 0 not known, how many */
    uint64_t bytes;   /* of the file that were skipped, 0 none */
    int64_t first_ns, last_ns; /* 0,0 not known */
};
/* "12 records lost: dropped", "3 calls refused: unmatched end", "32812 bytes of the file skipped:
 * damaged"; cut to room bytes. */
void trace_loss_name(const struct trace_loss *loss, char *name, size_t room);

#endif /* TRACE_ROWS_H */
