/* SPDX-License-Identifier: Apache-2.0 */
/* inject_library.h - the driver and CUPTI, found at run time. */
#ifndef INJECT_LIBRARY_H
#define INJECT_LIBRARY_H

#include "inject_abi.h"

#include <stdbool.h>

/* The driver's functions, once inject_driver_open was true. */
extern struct inject_functions cu;
extern struct cupti_functions cupti;

/* False with the line said. */
bool inject_driver_open(void);
/* The same. RBWP_CUPTI names CUPTI's library where it is not found by itself. */
bool inject_cupti_open(void);

#endif /* INJECT_LIBRARY_H */
