/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes made visible. Works character by character: names and messages are short. */
#include "visible.h"
#include "utf8.h"

#include <string.h>

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

static bool is_control(const unsigned char *bytes, size_t length)
{
    if (length == 1)
        return bytes[0] < 0x20 || bytes[0] == 0x7f;
    return length == 2 && bytes[0] == 0xc2 && bytes[1] < 0xa0;
}

size_t visible_text(const char *text, size_t count, char *out, size_t room)
{
    const unsigned char *bytes = (const unsigned char *)text;
    size_t used = 0;
    for (size_t at = 0; at < count;) {
        size_t length = utf8_length(bytes + at, count - at);
        size_t taken = length ? length : 1;
        char shown[VISIBLE_BYTES_MAX];
        size_t shown_bytes = taken;
        if (length == 0 || is_control(bytes + at, length)) {
            shown_bytes = put_hex(bytes + at, taken, shown);
        } else if (bytes[at] == '\\') {
            memcpy(shown, "\\\\", 2);
            shown_bytes = 2;
        } else {
            memcpy(shown, bytes + at, taken);
        }
        if (shown_bytes > room - used)
            break;
        memcpy(out + used, shown, shown_bytes);
        used += shown_bytes;
        at += taken;
    }
    return used;
}
