/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the recording calls leave in the file: by level, with empty calls taken
 * back, after misuse, and at the ends of chunks. The writer is not trusted:
 * every file is read back.
 */
#include "record_support.h"

#include "chunk_pool.h"
#include "clock.h"
#include "recording.h"
#include "unit.h"
#include "wrapped.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Words of a 4 KiB chunk that a begin may use (its head and the reserve for ends apart). */
enum { CHUNK_EVENTS = (4096 - 64) / 8 - 32 };

/* ---- memory that runs out -------------------------------------------------------------- */

static _Atomic bool no_memory;

/* The linker gives us the calls of mmap, under the name that the C library's header chose. */
void *REAL_(mmap)(void *at, size_t size, int protection, int flags, int fd, off_t offset);
void *WRAP_(mmap)(void *at, size_t size, int protection, int flags, int fd, off_t offset);
void *WRAP_(mmap)(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    if (no_memory) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return REAL_(mmap)(at, size, protection, flags, fd, offset);
}
WRAP_TOO_(mmap);

/* ---- the test's clock --------------------------------------------------------------------- */

static uint64_t move_clock(int64_t by)
{
    return atomic_fetch_add(&fake_now, (uint64_t)by) + (uint64_t)by;
}

/* ---- levels ------------------------------------------------------------------------------ */

static void all_calls(void)
{
    rbwp_begin(7);
    rbwp_fine_begin(3);
    rbwp_fine_begin(65535);
    rbwp_fine_end();
    rbwp_gpu_work(1, 9, 10, 20);
    rbwp_fine_end();
    rbwp_end();
    rbwp_fine_begin(4);
    rbwp_fine_end();
    rbwp_begin(255);
    rbwp_end();
}

/* Level 1 knows no sub-items, level 0 knows nothing, and makes no file. */
static void test_levels(void **state)
{
    (void)state;
    struct rbwp_session_config config = test_config(0);
    struct rbwp_session *session;
    struct rbwp_error error;
    assert_int_equal(rbwp_session_start(&config, &session, &error), RBWP_OK);
    assert_null(session);
    all_calls();
    assert_int_equal(rbwp_session_stop(session, NULL), RBWP_OK);
    struct rbwp_reader *reader;
    assert_int_equal(rbwp_reader_open(config.logfile, NULL, &reader, NULL), RBWP_E_IO);

    config = test_config(1);
    session = start(&config);
    all_calls();
    assert_int_equal(stop(session).records, 5);
    assert_calls("B7 G9 E B255 E");

    config = test_config(2);
    session = start(&config);
    all_calls();
    assert_int_equal(stop(session).records, 11);
    assert_calls("B7 F3 F65535 f G9 f E F4 f B255 E");
}

/* ---- empty calls --------------------------------------------------------------------------- */

/* An item with so many words of sub-items and GPU work in it. */
static void fill_item(unsigned words)
{
    unsigned i = 0;
    for (; i + 6 <= words; i += 6) {
        rbwp_fine_begin(i % 100);
        rbwp_gpu_work(i, 1, i, i + 1);
        rbwp_fine_end();
    }
    for (; i + 2 <= words; i += 2) {
        rbwp_fine_begin(i % 100);
        rbwp_fine_end();
    }
}

/*
 * An empty call leaves no trace, whatever is in it, wherever in a chunk it begins, and however
 * many chunks it has filled: none, just one, several. (A known recorder rewinds the new block to
 * the old one's place when a block filled up in between.)
 */
