/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_support.h - for tests of the recorder: sessions that write into a
 * directory of the test, and what the file says afterwards.
 *
 * A file is read back by the reader and, as far as blocks and tables go, by a
 * second walk that knows nothing but version 1. Both must agree, the verifier
 * must be content, and no thread's time may run backwards.
 */
#ifndef RECORD_SUPPORT_H
#define RECORD_SUPPORT_H

#include "rbwp_reader.h"
#include "rbwp_record.h"
#include "rbwp_session.h"

#include <stdatomic.h>

/* A path in a directory that is removed when the program ends. Static text, one per name. */
const char *test_path(const char *name);

/* Defaults, this level, and "test.bin" in the test's directory. */
struct rbwp_session_config test_config(int level);
/* The same with chunks of 4 KiB. */
struct rbwp_session_config small_chunks(int level);
struct rbwp_session *start(const struct rbwp_session_config *config);
/* Stops; fails the test if that is not RBWP_OK. */
struct rbwp_session_summary stop(struct rbwp_session *session);

/* A clock of the test: reading it moves it by `step`. */
extern _Atomic uint64_t fake_now;
extern _Atomic int64_t fake_step;
uint64_t fake_clock(void);

struct event {
    uint64_t thread_id;
    struct rbwp_record record;
};

struct recorded {
    struct rbwp_reader *reader;
    struct rbwp_file_header header;
    const struct rbwp_tables *tables;
    const struct rbwp_trailer *trailer; /* NULL: none */
    struct event *event;                /* in file order */
    size_t events, room, blocks;
};

/* A whole file, free of problems. */
struct recorded read_back(const char *path);
/* A file that may be unfinished but is whole as far as it goes. */
struct recorded read_unfinished(const char *path);
void recorded_free(struct recorded *recorded);
/* What is read back from FILE and FILE.live, made whole: of a process that has gone, with no loss.
 */
struct recorded read_recovered(const char *path);

/* What a thread did, as text: "B7 F3 f G2 E" is begin of slot 7, fine begin of 3, its end, GPU work
 * of slot 2, end. 0 = all threads, in file order. The caller frees it. */
char *calls_of(const struct recorded *recorded, uint64_t thread_id);
/* Reads the file of test_config back and compares what the only thread did. */
void assert_calls(const char *expected);

/* Thread by name; fails the test if there is none or several. */
const struct rbwp_thread_info *thread_named(const struct recorded *recorded, const char *name);
/* The count of a loss, 0 = all threads. Its time range must lie in the session. */
uint64_t losses(const struct recorded *recorded, uint64_t thread_id, enum rbwp_loss_cause cause);
/* Losses of all kinds. */
uint64_t all_losses(const struct recorded *recorded);

/* Checks that begins and ends take turns on each thread, except that the last begin may be open. */
void assert_matched(const struct recorded *recorded);

/* The most memory that this program has had in use, in kB. (getrusage counts what the process had
 * before the program was started: a test that is run out of a large Python.) */
long most_memory_kb(void);

#endif /* RECORD_SUPPORT_H */
