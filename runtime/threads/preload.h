/* SPDX-License-Identifier: Apache-2.0 */
/* preload.h - the session of a program that the library was loaded into. */
#ifndef PRELOAD_H
#define PRELOAD_H

/* The program is about to have a second thread: the session may have its own from here on. */
void preload_first_thread(void);

#endif /* PRELOAD_H */