static void test_empty_leaves_no_trace(void **state)
{
    (void)state;
    static const unsigned fills[] = {0,   2,   6,    CHUNK_EVENTS - 4,    CHUNK_EVENTS - 2,
                                     472, 476, 1000, 3 * CHUNK_EVENTS - 2};
    for (unsigned before = 0; before <= CHUNK_EVENTS + 6; before += before < 440 ? 110 : 2) {
        struct rbwp_session_config config = small_chunks(2);
        struct rbwp_session *session = start(&config);
        char expected[8192] = "", *end = expected;
        for (unsigned i = 0; i < before; i += 2) {
            rbwp_fine_begin(i);
            rbwp_fine_end();
            end += sprintf(end, "F%u f ", i);
        }
        for (size_t i = 0; i < sizeof fills / sizeof fills[0]; i++) {
            rbwp_begin(1);
            fill_item(fills[i]);
            if (i % 2)
                rbwp_discard();
            else
                rbwp_set_worked(false), rbwp_end();
        }
        rbwp_begin(2);
        rbwp_fine_begin(5);
        rbwp_fine_end();
        rbwp_end();
        strcpy(end, "B2 F5 f E");
        struct rbwp_session_summary summary = stop(session);
        assert_int_equal(summary.discarded, sizeof fills / sizeof fills[0]);
        assert_int_equal(summary.lost_records + summary.misuse_calls, 0);
        assert_calls(expected);
    }
}

/* An item that says that it worked after all is kept, and what was before it stays. */
static void test_said_last_counts(void **state)
{
    (void)state;
    struct rbwp_session_config config = test_config(2);
    struct rbwp_session *session = start(&config);
    rbwp_begin(1);
    rbwp_set_worked(false);
    rbwp_set_worked(true);
    rbwp_end();
    rbwp_begin(2);
    rbwp_set_worked(false);
    rbwp_fine_begin(8); /* says "true" */
    rbwp_fine_end();
    rbwp_end();
    rbwp_begin(3);
    rbwp_fine_begin(9);
    rbwp_set_worked(false);
    rbwp_fine_end();
    rbwp_end();
    rbwp_begin(4); /* true again by itself */
    rbwp_end();
    rbwp_set_worked(false); /* no item is open: says nothing of the next */
    rbwp_begin(5);
    rbwp_end();
    rbwp_begin(6);
    rbwp_gpu_work(1, 6, 1, 2); /* does not say that it worked */
    rbwp_set_worked(false);
    rbwp_gpu_work(1, 6, 1, 2);
    rbwp_end();
    assert_int_equal(stop(session).discarded, 2);
    assert_calls("B1 E B2 F8 f E B4 E B5 E");
}

/* An empty call that lasted as long as the limit is kept; shorter ones, by one tick, are not. */
static void test_time_limit(void **state)
{
    (void)state;
    fake_step = 0;
    fake_now = 1000000;
    clock_replace(fake_clock);
    struct rbwp_session_config config = small_chunks(2);
    struct rbwp_session *session = start(&config);
    rbwp_set_time_limit(500); /* this clock's ticks are nanoseconds */
    static const unsigned words[] = {0, 8, 600};
    for (size_t i = 0; i < 3; i++) {
        rbwp_begin_at(1, fake_now);
        fill_item(words[i]);
        rbwp_set_worked(false);
        rbwp_end_at(move_clock(499));
    }
    for (size_t i = 0; i < 3; i++) {
        rbwp_begin_at((unsigned)i, fake_now);
        if (i)
            rbwp_fine_begin(1), rbwp_fine_end();
        rbwp_set_worked(false);
        rbwp_end_at(move_clock(500 + (int64_t)i));
    }
    rbwp_set_time_limit(0); /* keeps all, even one of no time at all */
    rbwp_begin_at(10, fake_now);
    rbwp_set_worked(false);
    rbwp_end_at(fake_now);
    rbwp_begin_at(11, fake_now); /* time ran backwards: nobody can say that it lasted */
    rbwp_set_worked(false);
    rbwp_end_at(fake_now - 100);
    rbwp_set_time_limit(UINT64_MAX);
    rbwp_begin_at(12, fake_now);
    rbwp_set_worked(false);
    rbwp_end_at(move_clock(INT64_C(1) << 50));
    fake_now = 2000000;
    assert_int_equal(stop(session).discarded, 5);
    clock_replace(NULL);
    assert_calls("B0 E B1 F1 f E B2 F1 f E B10 E");
}

/* ---- misuse ---------------------------------------------------------------------------------- */

struct misuse {
    const char *what;
    void (*calls)(void);
    const char *recorded;
    enum rbwp_loss_cause cause;
    uint64_t count;
};

