/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as UTF-8. */
#include "viewer_text.h"
#include "utf8.h"

#include <stdlib.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd"
enum { REPLACEMENT_BYTES = sizeof REPLACEMENT - 1 };

static bool reserve(struct viewer_text *made, size_t bytes)
{
    if (bytes <= made->room)
        return true;
    char *moved = realloc(made->text, bytes);
    if (!moved)
        return false;
    made->text = moved;
    made->room = bytes;
    return true;
}

struct trace_text viewer_text(struct viewer_text *made, struct trace_text text)
{
    if (utf8_valid(text.text, text.bytes))
        return text;
    const unsigned char *bytes = (const unsigned char *)text.text;
    if (!reserve(made, (size_t)text.bytes * REPLACEMENT_BYTES))
        return (struct trace_text){"", 0};
    size_t used = 0;
    for (size_t at = 0, length; at < text.bytes; at += length) {
        length = utf8_length(bytes + at, text.bytes - at);
        size_t put = length ? length : REPLACEMENT_BYTES;
        memcpy(made->text + used, length ? text.text + at : REPLACEMENT, put);
        used += put;
        length += length == 0;
    }
    return (struct trace_text){made->text, (uint32_t)used};
}

void viewer_text_free(struct viewer_text *made)
{
    free(made->text);
}
