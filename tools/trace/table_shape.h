/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_shape.h - what the roles of a schema's columns make of its rows.
 */
#ifndef TABLE_SHAPE_H
#define TABLE_SHAPE_H

#include "kernel_tracks.h"
#include "message_rows.h"
#include "queue_rows.h"
#include "rbwp_table.h"
#include "wait_rows.h"

#include <stdbool.h>

enum table_kind { TABLE_UNKNOWN, TABLE_SPANS, TABLE_COUNTERS, TABLE_INSTANTS };

#define TABLE_NO_COLUMN UINT16_MAX

struct table_shape {
    enum table_kind kind;
    uint16_t start, stop, label, track, thread; /* columns, TABLE_NO_COLUMN none */
    uint16_t start_bound, stop_bound, from, to;
    uint16_t unit; /* of counters: a name that is the unit of the row's value */
    bool stop_is_duration;
    uint16_t counters[RBWP_COLUMNS_MAX], args[RBWP_COLUMNS_MAX];
    uint16_t counter_count, arg_count;
    uint32_t keys[RBWP_COLUMNS_MAX];           /* names of the columns as labels, by column */
    uint32_t table;                            /* number in the trace, of TABLE_UNKNOWN; */
    uint32_t label_name, from_space, to_space; /* labels: the table's name, of the keys */
    struct kernel_columns kernel;
    struct wait_columns wait;
    struct queue_columns queue;
    struct message_columns message;
    bool has_bytes;              /* a column of bytes */
    struct trace_detail *detail; /* of the row before; NULL: rows have texts, or no detail */
    struct row_stream *stream;   /* of spans; NULL: their order says nothing */
};

/* The first column of a role and of a type that suits it counts; others are arguments. */
void table_shape_find(struct table_shape *shape, const struct rbwp_schema *schema);

/* Of schemas that SPEC.md names. The column's number, TABLE_NO_COLUMN if it has none of the name.
 */
bool schema_is_named(const struct rbwp_schema *schema, const char *name);
uint16_t schema_column(const struct rbwp_schema *schema, const char *name);

#endif /* TABLE_SHAPE_H */