static void nested_begin(void)
{
    rbwp_begin(1);
    rbwp_fine_begin(1);
    rbwp_begin(2);
    rbwp_fine_begin(2);
    rbwp_begin(3);
    rbwp_end();
    rbwp_fine_end();
    rbwp_end();
    rbwp_fine_end();
    rbwp_end();
}

/* What is said inside the ignored item is not said of the open one. */
static void nested_empty(void)
{
    rbwp_begin(1);
    rbwp_begin(2);
    rbwp_discard();
    rbwp_end();
    rbwp_begin(3);
    rbwp_set_worked(false);
    rbwp_begin(4);
    rbwp_set_worked(true);
    rbwp_end();
    rbwp_end();
}

static void stray_ends(void)
{
    rbwp_begin(0);
    rbwp_end();
    rbwp_end();
    rbwp_fine_end();
    rbwp_discard();
    rbwp_begin(1);
    rbwp_fine_end();
    rbwp_end();
    rbwp_end();
}

static void end_of_outer_fine(void)
{
    rbwp_fine_begin(1);
    rbwp_begin(2);
    rbwp_fine_end();
    rbwp_end();
    rbwp_fine_end();
}

static void unclosed_fine(void)
{
    rbwp_begin(1);
    rbwp_fine_begin(1);
    rbwp_fine_begin(2);
    rbwp_end();
    rbwp_begin(2);
    rbwp_end();
}

static void slot_256(void)
{
    rbwp_begin(256);
    rbwp_end();
    rbwp_begin(1);
    rbwp_gpu_work(1, 256, 1, 2);
    rbwp_end();
    rbwp_begin(UINT_MAX);
    rbwp_end();
}

static void fine_inside_lost_item(void)
{
    rbwp_begin(300);
    rbwp_fine_begin(1);
    rbwp_fine_end();
    rbwp_end();
    rbwp_begin(2);
    rbwp_end();
}

static void unclosed_inside_lost_item(void)
{
    rbwp_begin(300);
    rbwp_fine_begin(1);
    rbwp_end();
    rbwp_fine_begin(2);
    rbwp_fine_end();
}

static void sub_item_65536(void)
{
    rbwp_begin(1);
    rbwp_fine_begin(65536);
    rbwp_fine_begin(2); /* goes with the one around it */
    rbwp_fine_end();
    rbwp_fine_end();
    rbwp_fine_begin(3);
    rbwp_fine_end();
    rbwp_end();
}

/* An item inside a sub-item that is missing is whole, and the missing one's end is no stray. */
static void item_inside_lost_fine(void)
{
    rbwp_fine_begin(70000);
    rbwp_begin(1);
    rbwp_fine_begin(2);
    rbwp_fine_end();
    rbwp_end();
    rbwp_fine_end();
    rbwp_fine_begin(3);
    rbwp_fine_end();
}

static const struct misuse misuses[] = {
    {"begin inside an item", nested_begin, "B1 F1 F2 f f E", RBWP_LOSS_NESTED_BEGIN, 2},
    {"empty inside an item", nested_empty, "B1 E", RBWP_LOSS_NESTED_BEGIN, 2},
    {"ends without begin", stray_ends, "B0 E B1 E", RBWP_LOSS_STRAY_END, 5},
    {"fine end of an outer one", end_of_outer_fine, "F1 B2 E f", RBWP_LOSS_STRAY_END, 1},
    {"fine left open", unclosed_fine, "B1 F1 F2 f f E B2 E", RBWP_LOSS_UNCLOSED_FINE, 1},
    {"slot 256", slot_256, "B1 E", RBWP_LOSS_RANGE, 3},
    {"fine in slot 300", fine_inside_lost_item, "F1 f B2 E", RBWP_LOSS_RANGE, 1},
    {"sub-item 65536", sub_item_65536, "B1 F3 f E", RBWP_LOSS_RANGE, 2},
    {"item in sub-item 70000", item_inside_lost_fine, "B1 F2 f E F3 f", RBWP_LOSS_RANGE, 1},
};

