/* SPDX-License-Identifier: Apache-2.0 */
#include "text_name.h"

#include "visible.h"

#define PIECE_BYTES 16384u /* a character that is cut between pieces shows as its bytes */

void text_name(struct out *out, const char *text, size_t count)
{
    for (size_t at = 0; at < count;) {
        size_t piece = count - at < PIECE_BYTES ? count - at : PIECE_BYTES;
        size_t most = piece * VISIBLE_BYTES_MAX;
        char *room = out_room(out, most);
        out_end(out, room + visible_text(text + at, piece, room, most));
        at += piece;
    }
}
