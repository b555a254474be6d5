/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input.h - one input file of a tool, from open to the last word about it.
 *
 * Opens by name or "-", or says in one line why not. Hands out blocks, then
 * reports the problems that the reader noted, a bounded number of lines, and
 * turns them into an exit code: nothing read is bad data, something read with
 * problems is partly read.
 *
 * A stream knows its names only at its end. Who needs them first asks for
 * names_first: a stream is then copied to an unlinked temporary file ($TMPDIR,
 * else /tmp), so that memory stays bounded.
 *
 * A file that is gzip is unpacked into a temporary one. So is standard input,
 * unless it is a pipe that is read as it comes.
 *
 * A file that was not finalised, because its program runs or died, has its
 * names in FILE.live beside it: they are taken from there. Its newest records
 * are only there, too; who wants them opens with input_open_live.
 */
#ifndef INPUT_H
#define INPUT_H

#include "command.h"
#include "ordered_jobs.h"
#include "rbwp_recover.h"

#define INPUT_LIVE_HELP "with the records that only FILE.live has: of a program that runs or died"
#define INPUT_PROBLEM_LINES 20 /* most lines reported a file; the summary counts the rest */

struct input {
    const char *path; /* as given */
    const char *name; /* for messages: the path, or "standard input" */
    int fd;           /* -1: standard input itself */
    struct rbwp_reader *reader;
    struct rbwp_live *live;     /* the file's names are from there; NULL if they are its own */
    const char *gzip_problem;   /* why what was unpacked ends too early; NULL: it does not */
    bool live_refused;          /* there is one that cannot be read; a message was given */
    struct decode_ahead *ahead; /* NULL: the reader works alone */
    uint64_t blocks, records;   /* handed out, opaque blocks included */
    bool recovered;             /* put together of the file and its live file */
    bool was_unfinished, was_written; /* recovered: the file, and a program still wrote it */
    bool follow;
    bool tailed;                 /* its reader shows what FILE.live has by itself */
    enum rbwp_status end_status; /* RBWP_END, RBWP_AGAIN (follow), or why reading cannot go on */
};

/* Of an archive, its own size; 0: it is none, or a pipe. */
uint64_t input_archive_bytes(const struct input *input);

/* Whether its session has ended in good order; else, whether a program writes it still: if not,
 * that died. */
bool input_is_finished(const struct input *input);
/* Whether its process died in the session, or the file was recovered out of what such a one left.
 */
bool input_has_died(const struct input *input);

/* False with the message given. */
bool input_open(struct input *input, const char *path, bool names_first);

/* The same of a regular file that is open; fd is the input's from now on. */
bool input_open_fd(struct input *input, int fd, const char *name);

/* The same with the records that only the live file has, by way of a temporary file. */
bool input_open_live(struct input *input, const char *path);

/*
 * The same for a file that may grow: when input_next is false with end_status RBWP_AGAIN, it may be
 * called again.
 */
bool input_open_follow(struct input *input, const char *path);

/* From now on blocks are decoded on these threads, too, until input_close. */
void input_decode_ahead(struct input *input, struct job_threads *threads);

/* Takes the names that the live file has by now, if it is there and belongs, or the file itself if
 * it was finalised. Voids names_load and the block that was handed out last. */
void input_find_live(struct input *input);

/* The next block; false after the last or when reading cannot go on. */
bool input_next(struct input *input, struct rbwp_block *block_out);

/* Reports the problems, closes, and returns input_code. */
enum exit_code input_close(struct input *input);
/* Closes without a word: of one that is opened again. */
void input_leave(struct input *input);

/* ---- gzip input ------------------------------------------------------------------------------ */
/*
 * Inputs that are gzip, as files that can be read from anywhere.
 *
 * What a file is, its first two bytes say, not its name. It is unpacked into
 * a temporary file: blocks are found by their offsets.
 */

/* False of a pipe, too: what it begins with cannot be looked at and kept. */
bool gzip_is(int fd);

/* The unpacked bytes in a temporary file, at its beginning; -1 with the message given. name is for
 * messages. *problem_out: why they end too early, static text; NULL: they do not. */
int gzip_unpack(int fd, const char *name, const char **problem_out);

#endif /* INPUT_H */
