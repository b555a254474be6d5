/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_extend.h - for parts built upon the work manager: what they may ask of who calls them.
 *
 * Not installed: it has not settled. librbwp-jobs, which is of the same version, may call it.
 */
#ifndef WORK_EXTEND_H
#define WORK_EXTEND_H

#include "rbwp_work.h"

/* True inside a do_work, of whatever manager: no place to wait. */
RBWP_API bool rbwp_extend_work_inside(void);

/* The manager has no workers: who waits does the work. */
RBWP_API bool rbwp_extend_work_lent_only(const struct rbwp_work_manager *manager);

/* Some item waits for a worker. A glance. */
RBWP_API bool rbwp_extend_work_waiting(const struct rbwp_work_manager *manager);

/* A moment's rest for who looks at the same thing again and again. */
static inline void work_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif /* WORK_EXTEND_H */
