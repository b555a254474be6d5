/* SPDX-License-Identifier: Apache-2.0 */
/* threads_summary.h - a few lines of what threads did and waited for. */
#ifndef THREADS_SUMMARY_H
#define THREADS_SUMMARY_H

#include <stdbool.h>

/* On standard error. False with the message given. */
bool threads_summary_say(const char *file);

#endif /* THREADS_SUMMARY_H */
