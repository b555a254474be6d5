/* SPDX-License-Identifier: Apache-2.0 */
/*
 * controlled.h - processes whose recording this user may control, and what they answer.
 *
 * Each listens at a socket whose name has its user and its process in it; the kernel lists them
 * (/proc/net/unix). A name proves nothing: who answers is asked of the kernel, and must be that
 * process of that user.
 */
#ifndef CONTROLLED_H
#define CONTROLLED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct controlled {
    long pid;
    unsigned long uid;
    char name[108]; /* of the socket, without the 0 before it */
};

/* Those of this user, of root's all; by process. The caller frees it. False, and a message is
 * given: the kernel's list cannot be read, or there is no memory. */
bool controlled_list(struct controlled **list_out, size_t *count_out);

/* What a process said. */
struct controlled_answer {
    bool refused;
    size_t bytes;
    char text[65536]; /* ends with a 0 */
};

/* Sends up to CONTROLLED_AT_ONCE processes the words, all at the same time, and waits for their
 * answers, so many seconds in all. Of one that gives none the answer is a refusal, one line that
 * says why. */
#define CONTROLLED_AT_ONCE 128u
void controlled_ask(const struct controlled *list, size_t count, char *const *words,
                    size_t word_count, unsigned wait_s, struct controlled_answer *answers);

/* Why there is no socket of this process: one line, as a message. */
void controlled_explain(long pid);

#endif /* CONTROLLED_H */
