/* SPDX-License-Identifier: Apache-2.0 */
/* json_tree.c - see json_tree.h. No escapes but \" and \\: the golden files have no others. */
#include "json_tree.h"

#include "unit.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static void skip_blanks(const char **next)
{
    while (isspace((unsigned char)**next))
        ++*next;
}

static char *parse_string(const char **next)
{
    assert_int_equal(**next, '"');
    const char *begin = ++*next;
    char *text = malloc(strlen(begin) > 4096 ? 4096 : strlen(begin) + 1), *to = text;
    for (; **next != '"'; ++*next) {
        if (**next == '\\')
            ++*next;
        assert_true(**next && to - text < 4095);
        *to++ = **next;
    }
    ++*next;
    *to = 0;
    return text;
}

static void parse_value(struct json *json, const char **next);

static void parse_children(struct json *json, const char **next)
{
    char close = json->type == '{' ? '}' : ']';
    size_t capacity = 0;
    ++*next;
    skip_blanks(next);
    while (**next != close) {
        if (json->count == capacity) {
            capacity = capacity ? 2 * capacity : 8;
            json->children = realloc(json->children, capacity * sizeof *json->children);
        }
        struct json *child = &json->children[json->count++];
        *child = (struct json){0};
        if (json->type == '{') {
            child->key = parse_string(next);
            skip_blanks(next);
            assert_int_equal(*(*next)++, ':');
        }
        parse_value(child, next);
        skip_blanks(next);
        assert_true(**next == close || **next == ',');
        if (**next == ',')
            ++*next;
        skip_blanks(next);
    }
    ++*next;
}

static void parse_value(struct json *json, const char **next)
{
    skip_blanks(next);
    json->type = **next;
    if (json->type == '{' || json->type == '[') {
        parse_children(json, next);
    } else if (json->type == '"') {
        json->text = parse_string(next);
    } else {
        size_t length = strcspn(*next, ",]} \n\t");
        json->text = strndup(*next, length);
        *next += length;
        if (json->type == '-' || isdigit((unsigned char)json->type))
            json->type = '0';
        else
            assert_true(!strcmp(json->text, "true") || !strcmp(json->text, "false") ||
                        !strcmp(json->text, "null"));
    }
}

struct json *json_parse(const char *text, size_t size)
{
    struct json *json = calloc(1, sizeof *json);
    const char *next = text;
    parse_value(json, &next);
    skip_blanks(&next);
    assert_int_equal(next - text, size);
    return json;
}

static void free_inside(struct json *json)
{
    for (size_t i = 0; i < json->count; i++)
        free_inside(&json->children[i]);
    free(json->children);
    free(json->key);
    free(json->text);
}

void json_free(struct json *json)
{
    free_inside(json);
    free(json);
}

const struct json *json_get(const struct json *object, const char *key)
{
    assert_int_equal(object->type, '{');
    for (size_t i = 0; i < object->count; i++)
        if (!strcmp(object->children[i].key, key))
            return &object->children[i];
    return NULL;
}

const struct json *json_must_get(const struct json *object, const char *key)
{
    const struct json *member = json_get(object, key);
    if (!member)
        fail_msg("no member \"%s\"", key);
    return member;
}

uint64_t json_u64(const struct json *object, const char *key)
{
    const struct json *member = json_must_get(object, key);
    char *end;
    assert_int_equal(member->type, '0');
    uint64_t value = strtoull(member->text, &end, 10);
    assert_int_equal(*end, 0);
    return value;
}

int64_t json_i64(const struct json *object, const char *key)
{
    const struct json *member = json_must_get(object, key);
    char *end;
    assert_int_equal(member->type, '0');
    int64_t value = strtoll(member->text, &end, 10);
    assert_int_equal(*end, 0);
    return value;
}

const char *json_text(const struct json *object, const char *key)
{
    const struct json *member = json_must_get(object, key);
    assert_int_equal(member->type, '"');
    return member->text;
}
