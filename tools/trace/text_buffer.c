/* SPDX-License-Identifier: Apache-2.0 */
#include "text_buffer.h"
#include "thread_map.h"
#include "utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool text_buffer_put(struct text_buffer *buffer, const char *text, uint32_t bytes)
{
    if (bytes > buffer->most - buffer->used)
        return false;
    if (!grow_zeroed32(&buffer->bytes, &buffer->room, buffer->used + bytes + 1, 1)) {
        buffer->failed = true;
        return false;
    }
    if (bytes)
        memcpy(buffer->bytes + buffer->used, text, bytes);
    buffer->used += bytes;
    return true;
}

/* The bytes from at on that can stand in a string as they are. */
static uint32_t plain_bytes(const char *text, uint32_t bytes, uint32_t at)
{
    uint32_t end = at;
    while (end < bytes) {
        unsigned char byte = (unsigned char)text[end];
        size_t length = byte < ' ' || byte == '"' || byte == '\\'
                            ? 0
                            : utf8_length((const unsigned char *)text + end, bytes - end);
        if (length == 0)
            break;
        end += (uint32_t)length;
    }
    return end - at;
}

bool text_buffer_quote(struct text_buffer *buffer, const char *text, uint32_t bytes)
{
    bool good = text_buffer_put(buffer, "\"", 1);
    for (uint32_t at = 0; at < bytes && good; at++) {
        char escape[8];
        uint32_t plain = plain_bytes(text, bytes, at);
        good = text_buffer_put(buffer, text + at, plain);
        at += plain;
        if (at == bytes)
            break;
        unsigned char byte = (unsigned char)text[at];
        int made = snprintf(escape, sizeof escape, byte >= 0x80 || byte < ' ' ? "\\u%04x" : "\\%c",
                            byte >= 0x80 ? 0xfffdu : byte);
        good = good && text_buffer_put(buffer, escape, (uint32_t)made);
    }
    return good && text_buffer_put(buffer, "\"", 1);
}

void text_buffer_free(struct text_buffer *buffer)
{
    free(buffer->bytes);
}
