/* SPDX-License-Identifier: Apache-2.0 */
/* quantity.h - numbers and durations as people read them, whatever the locale. */
#ifndef QUANTITY_H
#define QUANTITY_H

#include <stdint.h>

#define QUANTITY_BYTES 32 /* of any text made here, with its terminator */

/* "1,234,567". Returns text. */
char *quantity_grouped(char text[QUANTITY_BYTES], uint64_t value);
/* "12 ns", "1.234 us", "2.500 s". Returns text. */
char *quantity_duration(char text[QUANTITY_BYTES], uint64_t ns);
/* The same with so many significant digits, 3 or 4, of what is not known to more: "1.23 us". */
char *quantity_rough(char text[QUANTITY_BYTES], uint64_t ns, int digits);
/* "+4.535612345s" after zero, "-0.000001000s" before: as filters take it. Returns text. */
char *quantity_time(char text[QUANTITY_BYTES], int64_t time_ns, int64_t zero_ns);

/* The same, in room of its own, which lives as long as the block that it is made in. */
#define GROUPED(value) quantity_grouped((char[QUANTITY_BYTES]){0}, value)
#define DURATION(ns) quantity_duration((char[QUANTITY_BYTES]){0}, ns)
#define ROUGH(ns, digits) quantity_rough((char[QUANTITY_BYTES]){0}, ns, digits)
#define SINCE_ZERO(time_ns, zero_ns) quantity_time((char[QUANTITY_BYTES]){0}, time_ns, zero_ns)

#endif /* QUANTITY_H */