/* Each misuse is counted under its cause, on its thread, in its time; what is around it stays. */
static void test_misuse(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof misuses / sizeof misuses[0]; i++) {
        const struct misuse *misuse = &misuses[i];
        struct rbwp_session_config config = test_config(2);
        struct rbwp_session *session = start(&config);
        misuse->calls();
        struct rbwp_session_summary summary = stop(session);
        struct recorded recorded = read_back(config.logfile);
        char *calls = calls_of(&recorded, 0);
        uint64_t mine = thread_named(&recorded, "main")->thread_id;
        if (strcmp(calls, misuse->recorded) != 0 || summary.misuse_calls != misuse->count ||
            losses(&recorded, mine, misuse->cause) != misuse->count)
            fail_msg("%s: \"%s\", %llu calls", misuse->what, calls,
                     (unsigned long long)summary.misuse_calls);
        assert_int_equal(all_losses(&recorded), misuse->count);
        free(calls);
        recorded_free(&recorded);
    }
}

/* A begin inside an item that could not be recorded is nested all the same, and its end is its own.
 */
static void test_begin_inside_lost_item(void **state)
{
    (void)state;
    struct rbwp_session_config config = test_config(1);
    struct rbwp_session *session = start(&config);
    rbwp_begin(1);
    rbwp_end();
    rbwp_begin(300);
    rbwp_begin(2);
    rbwp_end();
    rbwp_end();
    rbwp_begin(3);
    rbwp_end();
    (void)stop(session);
    assert_calls("B1 E B3 E");
    struct recorded recorded = read_back(config.logfile);
    assert_int_equal(losses(&recorded, 0, RBWP_LOSS_NESTED_BEGIN), 1);
    assert_int_equal(losses(&recorded, 0, RBWP_LOSS_RANGE), 1);
    assert_int_equal(all_losses(&recorded), 2);
    recorded_free(&recorded);
}

/* That an item had to be kept, at the cap, is over with it: the next empty one leaves no trace. */
static void test_after_kept_item(void **state)
{
    (void)state;
    struct rbwp_session_config config = small_chunks(2);
    config.cap_bytes = 1;
    config.stall_ns = UINT64_C(300) * 1000000000;
    struct rbwp_session *session = start(&config);
    enum { PAIRS = 2000 }; /* more than the two chunks that a thread has in any case */
    rbwp_begin(1);
    for (int i = 0; i < PAIRS; i++) {
        rbwp_fine_begin(1);
        rbwp_fine_end();
    }
    rbwp_end();
    rbwp_begin(2);
    rbwp_fine_begin(2);
    rbwp_fine_end();
    rbwp_discard();
    struct rbwp_session_summary summary = stop(session);
    assert_int_equal(summary.misuse_calls, 0);
    assert_int_equal(summary.discarded, 1);
    assert_int_equal(summary.records, 2 * PAIRS + 2);
}

/* Two causes at once are distinguished, and the end of a refused begin is no call more. */
static void test_two_causes(void **state)
{
    (void)state;
    struct rbwp_session_config config = test_config(2);
    struct rbwp_session *session = start(&config);
    unclosed_inside_lost_item();
    (void)stop(session);
    struct recorded recorded = read_back(config.logfile);
    assert_int_equal(losses(&recorded, 0, RBWP_LOSS_RANGE), 1);
    assert_int_equal(losses(&recorded, 0, RBWP_LOSS_UNCLOSED_FINE), 1);
    assert_int_equal(all_losses(&recorded), 2);
    recorded_free(&recorded);
    assert_calls("F1 f F2 f");
}

