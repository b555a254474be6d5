/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as UTF-8. */
#include "viewer_text.h"
#include "utf8.h"
#include "utf8_repair.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool viewer_text_reserve(struct viewer_text *made, size_t bytes)
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
    if (!viewer_text_reserve(made, (size_t)text.bytes * (sizeof UTF8_REPLACEMENT - 1))) {
        made->failed = true;
        return (struct trace_text){"", 0};
    }
    size_t used = utf8_repair(text.text, text.bytes, NULL, made->text);
    return (struct trace_text){made->text, (uint32_t)used};
}

void viewer_text_free(struct viewer_text *made)
{
    free(made->text);
}

void viewer_title(char title[VIEWER_TITLE_BYTES], struct trace_text process,
                  struct trace_text track, uint32_t lane)
{
    enum { NAME_MAX_BYTES = 1024 };
    int process_bytes = process.bytes < NAME_MAX_BYTES ? (int)process.bytes : NAME_MAX_BYTES;
    int track_bytes = track.bytes < NAME_MAX_BYTES ? (int)track.bytes : NAME_MAX_BYTES;
    int bytes = snprintf(title, VIEWER_TITLE_BYTES, "%.*s%s%.*s", process_bytes, process.text,
                         process_bytes ? ", " : "", track_bytes, track.text);
    if (lane)
        snprintf(title + bytes, VIEWER_TITLE_BYTES - (size_t)bytes, " / %" PRIu32, lane);
}
