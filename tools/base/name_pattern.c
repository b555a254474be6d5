/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Glob matching. When a byte does not fit, the last star takes one byte more;
 * earlier stars never need another look, so the cost is at most the product
 * of the lengths.
 */
#include "name_pattern.h"

bool name_matches(const char *pattern, const char *name, size_t name_bytes)
{
    const char *star = NULL;
    size_t at = 0, star_at = 0;
    for (;;) {
        if (*pattern == '*') {
            star = ++pattern;
            star_at = at;
            continue;
        }
        const char *literal = *pattern == '\\' && pattern[1] ? pattern + 1 : pattern;
        bool any = *pattern == '?';
        if (at == name_bytes && *pattern == '\0')
            return true;
        if (at < name_bytes && *pattern != '\0' && (any || *literal == name[at])) {
            pattern = literal + 1;
            at++;
            continue;
        }
        if (!star || star_at >= name_bytes)
            return false;
        pattern = star;
        at = ++star_at;
    }
}
