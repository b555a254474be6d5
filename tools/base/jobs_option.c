/* SPDX-License-Identifier: Apache-2.0 */
/* How many threads. */
#include "jobs_option.h"

#include <stdio.h>
#include <string.h>

bool jobs_option_store(void *value, const char *text, struct option_error *error)
{
    unsigned threads = 0;
    size_t digits = strspn(text, "0123456789");
    if (digits > 0 && digits <= 3 && text[digits] == '\0' && sscanf(text, "%u", &threads) == 1 &&
        threads >= 1 && threads <= JOB_THREADS_MAX) {
        *(unsigned *)value = threads;
        return true;
    }
    return option_wrong(error, "is no number of threads from 1 to %d", JOB_THREADS_MAX);
}
