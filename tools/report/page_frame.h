/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_frame.h - a page: its own text, which is built into the command, around data.
 */
#ifndef PAGE_FRAME_H
#define PAGE_FRAME_H

#include "page_data.h"

/* The text of one kind of page. */
struct page_script {
    const char *html;
    size_t html_bytes;
    const char *js;
    size_t js_bytes;
};

/* False if write_data says so, or without memory: then something is missing in the page. */
bool page_frame(struct out *out, bool (*write_data)(void *context, struct page_data *data),
                void *context, struct page_script page);

/* What write writes, as the element data0. False with the message given. */
bool page_frame_json(struct page_data *data, void (*write)(const void *context, struct out *out),
                     const void *context);

#endif /* PAGE_FRAME_H */
