/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_json.h - what the readers of small JSON files share. */
#ifndef PTX_JSON_H
#define PTX_JSON_H

#include "json_scan.h"

#define PTX_ITEMS_MAX (1u << 21) /* of any list */

#define PTX_ITEMS_NO_ROOM "out of memory, or too long a list"

typedef bool ptx_json_fn(struct json_scan *scan, void *context);

/* Opens path and has it read; false with the message given: the scan's problem, or that it is cut.
 */
bool ptx_json_read(const char *path, ptx_json_fn *read, void *context);

/* Always false; what is the problem, if there is none yet. */
bool ptx_json_wrong(struct json_scan *scan, const char *what);

/* The token's text as a number from low to high. */
bool ptx_json_number(struct json_scan *scan, int64_t low, int64_t high, int64_t *number_out);
/* The next token, which has to be a number. */
bool ptx_json_take_number(struct json_scan *scan, int64_t low, int64_t high, int64_t *number_out);

/* Room for one item more behind count; items is a pointer to the array. False beyond the most, or
 * without memory. */
bool ptx_items_grow(void *items, uint32_t count, uint32_t *room, size_t item_bytes);

#endif /* PTX_JSON_H */
