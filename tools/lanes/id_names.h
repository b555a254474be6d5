/* SPDX-License-Identifier: Apache-2.0 */
/*
 * id_names.h - names that the command line gives to numbers: "load,mma,7=store".
 *
 * A name alone belongs to the number behind the one before it, from 0.
 */
#ifndef ID_NAMES_H
#define ID_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ID_NAMES_MAX 4096
#define ID_NAME_BYTES 256

struct id_name {
    int64_t id;
    const char *text; /* not terminated */
    uint32_t bytes;
};
struct id_names {
    struct id_name *names;
    uint32_t count, room;
};

/* text may be NULL; names point into it. False with the message given: option is its name. */
bool id_names_parse(struct id_names *names, const char *option, const char *text);
/* The name, or "what_id" in text. Terminated, and cut to fit. */
const char *id_names_get(const struct id_names *names, const char *what, int64_t id,
                         char text[ID_NAME_BYTES]);
void id_names_free(struct id_names *names);

#endif /* ID_NAMES_H */
