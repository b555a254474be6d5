/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_scan.h - JSON, one token after the other.
 *
 * Memory does not depend on the text: strings are cut at JSON_TEXT_MAX bytes,
 * and more than JSON_DEPTH_MAX levels are refused. Strings come unescaped, as
 * UTF-8; bytes that are no UTF-8 stay as they are. A comma before a closing
 * bracket is accepted.
 */
#ifndef JSON_SCAN_H
#define JSON_SCAN_H

#include "unpack.h"

#define JSON_TEXT_MAX 4096
#define JSON_DEPTH_MAX 256

enum json_token {
    JSON_END,    /* of the text, or of what can be read; problem says why */
    JSON_KEY,    /* of a member; its value is next */
    JSON_TEXT,   /* a string */
    JSON_NUMBER, /* text is as it was written */
    JSON_WORD,   /* true, false, null */
    JSON_OBJECT,
    JSON_OBJECT_END,
    JSON_ARRAY,
    JSON_ARRAY_END
};

struct json_scan {
    struct unpack bytes;
    char text[JSON_TEXT_MAX];
    uint32_t text_bytes;
    bool text_cut; /* it was longer */
    bool in_object[JSON_DEPTH_MAX];
    uint32_t depth;
    bool value_ended;  /* a comma or the end of the level comes next */
    bool key_ended;    /* a value comes next */
    bool open_ended;   /* the text ends in the middle of an array or object */
    char problem[128]; /* empty: nothing is wrong */
};

/* False when out of memory; json_scan_stop only after true. */
bool json_scan_start(struct json_scan *scan, int fd);
void json_scan_stop(struct json_scan *scan);
enum json_token json_scan_next(struct json_scan *scan);
/* The rest of the value that began with token. */
void json_scan_skip(struct json_scan *scan, enum json_token token);

static inline bool json_scan_is(const struct json_scan *scan, const char *text)
{
    return strlen(text) == scan->text_bytes && memcmp(scan->text, text, scan->text_bytes) == 0;
}

#endif /* JSON_SCAN_H */
