/* SPDX-License-Identifier: Apache-2.0 */
/*
 * utf8_repair.h - names of any bytes for formats that want text.
 *
 * Each byte that is no part of valid UTF-8 becomes U+FFFD. What it was is lost
 * there, and names that differ in such bytes alone look alike; dump and the
 * NDJSON export keep them.
 */
#ifndef UTF8_REPAIR_H
#define UTF8_REPAIR_H

#include <stddef.h>

#define UTF8_REPLACEMENT "\xef\xbf\xbd"
enum { UTF8_REPAIR_GROWTH = 3 }; /* a byte becomes at most so many */

/* Writes at most UTF8_REPAIR_GROWTH * count bytes to repaired; how many it were. zero is what
 * stands for a zero byte, at most UTF8_REPAIR_GROWTH bytes; NULL: it stays. */
size_t utf8_repair(const char *text, size_t count, const char *zero, char *repaired);

#endif /* UTF8_REPAIR_H */
