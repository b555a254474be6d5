/* SPDX-License-Identifier: Apache-2.0 */
#include "text_buffer.h"
#include "thread_map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool text_buffer_put(struct text_buffer *buffer, const char *text, uint32_t bytes)
{
    if (bytes > buffer->most - buffer->used)
        return false;
    if (!thread_array_grow(&buffer->bytes, &buffer->room, buffer->used + bytes + 1, 1)) {
        buffer->failed = true;
        return false;
    }
    if (bytes)
        memcpy(buffer->bytes + buffer->used, text, bytes);
    buffer->used += bytes;
    return true;
}

bool text_buffer_quote(struct text_buffer *buffer, const char *text, uint32_t bytes)
{
    bool good = text_buffer_put(buffer, "\"", 1);
    for (uint32_t i = 0, from = 0; i <= bytes && good; i++) {
        unsigned char byte = i < bytes ? (unsigned char)text[i] : '"';
        char escape[8];
        if (byte >= ' ' && byte != '"' && byte != '\\')
            continue;
        good = text_buffer_put(buffer, text + from, i - from);
        from = i + 1;
        if (i == bytes)
            break;
        int made = snprintf(escape, sizeof escape, byte < ' ' ? "\\u%04x" : "\\%c", byte);
        good = good && text_buffer_put(buffer, escape, (uint32_t)made);
    }
    return good && text_buffer_put(buffer, "\"", 1);
}

void text_buffer_free(struct text_buffer *buffer)
{
    free(buffer->bytes);
}
