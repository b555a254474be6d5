/* SPDX-License-Identifier: Apache-2.0 */
/* unit.h - cmocka, with the headers that it wants before itself. */
#ifndef UNIT_H
#define UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#endif /* UNIT_H */