/* Nesting deeper than is counted is refused, and what was recorded closes properly. */
static void test_deep_nesting(void **state)
{
    (void)state;
    enum { DEEP = 32767, MORE = 10 };
    struct rbwp_session_config config = small_chunks(2);
    struct rbwp_session *session = start(&config);
    rbwp_begin(1);
    for (unsigned i = 0; i < DEEP + MORE; i++)
        rbwp_fine_begin(i % 1000);
    for (unsigned i = 0; i < DEEP + MORE; i++)
        rbwp_fine_end();
    rbwp_end();
    assert_int_equal(stop(session).misuse_calls, MORE);
    struct recorded recorded = read_back(config.logfile);
    assert_int_equal(losses(&recorded, 0, RBWP_LOSS_RANGE), MORE);
    assert_int_equal(recorded.events, 2 * DEEP + 2);
    int depth = 0;
    for (size_t i = 0; i < recorded.events; i++) {
        const struct rbwp_record *record = &recorded.event[i].record;
        if (record->kind == RBWP_FINE_BEGIN)
            assert_int_equal(record->sub_item, depth++ % 1000);
        else if (record->kind == RBWP_FINE_END)
            depth--;
        assert_true(depth >= 0);
    }
    assert_int_equal(depth, 0);
    recorded_free(&recorded);
}

static void *unattached(void *argument)
{
    (void)argument;
    all_calls();
    rbwp_set_time_limit(0);
    rbwp_set_worked(false);
    rbwp_discard();
    return NULL;
}

static void *unattached_once(void *argument)
{
    rbwp_begin(1);
    return argument;
}

static void run_unattached(void *(*calls)(void *), int count)
{
    pthread_t threads[3];
    for (int i = 0; i < count; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, calls, NULL), 0);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

/* A thread that is not attached records nothing, and the file says so, with the time of the first
 * call. An item is one call, with all that lies in it; an end alone is one, too. */
static void test_unattached(void **state)
{
    (void)state;
    struct rbwp_session_config config = test_config(2);
    struct rbwp_session *session = start(&config);
    rbwp_begin(1);
    run_unattached(unattached_once, 1);
    const int64_t after_one_ns = rbwp_now_ns();
    run_unattached(unattached, 3);
    rbwp_end();
    struct rbwp_session_summary summary = stop(session);
    assert_int_equal(summary.misuse_calls, 1 + 3 * 4);
    assert_string_equal(summary.error.text,
                        "13 calls not recorded: the thread was not attached; call "
                        "rbwp_thread_attach in each thread that records");
    struct recorded recorded = read_back(config.logfile);
    assert_int_equal(losses(&recorded, 0, RBWP_LOSS_NOT_ATTACHED), 1 + 3 * 4);
    assert_int_equal(all_losses(&recorded), 1 + 3 * 4);
    assert_int_equal(recorded.trailer->loss_count, 1);
    assert_true(recorded.trailer->losses[0].first_ns <= after_one_ns);
    assert_true(recorded.trailer->losses[0].last_ns >= after_one_ns);
    recorded_free(&recorded);
    assert_calls("B1 E");

    session = start(&config); /* counted once: not again in the next session */
    summary = stop(session);
    assert_int_equal(summary.misuse_calls, 0);
    assert_string_equal(summary.error.text, "");
}

/* Calls while another call runs on the thread, as a signal handler may make them, are refused. */
static void test_interrupted_call(void **state)
{
    (void)state;
    struct rbwp_session_config config = test_config(2);
    struct rbwp_session *session = start(&config);
    rbwp_begin(1);
    rbwp_self_.in_call = 1;
    rbwp_begin(2);
    rbwp_fine_begin(2);
    rbwp_fine_end();
    rbwp_set_worked(false);
    rbwp_gpu_work(1, 2, 3, 4);
    rbwp_end();
    rbwp_self_.in_call = 0;
    rbwp_end();
    assert_int_equal(stop(session).misuse_calls, 6);
    struct recorded recorded = read_back(config.logfile);
    assert_int_equal(losses(&recorded, 0, RBWP_LOSS_SIGNAL), 6);
    recorded_free(&recorded);
    assert_calls("B1 E");
}

/* ---- chunks -------------------------------------------------------------------------------- */

