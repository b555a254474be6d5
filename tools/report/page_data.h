/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_data.h - data inside the page: deflated, then base64, in script elements
 * that no browser runs.
 *
 * Nothing that comes from an input stands in the page in any other form, so
 * no name, however hostile, can end an element or become markup.
 */
#ifndef PAGE_DATA_H
#define PAGE_DATA_H

#include "buffer.h"
#include "out.h"

#include <zlib.h>

/* ---- texts that are built in ----------------------------------------------------------------- */
/*
 * The page's own text, made from page_head.html, page.html, page.css, page_*.js and page_diff.* by
 * cmake/RbwpEmbed.cmake.
 */

extern const char page_html_head[], page_html[], page_css[], page_js[];
extern const size_t page_html_head_bytes, page_html_bytes, page_css_bytes, page_js_bytes;
/* Of two runs beside each other. */
extern const char page_diff_html[], page_diff_js[];
extern const size_t page_diff_html_bytes, page_diff_js_bytes;

struct page_data {
    struct out *out;
    z_stream stream;
    struct buffer packed; /* the latest output of page_data_pack */
};

/* Deflates without a header, into data->packed. False without memory. */
bool page_data_pack(struct page_data *data, const void *bytes, size_t count);
/* data->packed as base64, padded; returns the number of characters. */
size_t page_data_put(struct page_data *data);

void page_data_open(struct page_data *data, const char *id, uint64_t number);
void page_data_close(struct page_data *data);
/* All bytes as one element: its id is id and the number. False without memory. */
bool page_data_element(struct page_data *data, const char *id, uint64_t number,
                       const struct buffer *bytes);

/* A page: its own text, which is built into the command, around data. */

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

#endif /* PAGE_DATA_H */
