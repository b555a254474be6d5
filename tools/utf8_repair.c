/* SPDX-License-Identifier: Apache-2.0 */
/* One sequence at a time. */
#include "utf8_repair.h"
#include "utf8.h"

#include <string.h>

size_t utf8_repair(const char *text, size_t count, char *repaired)
{
    char *to = repaired;
    for (size_t at = 0; at < count;) {
        size_t length = utf8_length((const unsigned char *)text + at, count - at);
        const char *from = length ? text + at : "\xef\xbf\xbd";
        memcpy(to, from, length ? length : 3);
        to += length ? length : 3;
        at += length ? length : 1;
    }
    return (size_t)(to - repaired);
}
