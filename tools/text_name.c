/* SPDX-License-Identifier: Apache-2.0 */
#include "text_name.h"

#include "visible.h"

enum { PIECE_BYTES = 16384 };

void text_name(struct out *out, const char *text, size_t count)
{
    while (count > 0) {
        char *room = out_room(out, PIECE_BYTES);
        out_end(out, room + visible_piece(&text, &count, room, PIECE_BYTES));
    }
}
