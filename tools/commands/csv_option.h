/* SPDX-License-Identifier: Apache-2.0 */
/* csv_option.h - --csv TABLE of commands: one list of the document that --json prints. */
#ifndef CSV_OPTION_H
#define CSV_OPTION_H

#include "message.h"
#include "result_print.h"

/* False with the message given. known: there is such a table, or none is asked for. */
static inline bool csv_is_known(bool known, const char *csv, bool json)
{
    if (!known)
        message_usage("--csv: '%s' is no table that --json has", csv);
    else if (csv && json)
        message_usage("--csv does not go with --json");
    return known && !(csv && json);
}

#endif /* CSV_OPTION_H */
