/* SPDX-License-Identifier: Apache-2.0 */
/* program_kind.h - whether a library can be preloaded into a program. */
#ifndef PROGRAM_KIND_H
#define PROGRAM_KIND_H

/* Why it cannot, to follow on the program's name; NULL: nothing speaks against it, or it is not
 * found, which shows when it is run. */
const char *program_kind_refused(const char *command);

#endif /* PROGRAM_KIND_H */
