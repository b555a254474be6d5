/* SPDX-License-Identifier: Apache-2.0 */
/* json_tree.h - just enough JSON to read tests/golden. Numbers stay text, so 64 bits stay exact. */
#ifndef JSON_TREE_H
#define JSON_TREE_H

#include <stddef.h>
#include <stdint.h>

struct json {
    char type; /* { [ " 0 (a number), t, f, n */
    char *key; /* in an object */
    char *text;
    struct json *children;
    size_t count;
};

/* Parses text of `size` bytes with a zero behind it; fails the test on anything that is not JSON.
 */
struct json *json_parse(const char *text, size_t size);
void json_free(struct json *json);

/* The member of an object, or NULL; must_get fails the test instead. */
const struct json *json_get(const struct json *object, const char *key);
const struct json *json_must_get(const struct json *object, const char *key);
/* The number of a member, fully read. */
uint64_t json_u64(const struct json *object, const char *key);
int64_t json_i64(const struct json *object, const char *key);
const char *json_text(const struct json *object, const char *key);

#endif /* JSON_TREE_H */
