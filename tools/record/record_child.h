/* SPDX-License-Identifier: Apache-2.0 */
/* record_child.h - the program: its terminal, streams and signals are as if it had been called
 * itself. */
#ifndef RECORD_CHILD_H
#define RECORD_CHILD_H

#include "recover_part.h"

#define RECORD_WORDS_MAX 24

/* Variables of its environment, beside ours. */
struct record_environment {
    struct {
        const char *name;
        char *value; /* NULL: not set */
    } variables[RECORD_WORDS_MAX];
    int count;
    const char *own_number; /* one that gets the program's process number; NULL: none */
    bool repeated;          /* the program has no input and no output but standard error */
};
/* A copy of value is kept; false without memory. */
bool record_set(struct record_environment *environment, const char *name, const char *value);
void record_environment_free(struct record_environment *environment);

/* How it ended, as waitpid says it. One that is not found ends with 127, and one that cannot be run
 * with 126, with the message given. -1: there is no process to run it in. */
int record_run(char **words, const struct record_environment *environment);

/* Which process that was, and when it was seen to have ended. */
struct recover_end record_end_seen(void);

/* The signal by which the user stopped it, however it took that; 0: none. */
int record_stopped(void);

/* The exit status that this stands for. Ends this process by the signal that ended the program. */
int record_end_like(int status);

/* Which processes the program forked that have no file, as all have the same
 * one. */

/* The program's library is to note them. False with the message given. */
bool record_children_set_up(struct record_environment *environment);

/* One line, if there were any that the file does not report. Once, in any case. */
void record_children_say(const char *file);

#endif /* RECORD_CHILD_H */
