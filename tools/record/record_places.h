/* SPDX-License-Identifier: Apache-2.0 */
/* record_places.h - what belongs to the command, and folders of a run. */
#ifndef RECORD_PLACES_H
#define RECORD_PLACES_H

#include <limits.h>
#include <stdbool.h>

/* A file beside the command, or where an installation has it; variable: of the environment, which
 * names it. False: there is none. */
bool record_find(const char *variable, const char *name, char path[PATH_MAX]);

/* The folder of a run: given (made if need be) or a temporary one. False with the message given. */
bool record_folder_make(const char *given, char path[PATH_MAX]);
/* With all that is in it. */
void record_folder_remove(const char *path);

#endif /* RECORD_PLACES_H */
