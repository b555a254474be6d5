/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leftovers.h - what processes that died have left beside FILE: FILE.crashed-PID and its live file;
 * and FILE.earlier-PID, of a program in whose place this process executed another one.
 *
 * A program that is started again whenever it dies must not fill the disk with them, nor be kept
 * from recording by them. So there are at most LEFTOVERS_MAX of a kind, and they hold no more than
 * the disk has free; the oldest go first. Only files of this user's are removed.
 */
#ifndef LEFTOVERS_H
#define LEFTOVERS_H

#define LEFTOVERS_MAX 32
#define LEFTOVERS_CRASHED ".crashed-"
#define LEFTOVERS_EARLIER ".earlier-"

/* Makes room for one more beside that FILE. How many were removed. */
unsigned leftovers_trim(const char *file, const char *kind);

#endif /* LEFTOVERS_H */
