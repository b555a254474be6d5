/* SPDX-License-Identifier: Apache-2.0 */
/* A document is the columns that print it: what is in the one is in the other. */
#include "critical_path.h"
#include "documents.h"
#include "dump_columns.h"
#include "info.h"
#include "kernel_dumps.h"
#include "processes.h"
#include "schemas.h"
#include "stacks.h"
#include "stats_diff.h"
#include "table_list.h"
#include "timeline.h"
#include "top.h"
#include "what_if.h"

#include <string.h>

bool schema_write(struct out *out, const char *name)
{
    struct result_column stats[STATS_DOCUMENT_MAX];
    const struct {
        const char *name;
        const struct result_column *columns;
    } documents[] = {{"check", check_columns},
                     {"critical-path", critical_columns},
                     {"diff", diff_columns},
                     {"dump", dump_columns()},
                     {"events", events_columns},
                     {"info", info_document()->list->columns},
                     {"lanes", lanes_columns},
                     {"records", records_columns},
                     {"repair", repair_columns},
                     {"spans", spans_columns},
                     {"stats", stats},
                     {"tables", table_list_columns},
                     {"processes", processes_columns->list->columns},
                     {"stacks", stacks_columns->list->columns},
                     {"top", top_columns->list->columns},
                     {"ctl", ctl_columns->list->columns},
                     {"split", split_columns},
                     {"export", export_columns},
                     {"timeline", timeline_columns},
                     {"why", why_columns},
                     {"what-if", what_if_columns}};
    stats_document(stats);
    for (size_t i = 0; i < sizeof documents / sizeof documents[0]; i++)
        if (strcmp(name, documents[i].name) == 0) {
            result_schema(out, name, documents[i].columns);
            return true;
        }
    return false;
}
