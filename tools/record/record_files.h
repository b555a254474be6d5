/* SPDX-License-Identifier: Apache-2.0 */
/* record_files.h - the profiles that a run left, one for each process that recorded. */
#ifndef RECORD_FILES_H
#define RECORD_FILES_H

#include "input_list.h"
#include "stats.h"

#include <limits.h>
#include <time.h>

/* ---- what the profiles say ------------------------------------------------------------------- */
/* A few lines of what a run's profiles say, on standard error. */

/* asked: sources that the user named (record.h): those that left nothing are named. False with the
 * message given. */
bool record_summary_say(struct operands files, unsigned asked);

struct record_files {
    char **paths; /* NULL behind the last one */
    size_t count, room;
    struct shard rank; /* whose they are */
};

/* FILE with a word before its extension: "a.bin" becomes "a.WORD.bin". False: too long. */
bool record_files_name(const char *file, const char *word, char *path, size_t bytes);

/* Adds what was written since that time under the name, in which %p and the like stand for
 * anything, and of a name without, under the names that further processes take; under a launcher of
 * ranks those of this rank alone. Each is made whole
 * first, if its process did not get to it; of the one that has ended so
 * its items end with it (NULL: stay open). */
struct recover_end;
void record_files_find(struct record_files *files, const char *name, const struct timespec *since,
                       const struct recover_end *ended);
void record_files_free(struct record_files *files);

/* Keeps what lies in [from, to) alone; times since 1970. */
void record_files_cut(const struct record_files *files, int64_t from_ns, int64_t to_ns);
/* The same of one file, as another; live: of a process that still records. */
bool record_file_cut(const char *file, const char *to, bool live, int64_t from_ns, int64_t to_ns);

/* What belongs to the command, and folders of a run. */

/* A file beside the command, or where an installation has it; variable: of the environment, which
 * names it. False: there is none. */
bool record_find(const char *variable, const char *name, char path[PATH_MAX]);

/* The folder of a run: given (made if need be) or a temporary one. False with the message given. */
bool record_folder_make(const char *given, char path[PATH_MAX]);
/* With all that is in it. */
void record_folder_remove(const char *path);

#endif /* RECORD_FILES_H */
