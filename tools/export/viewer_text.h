/* SPDX-License-Identifier: Apache-2.0 */
/*
 * viewer_text.h - texts for viewers, which want UTF-8.
 *
 * A byte that is no part of valid UTF-8 becomes U+FFFD.
 */
#ifndef VIEWER_TEXT_H
#define VIEWER_TEXT_H

#include "trace.h"

/* Room for the text of any name. */
struct viewer_text {
    char *text;
    size_t room;
};

/* Puts text into made, which grows; zero is an empty one. What does not fit into memory is left
 * out. */
struct trace_text viewer_text(struct viewer_text *made, struct trace_text text);
void viewer_text_free(struct viewer_text *made);

/* "node 0, worker 3", and " / 2" for a lane behind the first. What is too long is cut. */
#define VIEWER_TITLE_BYTES 2100
void viewer_title(char title[VIEWER_TITLE_BYTES], struct trace_text process,
                  struct trace_text track, uint32_t lane);

#endif /* VIEWER_TEXT_H */
