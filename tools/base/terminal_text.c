/* SPDX-License-Identifier: Apache-2.0 */
#include "terminal_text.h"
#include "utf8.h"

#include <string.h>

/* ---- UTF-8 ----------------------------------------------------------------------------------- */
/* One sequence at a time. */

size_t utf8_repair(const char *text, size_t count, const char *zero, char *repaired)
{
    char *to = repaired;
    for (size_t at = 0, length; at < count; at += length) {
        const char *from = text + at;
        size_t bytes = length = utf8_length((const unsigned char *)from, count - at);
        if (length == 0) {
            from = UTF8_REPLACEMENT;
            bytes = strlen(from);
            length = 1;
        } else if (*from == '\0' && zero) {
            from = zero;
            bytes = strlen(from);
        }
        memcpy(to, from, bytes);
        to += bytes;
    }
    return (size_t)(to - repaired);
}

/* ---- text for terminals ---------------------------------------------------------------------- */
/* Bytes made visible. Works character by character: names and messages are short. */

static size_t put_hex(const unsigned char *bytes, size_t count, char *out)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < count; i++) {
        *out++ = '\\';
        *out++ = 'x';
        *out++ = digits[bytes[i] >> 4];
        *out++ = digits[bytes[i] & 15];
    }
    return 4 * count;
}

/* The character at bytes, of length by utf8_length, as it is shown. Returns how many bytes. */
static size_t terminal_text_show(const unsigned char *bytes, size_t length, char *shown)
{
    if (length == 0 || utf8_is_control(bytes, length))
        return put_hex(bytes, length ? length : 1, shown);
    if (bytes[0] == '\\') {
        memcpy(shown, "\\\\", 2);
        return 2;
    }
    memcpy(shown, bytes, length);
    return length;
}

size_t terminal_text_piece(const char **text, size_t *count, char *out, size_t room)
{
    size_t used = 0;
    while (*count > 0) {
        const unsigned char *bytes = (const unsigned char *)*text;
        size_t length = utf8_length(bytes, *count), taken = length ? length : 1;
        char shown[TERMINAL_TEXT_BYTES_MAX];
        size_t shown_bytes = terminal_text_show(bytes, length, shown);
        if (shown_bytes > room - used)
            break;
        memcpy(out + used, shown, shown_bytes);
        used += shown_bytes;
        *text += taken;
        *count -= taken;
    }
    return used;
}

size_t terminal_text(const char *text, size_t count, char *out, size_t room)
{
    return terminal_text_piece(&text, &count, out, room);
}
