/* SPDX-License-Identifier: Apache-2.0 */
/* limit_text.h - sizes and durations as flags and rules have them: a whole number and a unit. */
#ifndef LIMIT_TEXT_H
#define LIMIT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "64M": K, M or G, of 1024. False: it is none, 0, or too large. */
bool limit_text_bytes(const char *text, size_t count, uint64_t *bytes_out);
/* "30s": ns, us, ms, s, min or h. */
bool limit_text_ns(const char *text, size_t count, uint64_t *ns_out);

#endif /* LIMIT_TEXT_H */
