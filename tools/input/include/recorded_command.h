/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorded_command.h - the command line of a trailer, one argument at a time.
 *
 * A zero byte stands between arguments, so n of them make n + 1 arguments,
 * each of which may be empty; without any byte no argument is known. A process
 * that writes its title over the first one leaves the others empty: these are
 * not arguments.
 */
#ifndef RECORDED_COMMAND_H
#define RECORDED_COMMAND_H

#include "rbwp_reader.h"

#include <string.h>

struct recorded_command {
    const char *next, *end; /* next NULL: none is left */
};

static inline struct recorded_command recorded_command_of(const struct rbwp_trailer *trailer)
{
    if (trailer->command_bytes == 0)
        return (struct recorded_command){NULL, NULL};
    const char *end = trailer->command + trailer->command_bytes;
    size_t bytes = strnlen(trailer->command, trailer->command_bytes), used = trailer->command_bytes;
    while (used > bytes && trailer->command[used - 1] == '\0')
        used--;
    bool is_title = used == bytes && memchr(trailer->command, ' ', bytes);
    return (struct recorded_command){trailer->command, is_title ? trailer->command + bytes : end};
}

/* False after the last one. The text is not terminated. */
static inline bool recorded_command_next(struct recorded_command *arguments, const char **text_out,
                                         size_t *bytes_out)
{
    if (!arguments->next)
        return false;
    const char *text = arguments->next;
    size_t left = (size_t)(arguments->end - text);
    const char *zero = left ? memchr(text, '\0', left) : NULL;
    *text_out = text;
    *bytes_out = zero ? (size_t)(zero - text) : left;
    arguments->next = zero ? zero + 1 : NULL;
    return true;
}

#endif /* RECORDED_COMMAND_H */