/* GPU work of four words, with the largest values, wherever in a chunk it falls. */
static void test_gpu_work_at_chunk_ends(void **state)
{
    (void)state;
    static const struct {
        uint64_t proc_id;
        int64_t start_ns, stop_ns;
    } extremes[] = {{0, 0, 0},
                    {UINT64_MAX, INT64_MIN, INT64_MAX},
                    {1, -1, -2},
                    {UINT64_C(1) << 63, INT64_MAX, INT64_MIN}};
    for (unsigned before = CHUNK_EVENTS - 8; before <= CHUNK_EVENTS + 2; before++) {
        struct rbwp_session_config config = small_chunks(2);
        struct rbwp_session *session = start(&config);
        for (unsigned i = 0; i < before; i++)
            i % 2 ? rbwp_fine_end() : rbwp_fine_begin(1);
        for (unsigned i = 0; i < 400; i++)
            rbwp_gpu_work(extremes[i % 4].proc_id, i % 256, extremes[i % 4].start_ns,
                          extremes[i % 4].stop_ns);
        assert_int_equal(stop(session).records, before + 400);
        struct recorded recorded = read_back(config.logfile);
        assert_int_equal(recorded.events, before + 400);
        for (unsigned i = 0; i < 400; i++) {
            const struct rbwp_record *record = &recorded.event[before + i].record;
            assert_int_equal(record->kind, RBWP_GPU_WORK);
            assert_int_equal(record->slot, i % 256);
            assert_true(record->proc_id == extremes[i % 4].proc_id);
            assert_true(record->start_ns == extremes[i % 4].start_ns);
            assert_true(record->stop_ns == extremes[i % 4].stop_ns);
        }
        recorded_free(&recorded);
    }
}

/*
 * Many chunks of random well-formed calls, empty items among them, against a model of what is to
 * be in the file.
 */
static void test_random_calls(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct rbwp_session_config config = small_chunks(2);
        struct rbwp_session *session = start(&config);
        unsigned words = 0; /* stays below the cap, where items might be kept */
        char *expected;
        size_t size;
        FILE *model = open_memstream(&expected, &size);
        uint64_t random = seed * UINT64_C(0x9e3779b97f4a7c15), discarded = 0;
        while (words < 4900) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            bool worked = random % 4 != 0;
            unsigned slot = random >> 8 & 255, fines = random >> 16 & 3;
            if ((random >> 20) % 64 == 0)
                fines = 600;
            words += 2 + 2 * fines;
            long place = ftell(model);
            rbwp_begin(slot);
            fprintf(model, "B%u ", slot);
            for (unsigned i = 0; i < fines; i++) {
                rbwp_fine_begin(i);
                rbwp_fine_end();
                fprintf(model, "F%u f ", i);
            }
            rbwp_set_worked(worked);
            rbwp_end();
            fputs("E ", model);
            if (!worked) {
                fseek(model, place, SEEK_SET);
                discarded++;
            }
        }
        fputc(0, model);
        fclose(model);
        expected[strlen(expected) - 1] = 0;
        struct rbwp_session_summary summary = stop(session);
        assert_int_equal(summary.discarded, discarded);
        assert_int_equal(summary.lost_records, 0);
        assert_calls(expected);
        free(expected);
    }
}

/* An item that is open when the session ends is unfinished; the next session begins afresh. */
static void test_open_at_stop(void **state)
{
    (void)state;
    struct rbwp_session_config config = test_config(2);
    struct rbwp_session *session = start(&config);
    rbwp_fine_begin(1);
    rbwp_begin(2);
    rbwp_fine_begin(3);
    (void)stop(session);
    assert_calls("F1 B2 F3");
    session = start(&config);
    rbwp_fine_end();
    rbwp_end();
    rbwp_fine_end();
    rbwp_begin(4);
    rbwp_end();
    assert_int_equal(stop(session).misuse_calls, 0);
    assert_calls("B4 E");
}

/* Guards: the begin of an item that is open at stop is in the file, at both levels, whether it
 * may be elided, and however many chunks were held back for it. */
static void test_open_begin_is_in_the_file(void **state)
{
    (void)state;
    for (int level = 1; level <= 2; level++)
        for (unsigned fill = 0; fill <= 3 * CHUNK_EVENTS; fill += CHUNK_EVENTS) {
            struct rbwp_session_config config = small_chunks(level);
            struct rbwp_session *session = start(&config);
            rbwp_begin(9);
            rbwp_set_worked(false);
            for (unsigned i = 0; i < fill; i++)
                rbwp_gpu_work(1, 2, 3, 4);
            assert_int_equal(stop(session).records, 1 + fill);
            struct recorded recorded = read_back(config.logfile);
            assert_int_equal(recorded.events, 1 + fill);
            assert_int_equal(recorded.event[0].record.kind, RBWP_COARSE_BEGIN);
            assert_int_equal(recorded.event[0].record.slot, 9);
            recorded_free(&recorded);
        }
}

