/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_text.h - the page's own text, made from page_head.html, page.html,
 * page.css, page_*.js and page_diff.* by cmake/RbwpEmbed.cmake.
 */
#ifndef PAGE_TEXT_H
#define PAGE_TEXT_H

#include <stddef.h>

extern const char page_html_head[], page_html[], page_css[], page_js[];
extern const size_t page_html_head_bytes, page_html_bytes, page_css_bytes, page_js_bytes;
/* Of two runs beside each other. */
extern const char page_diff_html[], page_diff_js[];
extern const size_t page_diff_html_bytes, page_diff_js_bytes;

#endif /* PAGE_TEXT_H */
