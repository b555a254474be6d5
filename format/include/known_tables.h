/* SPDX-License-Identifier: Apache-2.0 */
/*
 * known_tables.h - tables with a name of their own (SPEC.md, appendix A). Each is a list of columns
 * in format/schema, from which come the schemas that writers register, the binder of the tools
 * (tools/input/include/table_bind.h) and, by format/schema/tables.py, what documents and Python
 * say.
 *
 * COLUMN(table, name, type, role, unit, since, meaning): since is the version that added it.
 */
#ifndef KNOWN_TABLES_H
#define KNOWN_TABLES_H

#include "rbwp_table.h"

#include "../schema/annotation.def"
#include "../schema/argument.def"
#include "../schema/call_cpu.def"
#include "../schema/code_file.def"
#include "../schema/control.def"
#include "../schema/counter.def"
#include "../schema/device_event.def"
#include "../schema/gpu_activity.def"
#include "../schema/gpu_call.def"
#include "../schema/gpu_device.def"
#include "../schema/gpu_shape.def"
#include "../schema/kernel_block.def"
#include "../schema/lane_span.def"
#include "../schema/message_handled.def"
#include "../schema/message_sent.def"
#include "../schema/mpi_wait.def"
#include "../schema/open_call.def"
#include "../schema/python_frame.def"
#include "../schema/queued.def"
#include "../schema/range.def"
#include "../schema/stack_word.def"
#include "../schema/thread_cpu.def"
#include "../schema/wait.def"

/* clang-format off */
#define KNOWN_TABLES(TABLE)                                                                        \
    TABLE(gpu_activity) TABLE(gpu_shape) TABLE(gpu_call) TABLE(gpu_device)                         \
    TABLE(lane_span) TABLE(device_event) TABLE(kernel_block)                                       \
    TABLE(control) TABLE(wait) TABLE(queued) TABLE(argument) TABLE(counter) TABLE(range)           \
    TABLE(message_sent) TABLE(message_handled) TABLE(annotation) TABLE(call_cpu) TABLE(thread_cpu) \
    TABLE(open_call) TABLE(stack_word) TABLE(code_file) TABLE(python_frame)            \
    TABLE(mpi_wait)

#define KNOWN_NUMBER_(table) KNOWN_##table,
enum known_table { KNOWN_TABLES(KNOWN_NUMBER_) KNOWN_TABLE_COUNT };

/* The number of each column, AT_range_start, and of columns, COLUMNS_range. */
#define KNOWN_AT_(table, name, type, role, unit, since, meaning) AT_##table##_##name,
#define KNOWN_ENUM_(table) enum { TABLE_##table(KNOWN_AT_) COLUMNS_##table };
KNOWN_TABLES(KNOWN_ENUM_)

#define KNOWN_COLUMN_(table, name, type, role, unit, since, meaning)                               \
    RBWP_COLUMN(type, role, #name, unit),
/* clang-format on */

/* The schema of a table as a writer registers it; that of one which fills the first columns alone.
 */
#define KNOWN_SCHEMA(table_) KNOWN_SCHEMA_FIRST(table_, VERSION_##table_, COLUMNS_##table_)
#define KNOWN_SCHEMA_FIRST(table_, version_, count_)                                               \
    {                                                                                              \
        .version = version_, .column_count = count_, .name_bytes = sizeof #table_ - 1,             \
        .name = #table_, .columns = (const struct rbwp_column[])                                   \
        {                                                                                          \
            TABLE_##table_(KNOWN_COLUMN_)                                                          \
        }                                                                                          \
    }

#endif /* KNOWN_TABLES_H */
