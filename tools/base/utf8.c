/* SPDX-License-Identifier: Apache-2.0 */
/* One sequence at a time. */
#include "utf8.h"

size_t utf8_repair(const char *text, size_t count, const char *zero, char *repaired)
{
    char *to = repaired;
    for (size_t at = 0, length; at < count; at += length) {
        const char *from = text + at;
        size_t bytes = length = utf8_length((const unsigned char *)from, count - at);
        if (length == 0) {
            from = UTF8_REPLACEMENT;
            bytes = strlen(from);
            length = 1;
        } else if (*from == '\0' && zero) {
            from = zero;
            bytes = strlen(from);
        }
        memcpy(to, from, bytes);
        to += bytes;
    }
    return (size_t)(to - repaired);
}
