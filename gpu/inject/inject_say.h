/* SPDX-License-Identifier: Apache-2.0 */
/* inject_say.h - lines on the program's standard error: one about what is not recorded, at most. */
#ifndef INJECT_SAY_H
#define INJECT_SAY_H

/* "rbwp: text"; the first call of the process, the others say nothing. */
void inject_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Whatever was said before: of what was lost, when all is over. */
void inject_say_too(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same for why CUPTI does not tell of kernels, behind what that means: that they are not
 * recorded, or what is done in its place. */
void inject_say_no_cupti(const char *format, ...) __attribute__((format(printf, 1, 2)));
extern const char *inject_without_cupti;

#endif /* INJECT_SAY_H */
