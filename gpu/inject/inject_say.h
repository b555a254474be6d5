/* SPDX-License-Identifier: Apache-2.0 */
/* inject_say.h - at most one line on the program's standard error. */
#ifndef INJECT_SAY_H
#define INJECT_SAY_H

/* "rbwp: text"; the first call of the process, the others say nothing. */
void inject_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif /* INJECT_SAY_H */
