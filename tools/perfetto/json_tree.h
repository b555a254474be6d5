/* SPDX-License-Identifier: Apache-2.0 */
/* json_tree.h - whether a text that somebody gave for JSON is an object or array of it. */
#ifndef JSON_TREE_H
#define JSON_TREE_H

#include <stdbool.h>
#include <stdint.h>

enum { JSON_TREE_DEPTH_MAX = 64 };

/* By RFC 8259, but that bytes in strings need not be UTF-8; deeper ones are none. */
bool json_tree_is(const char *text, uint32_t bytes);

#endif /* JSON_TREE_H */
