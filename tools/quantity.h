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

#endif /* QUANTITY_H */
