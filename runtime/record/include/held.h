/* SPDX-License-Identifier: Apache-2.0 */
/*
 * held.h - descriptors that are kept open inside a program that may close them.
 *
 * A daemon closes all descriptors, also those that it knows nothing of, and gets their numbers
 * again for files of its own. So a number alone says nothing: before each use it is compared with
 * what it was taken for, by device and inode. One that leads elsewhere is neither written to nor
 * closed; the file is opened again by its name in its folder, which is held likewise, and counts
 * only if it is the same file. What is opened again gets a high number: low ones are the program's
 * to expect.
 *
 * Not excluded: a number that is closed and given anew in the instant between comparison and use.
 */
#ifndef HELD_H
#define HELD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

struct held {
    _Atomic int fd; /* -1: none */
    dev_t device;
    ino_t inode;
    struct held *folder; /* NULL: the name is relative to nothing */
    const char *name;    /* NULL: it cannot be opened again; the text is the owner's */
    int flags;           /* to open it with */
};
#define HELD_NONE ((struct held){.fd = -1})

/* Takes a descriptor over, under another number if it is to be kept above (record_extend.h). Below
 * 0: none. */
void held_take(struct held *held, int fd);
/* How to open it again. */
void held_name(struct held *held, struct held *folder, const char *name, int flags);

/* True if it still is what was taken. Async-signal-safe. */
bool held_is_ours(const struct held *held);
/* The descriptor, opened again where need be; -1 with errno: it cannot be (any more). Any thread;
 * async-signal-safe. */
int held_fd(struct held *held);
/* After a call with it that failed: the program closed it just before, and it can be had again, so
 * the call is worth another try. Else errno says why not. */
bool held_again(struct held *held);
/* Another descriptor of the same description, which is the caller's; -1 as above. */
int held_duplicate(struct held *held);
/* Closes it if it is ours. False with errno: what was written is not all on the disk. */
bool held_close(struct held *held);

/* True if the name in that folder (a descriptor, or AT_FDCWD) stands for what was taken. */
bool held_is_at(const struct held *held, int folder, const char *name);

#endif /* HELD_H */