/* Guards: in a call that has filled chunks, sub-items need no slow side, and its end does. */
static void test_sub_items_of_a_long_call(void **state)
{
    (void)state;
    struct rbwp_session_config config = small_chunks(2);
    struct rbwp_session *session = start(&config);
    rbwp_begin(9);
    for (unsigned i = 0; i < 2 * CHUNK_EVENTS; i++) {
        rbwp_fine_begin(3);
        rbwp_fine_end();
    }
    assert_int_equal(rbwp_self_.pending, RBWP_PENDING_HELD_);
    rbwp_end();
    assert_int_equal(rbwp_self_.pending, 0);
    rbwp_begin(9);
    rbwp_end();
    assert_int_equal(stop(session).records, 4 + 4 * CHUNK_EVENTS);
}

/*
 * A session that starts inside an item, or in sub-items inside and around it, counts their ends for
 * no misuse; a second item's end is one, and so is any end of a thread that came later.
 */
static void test_open_at_start(void **state)
{
    (void)state;
    struct rbwp_session_config config = test_config(2);
    struct rbwp_session *session = start(&config);
    rbwp_fine_begin(3); /* inside what is open */
    rbwp_fine_end();
    rbwp_fine_end();
    rbwp_end();
    rbwp_fine_end();
    rbwp_end(); /* of nothing */
    rbwp_begin(4);
    rbwp_end();
    rbwp_fine_end(); /* of nothing */
    assert_int_equal(stop(session).misuse_calls, 2);
    assert_calls("F3 f B4 E");
    session = start(&config);
    assert_int_equal(rbwp_thread_detach(), RBWP_OK);
    assert_int_equal(rbwp_thread_attach("main"), RBWP_OK);
    rbwp_end();
    rbwp_fine_end();
    assert_int_equal(stop(session).misuse_calls, 2);
}

/* No memory for a chunk: counted, begins and ends match, the host program's errno is not touched.
 */
static void test_no_memory(void **state)
{
    (void)state;
    struct rbwp_session_config config = test_config(1);
    enum { CALLS = 10 };
    no_memory = true;
    struct rbwp_session *session = start(&config);
    errno = EDOM;
    for (unsigned i = 0; i < CALLS; i++) {
        rbwp_begin(1);
        rbwp_end();
    }
    int seen = errno;
    no_memory = false;
    assert_int_equal(seen, EDOM);
    rbwp_begin(2);
    rbwp_end();
    assert_int_equal(stop(session).lost_records, 2 * CALLS);
    struct recorded recorded = read_back(config.logfile);
    assert_int_equal(losses(&recorded, 0, RBWP_LOSS_MEMORY), 2 * CALLS);
    recorded_free(&recorded);
    assert_calls("B2 E");
}

/* ---- time ---------------------------------------------------------------------------------- */

/* Records through one clock, whose move between two calls the function says; reads back. */
static void record_by_clock(uint64_t cap_bytes, int64_t (*next)(unsigned call))
{
    fake_step = 0;
    fake_now = UINT64_C(1) << 40;
    clock_replace(fake_clock);
    struct rbwp_session_config config = test_config(2);
    config.cap_bytes = cap_bytes;
    config.stall_ns = 60 * UINT64_C(1000000000); /* the writer may have no processor for a while */
    struct rbwp_session *session = start(&config);
    enum { CALLS = 2000 }; /* a chunk for each record of theirs does not come to the cap */
    for (unsigned i = 0; i < CALLS; i++) {
        rbwp_begin(i % 256);
        move_clock(next(i));
        rbwp_fine_begin(i);
        move_clock(next(i));
        rbwp_fine_end();
        move_clock(next(i));
        if (i % 3 == 0)
            rbwp_set_worked(false);
        rbwp_end();
        move_clock(next(i));
    }
    struct rbwp_session_summary summary = stop(session);
    clock_replace(NULL);
    assert_int_equal(summary.lost_records + summary.misuse_calls, 0);
    struct recorded recorded = read_back(config.logfile);
    assert_int_equal(recorded.events, (CALLS - (CALLS + 2) / 3) * 4);
    assert_matched(&recorded);
    for (size_t i = 0, call = 0; i < recorded.events; i += 4, call++) {
        call += call % 3 == 0;
        assert_int_equal(recorded.event[i].record.slot, call % 256);
        assert_int_equal(recorded.event[i + 1].record.sub_item, call);
    }
    recorded_free(&recorded);
}

