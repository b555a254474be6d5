/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name_pattern.h - names against patterns with * and ?.
 *
 * Our own, because names may hold any bytes (zero too) and the answer must
 * not depend on the locale. A ? stands for one byte; \ takes the next byte
 * as it is.
 */
#ifndef NAME_PATTERN_H
#define NAME_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

bool name_matches(const char *pattern, const char *name, size_t name_bytes);

#endif /* NAME_PATTERN_H */
