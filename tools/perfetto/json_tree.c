/* SPDX-License-Identifier: Apache-2.0 */
#include "json_tree.h"

#include <stddef.h>
#include <string.h>

struct scan {
    const char *at, *end;
    char close[JSON_TREE_DEPTH_MAX]; /* of what is open */
    int depth;
};

static void skip_blanks(struct scan *scan)
{
    while (scan->at < scan->end && memchr(" \t\r\n", *scan->at, 4))
        scan->at++;
}

static bool json_tree_take(struct scan *scan, char wanted)
{
    bool found = scan->at < scan->end && *scan->at == wanted;
    scan->at += found;
    return found;
}

static bool json_tree_take_word(struct scan *scan, const char *word)
{
    size_t bytes = strlen(word);
    bool found = (size_t)(scan->end - scan->at) >= bytes && memcmp(scan->at, word, bytes) == 0;
    scan->at += found ? bytes : 0;
    return found;
}

static uint32_t take_any(struct scan *scan, const char *set)
{
    const char *start = scan->at;
    while (scan->at < scan->end && *scan->at && strchr(set, *scan->at))
        scan->at++;
    return (uint32_t)(scan->at - start);
}

static bool take_escape(struct scan *scan)
{
    if (scan->at == scan->end)
        return false;
    if (!json_tree_take(scan, 'u'))
        return *scan->at && strchr("\"\\/bfnrt", *scan->at++);
    for (int i = 0; i < 4; i++)
        if (scan->at == scan->end || !memchr("0123456789abcdefABCDEF", *scan->at++, 22))
            return false;
    return true;
}

static bool take_string(struct scan *scan)
{
    if (!json_tree_take(scan, '"'))
        return false;
    while (scan->at < scan->end && (unsigned char)*scan->at >= ' ') {
        if (json_tree_take(scan, '"'))
            return true;
        if (*scan->at++ == '\\' && !take_escape(scan))
            return false;
    }
    return false;
}

static bool json_tree_take_number(struct scan *scan)
{
    static const char digits[] = "0123456789";
    (void)json_tree_take(scan, '-');
    if (!json_tree_take(scan, '0') && !take_any(scan, digits))
        return false;
    if (json_tree_take(scan, '.') && !take_any(scan, digits))
        return false;
    if (!json_tree_take(scan, 'e') && !json_tree_take(scan, 'E'))
        return true;
    (void)(json_tree_take(scan, '+') || json_tree_take(scan, '-'));
    return take_any(scan, digits) > 0;
}

static bool take_key(struct scan *scan)
{
    skip_blanks(scan);
    if (!take_string(scan))
        return false;
    skip_blanks(scan);
    return json_tree_take(scan, ':');
}

/* Opens a level, or takes all of a value. *opened_out: something must follow inside. */
static bool take_value(struct scan *scan, bool *opened_out)
{
    skip_blanks(scan);
    bool object = json_tree_take(scan, '{'), tree = object || json_tree_take(scan, '[');
    *opened_out = false;
    if (!tree)
        return take_string(scan) || json_tree_take_word(scan, "true") ||
               json_tree_take_word(scan, "false") || json_tree_take_word(scan, "null") ||
               json_tree_take_number(scan);
    char close = object ? '}' : ']';
    skip_blanks(scan);
    if (json_tree_take(scan, close))
        return true;
    if (scan->depth == JSON_TREE_DEPTH_MAX)
        return false;
    scan->close[scan->depth++] = close;
    *opened_out = true;
    return !object || take_key(scan);
}

/* Behind a value: the ends of levels, then the comma of the next one, if there is any. */
static bool take_behind(struct scan *scan)
{
    for (skip_blanks(scan); scan->depth && json_tree_take(scan, scan->close[scan->depth - 1]);
         skip_blanks(scan))
        scan->depth--;
    if (scan->depth == 0)
        return true;
    return json_tree_take(scan, ',') && (scan->close[scan->depth - 1] == ']' || take_key(scan));
}

bool json_tree_is(const char *text, uint32_t bytes)
{
    struct scan scan = {.at = text, .end = text + bytes};
    bool opened;
    skip_blanks(&scan);
    if (scan.at == scan.end || (*scan.at != '{' && *scan.at != '['))
        return false;
    do
        if (!take_value(&scan, &opened) || (!opened && !take_behind(&scan)))
            return false;
    while (scan.depth);
    return scan.at == scan.end;
}
