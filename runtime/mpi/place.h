/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place.h - where a process is, so that others on the same machine can watch it.
 */
#ifndef PLACE_H
#define PLACE_H

#include <stdbool.h>
#include <stdint.h>

/* Travels between nodes as it is. */
struct place {
    char boot[40];      /* id of the machine's last start; "" unknown */
    uint64_t pid_space; /* number of the PID namespace; 0 unknown */
    int64_t pid;
    char host[64]; /* its name, for people */
};

void place_of_self(struct place *place);

/* Whether a process of one can watch one of the other: same machine, same process ids. */
bool places_are_near(const struct place *a, const struct place *b);

/* A descriptor that can be read from once the process has ended; -1 if there is none to be had. */
int place_handle(const struct place *place);

/* For want of a handle: whether there is no such process any more. */
bool place_is_empty(const struct place *place);

#endif /* PLACE_H */
