/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for export_sqlite.c where there was no SQLite library to build with. */
#include "export.h"
#include "message.h"

static bool begin(struct trace_pass *pass)
{
    (void)pass;
    return message_fail(
        "built without SQLite: install its library (Debian: libsqlite3-dev), configure and "
        "build again; or use --to parquet");
}

const struct exporter exporter_sqlite = {
    .name = "sqlite",
    .suffixes = ".sqlite .db",
    .summary = "not in this build",
    .maker.own_output = true,
    .maker.begin = begin,
};
