/* SPDX-License-Identifier: Apache-2.0 */
#include "text_name.h"

#include "terminal_text.h"

enum { TEXT_NAME_PIECE_BYTES = 16384 };

void text_name(struct out *out, const char *text, size_t count)
{
    while (count > 0) {
        char *room = out_room(out, TEXT_NAME_PIECE_BYTES);
        out_end(out, room + terminal_text_piece(&text, &count, room, TEXT_NAME_PIECE_BYTES));
    }
}

/* The end of the character at at. */
static size_t next_char(const char *text, size_t at, size_t bytes)
{
    for (at++; at < bytes && ((unsigned char)text[at] & 0xc0) == 0x80; at++)
        ;
    return at;
}

unsigned text_name_fit(struct out *out, const char *text, size_t count, unsigned columns)
{
    char shown[4 * (TEXT_COLUMNS_MAX + 1) + TERMINAL_TEXT_BYTES_MAX];
    size_t bytes = terminal_text_piece(&text, &count, shown, sizeof shown);
    size_t end = 0, cut = 0;
    unsigned used = 0;
    for (; end < bytes && used < columns; used++) {
        end = next_char(shown, end, bytes);
        cut = used < columns - 2 ? end : cut;
    }
    bool fits = end == bytes && count == 0;
    out_bytes(out, shown, fits ? end : cut);
    if (!fits)
        out_bytes(out, "..", 2);
    return used;
}

void text_name_column(struct out *out, const char *text, size_t count, unsigned columns)
{
    unsigned used = text_name_fit(out, text, count, columns);
    out_format(out, "%*s", (int)(columns - used), "");
}
