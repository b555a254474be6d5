/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_extend.h - for parts built upon the work manager: what they may ask of who calls them.
 *
 * Not installed: it has not settled.
 */
#ifndef WORK_EXTEND_H
#define WORK_EXTEND_H

#include "rbwp_work.h"

/* True inside a do_work, of whatever manager: no place to wait. */
bool work_is_inside(void);

/* The manager has no workers: who waits does the work. */
bool work_is_lent_only(const struct rbwp_work_manager *manager);

#endif /* WORK_EXTEND_H */
