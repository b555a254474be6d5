/* SPDX-License-Identifier: Apache-2.0 */
/* name_pattern.h: names against patterns. */
#include "name_pattern.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

/* The definition, word for word; exponential, so for short words only. */
static bool by_definition(const char *pattern, const char *name, size_t count)
{
    if (*pattern == '\0')
        return count == 0;
    if (*pattern == '*')
        return by_definition(pattern + 1, name, count) ||
               (count && by_definition(pattern, name + 1, count - 1));
    if (count == 0)
        return false;
    if (*pattern == '?')
        return by_definition(pattern + 1, name + 1, count - 1);
    if (*pattern == '\\' && pattern[1])
        pattern++;
    return *pattern == *name && by_definition(pattern + 1, name + 1, count - 1);
}

/* The number-th word over the letters. */
static size_t word(unsigned number, const char *letters, char *out)
{
    unsigned base = (unsigned)strlen(letters);
    size_t count = 0;
    for (; number; number = (number - 1) / base)
        out[count++] = letters[(number - 1) % base];
    out[count] = '\0';
    return count;
}

/*
 * Every pattern of up to five signs against every name of up to four. The name is alone in its
 * memory, so that a sanitizer sees a look beyond its end.
 */
static void all_short_words(void **state)
{
    (void)state;
    char pattern[16], text[16];
    for (unsigned n = 0; n < 130; n++) {
        size_t count = word(n, "ab*", text);
        char *name = malloc(count ? count : 1);
        memcpy(name, text, count);
        for (unsigned p = 0; p < 4000; p++) {
            word(p, "ab*?\\", pattern);
            assert_int_equal(name_matches(pattern, name, count),
                             by_definition(pattern, name, count));
        }
        free(name);
    }
}

/* Names hold any bytes, zero too, and end where their length says. */
static void any_bytes(void **state)
{
    (void)state;
    assert_true(name_matches("a*c", "a\0b\0c", 5));
    assert_true(name_matches("a??\xff", "a\0b\xff", 4));
    assert_false(name_matches("ab", "abc", 1));
    assert_true(name_matches("a", "abc", 1));
}

/* Many stars stay quick: exponential search would not end. */
static void no_explosion(void **state)
{
    (void)state;
    char name[4096], pattern[201];
    memset(name, 'a', sizeof name);
    for (size_t i = 0; i < 200; i += 2)
        memcpy(pattern + i, "*a", 2);
    memcpy(pattern + 199, "b", 2);
    assert_false(name_matches(pattern, name, sizeof name));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_short_words),
                                       cmocka_unit_test(any_bytes), cmocka_unit_test(no_explosion)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
