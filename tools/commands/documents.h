/* SPDX-License-Identifier: Apache-2.0 */
/* documents.h - what --json of commands prints, by its columns, and --csv TABLE, one list of it. */
#ifndef DOCUMENTS_H
#define DOCUMENTS_H

#include "message.h"
#include "result_print.h"

extern const struct result_column check_columns[], ctl_columns[], repair_columns[], split_columns[];

/* False with the message given. known: there is such a table, or none is asked for. */
static inline bool csv_is_known(bool known, const char *csv, bool json)
{
    if (!known)
        message_usage("--csv: '%s' is no table that --json has", csv);
    else if (csv && json)
        message_usage("--csv does not go with --json");
    return known && !(csv && json);
}

#endif /* DOCUMENTS_H */
