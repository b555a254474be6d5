/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names against patterns: the answer is that of a table of all prefixes, which knows no tricks.
 * The input is the pattern, a zero byte, and the name.
 */
#include "fuzz.h"
#include "name_pattern.h"

#include <stdlib.h>
#include <string.h>

#define LENGTH_MAX 500u

/* One step of a pattern: a star, any byte, or this one. */
struct step {
    enum { STAR, ANY, BYTE } kind;
    char byte;
};

static size_t take_steps(const char *pattern, struct step *steps)
{
    size_t count = 0;
    for (; *pattern; pattern++) {
        steps[count].kind = *pattern == '*' ? STAR : *pattern == '?' ? ANY : BYTE;
        if (*pattern == '\\' && pattern[1])
            pattern++;
        steps[count++].byte = *pattern;
    }
    return count;
}

static bool matches(const char *pattern, const char *name, size_t name_bytes)
{
    static struct step steps[LENGTH_MAX];
    static bool row[LENGTH_MAX + 1]; /* row[j]: the steps so far match the first j bytes */
    size_t count = take_steps(pattern, steps);
    memset(row, 0, sizeof row);
    row[0] = true;
    for (size_t i = 0; i < count; i++) {
        bool diagonal = row[0];
        row[0] = row[0] && steps[i].kind == STAR;
        for (size_t j = 1; j <= name_bytes; j++) {
            bool above = row[j];
            row[j] = steps[i].kind == STAR
                         ? above || row[j - 1]
                         : diagonal && (steps[i].kind == ANY || steps[i].byte == name[j - 1]);
            diagonal = above;
        }
    }
    return row[name_bytes];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *pattern = (const char *)guarded_copy(data, size);
    const char *end = pattern && size ? memchr(pattern, '\0', size) : NULL;
    if (!end || size > LENGTH_MAX)
        return 0;
    size_t name_bytes = size - (size_t)(end + 1 - pattern);
    REQUIRE(name_matches(pattern, end + 1, name_bytes) == matches(pattern, end + 1, name_bytes));
    return 0;
}
