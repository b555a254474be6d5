/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_option.h - options that rbwp lanes and rbwp events share.
 */
#ifndef KERNEL_OPTION_H
#define KERNEL_OPTION_H

#include "formats.h"
#include "kernel_dumps.h"

/* --to but for what each command adds, and what belongs to it. */
#define KERNEL_FORMATS EXPORT_KERNEL_WORDS

/* For stores of struct rbwp_lanes_layout's and other numbers. */
bool kernel_store_number(void *value, const char *text, struct option_error *error);
/* "100000000", "100MHz", "1.5GHz" */
bool kernel_store_hz(void *value, const char *text, struct option_error *error);

#endif /* KERNEL_OPTION_H */