static int64_t stands_still(unsigned call)
{
    (void)call;
    return 0;
}
static int64_t runs_backwards(unsigned call)
{
    (void)call;
    return -3;
}
static int64_t to_and_fro(unsigned call)
{
    return call % 7 < 4 ? 1000 : -1300;
}
static int64_t leaps_ahead(unsigned call) /* beyond the 45 bits of an event, now and then */
{
    return call % 50 == 49 ? (int64_t)1 << 46 : call % 11 == 0 ? ((int64_t)1 << 44) - 1 : 10;
}
static int64_t leaps_about(unsigned call)
{
    return call % 10 == 3 ? (int64_t)1 << 47 : call % 10 == 6 ? -((int64_t)1 << 47) : 5;
}
static int64_t goes_wild(unsigned call)
{
    return (int64_t)(call * UINT64_C(0x9e3779b97f4a7c15));
}

/* Whatever the clock does, all records are there, in order, and a thread's time never decreases. */
static void test_bad_clocks(void **state)
{
    (void)state;
    record_by_clock(512 << 10, stands_still);
    record_by_clock(512 << 10, runs_backwards);
    record_by_clock(512 << 10, to_and_fro);
    record_by_clock(0, leaps_ahead);
    record_by_clock(0, leaps_about);
    record_by_clock(0, goes_wild);
}

/* More ticks than an event can hold pass between two calls: the time that passed is not cut. */
static void test_long_pause(void **state)
{
    (void)state;
    fake_step = 0;
    fake_now = 1000;
    clock_replace(fake_clock);
    struct rbwp_session_config config = test_config(1);
    struct rbwp_session *session = start(&config);
    rbwp_begin(1);
    move_clock(INT64_C(1) << 46);
    rbwp_end();
    rbwp_begin(2);
    move_clock(10);
    rbwp_end();
    (void)stop(session);
    clock_replace(NULL);
    struct recorded recorded = read_back(config.logfile);
    assert_int_equal(recorded.events, 4);
    const struct event *event = recorded.event;
    /* On the time line, which is real, all of it took moments. */
    assert_true(event[1].record.time_ns - event[0].record.time_ns > 100);
    recorded_free(&recorded);
}

static int attach_main(void **state)
{
    (void)state;
    return rbwp_thread_attach("main") == RBWP_OK ? 0 : 1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_levels),
        cmocka_unit_test(test_empty_leaves_no_trace),
        cmocka_unit_test(test_said_last_counts),
        cmocka_unit_test(test_time_limit),
        cmocka_unit_test(test_misuse),
        cmocka_unit_test(test_two_causes),
        cmocka_unit_test(test_after_kept_item),
        cmocka_unit_test(test_sub_items_of_a_long_call),
        cmocka_unit_test(test_begin_inside_lost_item),
        cmocka_unit_test(test_deep_nesting),
        cmocka_unit_test(test_unattached),
        cmocka_unit_test(test_interrupted_call),
        cmocka_unit_test(test_gpu_work_at_chunk_ends),
        cmocka_unit_test(test_random_calls),
        cmocka_unit_test(test_open_at_stop),
        cmocka_unit_test(test_open_at_start),
        cmocka_unit_test(test_open_begin_is_in_the_file),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_bad_clocks),
        cmocka_unit_test(test_long_pause),
    };
    return cmocka_run_group_tests_name("recorder", tests, attach_main, NULL);
}
