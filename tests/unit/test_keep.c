/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions that keep their newest data alone: what is in FILE, in a dump and in what a killed
 * process leaves is the end of what was recorded, without a gap, and the file says what is not.
 */
#include "archive.h"
#include "control_words.h"
#include "dump.h"
#include "rbwp_counter.h"
#include "rbwp_queue.h"
#include "rbwp_verify.h"
#include "record_support.h"
#include "rotate.h"
#include "running.h"
#include "sanitized.h"
#include "session_parts.h"
#include "test_point.h"

#include "unit.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KEEP_BYTES (UINT64_C(2) << 20)
#define SLOTS 251u
#define PATIENCE_NS (UINT64_C(100) * 1000000000) /* nobody gives up because threads do not run */

_Atomic(test_point_fn) test_point_hook;

/* Stored blocks, so that little work makes many bytes. */
static struct rbwp_session_config keep_config(int level)
{
    struct rbwp_session_config config = test_config(level);
    config.keep_bytes = KEEP_BYTES;
    config.stored = true;
    config.stall_ns = PATIENCE_NS;
    return config;
}

static void assert_same_bytes(int a, int b, uint64_t size)
{
    const void *left = mmap(NULL, size, PROT_READ, MAP_PRIVATE, a, 0);
    const void *right = mmap(NULL, size, PROT_READ, MAP_PRIVATE, b, 0);
    assert_true(left != MAP_FAILED && right != MAP_FAILED);
    assert_memory_equal(left, right, size);
    munmap((void *)(uintptr_t)left, size);
    munmap((void *)(uintptr_t)right, size);
}

/* What comes back from its archive has nothing wrong, and just the same archive. */
static void assert_comes_back(const char *path)
{
    struct archive_result first, unpacked, second;
    struct rbwp_verify_result verified;
    int file = open(path, O_RDONLY | O_CLOEXEC), archive = memfd_create("archive", MFD_CLOEXEC),
        back = memfd_create("back", MFD_CLOEXEC), again = memfd_create("again", MFD_CLOEXEC);
    struct rbwp_sink to_archive = rbwp_sink_fd(&archive), to_back = rbwp_sink_fd(&back),
                     to_again = rbwp_sink_fd(&again);
    assert_int_equal(archive_pack(file, &to_archive, NULL, &first, NULL), RBWP_OK);
    assert_int_equal(archive_unpack(archive, &to_back, NULL, &unpacked, NULL), RBWP_OK);
    assert_int_equal(rbwp_verify_fd(back, NULL, NULL, &verified, NULL), RBWP_OK);
    assert_true(verified.finalised && verified.breaks == 0);
    assert_int_equal(archive_pack(back, &to_again, NULL, &second, NULL), RBWP_OK);
    assert_true(first.records > 0 && first.records == second.records);
    assert_int_equal(first.bytes, second.bytes);
    assert_same_bytes(archive, again, first.bytes);
    close(file);
    close(archive);
    close(back);
    close(again);
}

static unsigned next_slot;

static void work(unsigned calls)
{
    for (unsigned i = 0; i < calls; i++) {
        rbwp_begin(next_slot);
        rbwp_end();
        next_slot = (next_slot + 1) % SLOTS;
    }
}

/* Calls of consecutive slots up to the last one that was made; how many. */
static uint64_t assert_end_of_work(const struct recorded *recorded, size_t events)
{
    unsigned slot = next_slot;
    assert_int_equal(events % 2, 0);
    for (size_t i = events; i > 0; i -= 2) {
        slot = (slot + SLOTS - 1) % SLOTS;
        assert_int_equal(recorded->event[i - 1].record.kind, RBWP_COARSE_END);
        assert_int_equal(recorded->event[i - 2].record.kind, RBWP_COARSE_BEGIN);
        assert_int_equal(recorded->event[i - 2].record.slot, slot);
    }
    return events / 2;
}

/* What the file has and what it says to lack is what was recorded, and what has from on is all. */
static const struct rbwp_kept *assert_kept(const struct recorded *recorded, uint64_t recorded_all,
                                           unsigned why)
{
    assert_non_null(recorded->trailer);
    assert_int_equal(recorded->trailer->kept_count, 1);
    const struct rbwp_kept *kept = recorded->trailer->kept;
    assert_int_equal(recorded->events + kept->dropped_records, recorded_all);
    assert_int_equal(kept->why, why);
    assert_int_equal(kept->keep_bytes, KEEP_BYTES);
    assert_int_equal(all_losses(recorded), 0);
    if (kept->dropped_records)
        assert_true(kept->from_ns > recorded->trailer->start_ns);
    return kept;
}

/* Guards: FILE is the newest data, in no more room than was said; nothing of it is missing, and
 * what was dropped is reported. */
static void newest_data_are_in_the_file(void **state)
{
    (void)state;
    struct rbwp_session_config config = keep_config(1);
    struct rbwp_session *session = start(&config);
    work(600000);
    struct rbwp_session_summary summary = stop(session);
    struct recorded recorded = read_back(summary.path);
    const struct rbwp_kept *kept = assert_kept(&recorded, 1200000, RBWP_KEPT_STOP);
    assert_true(kept->dropped_records > 0);
    assert_int_equal(summary.records, recorded.events);
    assert_true(assert_end_of_work(&recorded, recorded.events) > 100000);
    assert_true(summary.bytes <= KEEP_BYTES + (UINT64_C(64) << 10));
    assert_true(recorded.event[0].record.time_ns >= kept->from_ns - 1);
    recorded_free(&recorded);
}

/* Guards: what never filled the ring is all there, and the file says so. */
static void little_is_kept_whole(void **state)
{
    (void)state;
    struct rbwp_session_config config = keep_config(1);
    struct rbwp_session *session = start(&config);
    work(100);
    struct rbwp_session_summary summary = stop(session);
    struct recorded recorded = read_back(summary.path);
    const struct rbwp_kept *kept = assert_kept(&recorded, 200, RBWP_KEPT_STOP);
    assert_int_equal(kept->from_ns, 0);
    assert_int_equal(assert_end_of_work(&recorded, recorded.events), 100);
    recorded_free(&recorded);
}

/* Guards: a dump has all up to the call, what is open included; the session goes on, with its ring
 * in a live file or in memory; a second dump is another file. It ends at the call: not before its
 * last record, and not behind what was recorded then. */
static void dump_while_recording(void **state)
{
    (void)state;
    for (unsigned in_memory = 0; in_memory < 2; in_memory++) {
        struct rbwp_session_config config = keep_config(1);
        struct rbwp_error error;
        char path[4200];
        const int64_t clock_error_ns = 1000000;
        int64_t dump_stop_ns = 0;
        config.no_live = in_memory;
        struct rbwp_session *session = start(&config);
        snprintf(path, sizeof path, "%s.live", config.logfile);
        assert_int_equal(access(path, F_OK), in_memory ? -1 : 0);
        for (unsigned dump = 1; dump < 3; dump++) {
            work(300000);
            rbwp_begin(next_slot);
            assert_int_equal(rbwp_session_dump(session, NULL, 0, &error), RBWP_OK);
            snprintf(path, sizeof path, "%s.dump-%u", config.logfile, dump);
            struct recorded recorded = read_back(path);
            assert_kept(&recorded, dump * 600002 - 1, RBWP_KEPT_CALL);
            assert_int_equal(recorded.event[recorded.events - 1].record.slot, next_slot);
            assert_true(assert_end_of_work(&recorded, recorded.events - 1) > 100000);
            dump_stop_ns = rbwp_reader_trailer(recorded.reader)->stop_ns;
            assert_true(dump_stop_ns >=
                        recorded.event[recorded.events - 1].record.time_ns - clock_error_ns);
            recorded_free(&recorded);
            rbwp_end();
            next_slot = (next_slot + 1) % SLOTS;
        }
        struct rbwp_session_summary summary = stop(session);
        struct recorded recorded = read_back(summary.path);
        assert_kept(&recorded, 1200004, RBWP_KEPT_STOP);
        assert_true(recorded.event[recorded.events - 1].record.time_ns >=
                    dump_stop_ns - clock_error_ns);
        recorded_free(&recorded);
        for (unsigned dump = 1; dump < 3; dump++) {
            snprintf(path, sizeof path, "%s.dump-%u", config.logfile, dump);
            assert_int_equal(unlink(path), 0);
        }
    }
}

static atomic_bool working;

static void *work_until_told(void *argument)
{
    (void)argument;
    assert_int_equal(rbwp_thread_attach("busy"), RBWP_OK);
    while (atomic_load(&working))
        work(50);
    rbwp_thread_detach();
    return NULL;
}

/* Guards: dumps are whole and without a gap while a thread records flat out and the ring's segments
 * are used again under them. */
static void dump_of_a_busy_thread(void **state)
{
    (void)state;
    struct rbwp_session_config config = keep_config(1);
    struct rbwp_error error;
    pthread_t thread;
    config.cap_bytes = UINT64_C(8) << 20;
    struct rbwp_session *session = start(&config);
    atomic_store(&working, true);
    assert_int_equal(pthread_create(&thread, NULL, work_until_told, NULL), 0);
    for (unsigned dump = 0; dump < 4; dump++) {
        const char *path = test_path("busy.bin");
        assert_int_equal(rbwp_session_dump(session, path, 0, &error), RBWP_OK);
        struct recorded recorded = read_back(path);
        assert_int_equal(recorded.trailer->kept_count, 1);
        for (size_t i = 2; i < recorded.events; i++) { /* by pairs of the only thread */
            const struct rbwp_record *now = &recorded.event[i].record,
                                     *before = &recorded.event[i - 2].record;
            assert_int_equal(now->kind, before->kind);
            if (now->kind == RBWP_COARSE_BEGIN)
                assert_int_equal(now->slot, (before->slot + 1) % SLOTS);
        }
        recorded_free(&recorded);
        assert_int_equal(unlink(path), 0);
    }
    atomic_store(&working, false);
    pthread_join(thread, NULL);
    (void)stop(session);
}

static atomic_bool dump_waits;
static atomic_uint segments_copied, jobs_written;

/* The dumping thread stands still behind its first segment until the writer has written more than
 * the ring holds, or waits for it. */
static void overtake(const char *place)
{
    if (strcmp(place, "drain: job written, chunk not yet free") == 0)
        atomic_fetch_add(&jobs_written, 1);
    if (strcmp(place, "drain: waits for a dump") == 0)
        atomic_store(&dump_waits, true);
    if (strcmp(place, "dump: a segment copied") != 0 || atomic_fetch_add(&segments_copied, 1) > 0)
        return;
    const struct timespec pause = {0, 1000000};
    unsigned before = atomic_load(&jobs_written);
    work(500000);
    while (!atomic_load(&dump_waits) && atomic_load(&jobs_written) - before < 50)
        nanosleep(&pause, NULL);
}

/* Guards: a dump whose thread does not run for a while has no gap: what it has not copied yet is
 * not overwritten; unless it stands still for so long that threads would lose what they record,
 * when the file says from when on it is complete. */
static void ring_waits_for_a_dump(void **state)
{
    (void)state;
    for (unsigned patient = 0; patient < 2; patient++) {
        struct rbwp_session_config config = keep_config(1);
        struct rbwp_error error;
        const char *path = test_path("waits.bin");
        config.stall_ns = patient ? PATIENCE_NS : 1;
        struct rbwp_session *session = start(&config);
        work(600000);
        unsigned end = next_slot;
        atomic_store(&dump_waits, false);
        atomic_store(&segments_copied, 0);
        atomic_store(&test_point_hook, overtake);
        assert_int_equal(rbwp_session_dump(session, path, 0, &error), RBWP_OK);
        atomic_store(&test_point_hook, NULL);
        struct recorded recorded = read_back(path);
        const struct rbwp_kept *kept = assert_kept(&recorded, 1200000, RBWP_KEPT_CALL);
        size_t from = 0;
        while (!patient && recorded.event[from].record.time_ns < kept->from_ns)
            from++;
        unsigned now = next_slot;
        next_slot = end;
        for (size_t i = recorded.events; i >= from + 2; i -= 2)
            assert_int_equal(recorded.event[i - 2].record.slot,
                             (next_slot = (next_slot + SLOTS - 1) % SLOTS));
        next_slot = now;
        assert_int_equal(atomic_load(&dump_waits), patient);
        recorded_free(&recorded);
        assert_int_equal(unlink(path), 0);
        (void)stop(session);
    }
}

/* Guards: kill -9 loses nothing of the ring, nor of what had not reached it; and the file that is
 * made of both has an archive. */
static void killed_process_leaves_the_ring(void **state)
{
    (void)state;
    struct rbwp_session_config config = keep_config(1);
    config.cap_bytes = UINT64_C(1) << 20; /* so that the writer keeps up, and drops */
    pid_t child = fork();
    if (child == 0) {
        struct rbwp_session *session;
        next_slot = 0;
        if (rbwp_session_start(&config, &session, NULL) == RBWP_OK)
            work(600001);
        kill(getpid(), SIGKILL);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    struct recorded recorded = read_recovered(config.logfile);
    next_slot = 600001 % SLOTS;
    const struct rbwp_kept *kept = assert_kept(&recorded, 1200002, RBWP_KEPT_STOP);
    assert_true(kept->dropped_records > 0);
    assert_true(assert_end_of_work(&recorded, recorded.events) > 100000);
    recorded_free(&recorded);
    assert_comes_back(test_path("recovered.bin"));
}

/* How deep the calls of the file's thread are nested at its end; its ends all have begins. */
static unsigned assert_begun(const struct recorded *recorded)
{
    unsigned depth = 0;
    for (size_t i = 0; i < recorded->events; i++) {
        unsigned kind = recorded->event[i].record.kind;
        bool begins = kind == RBWP_COARSE_BEGIN || kind == RBWP_FINE_BEGIN;
        assert_true(begins || depth > 0);
        depth += begins ? 1u : -1u;
    }
    return depth;
}

/* Guards: what was open where the ring begins is there with its begin, wherever that is in an item.
 */
static void open_items_keep_their_begins(void **state)
{
    (void)state;
    struct rbwp_session_config config = keep_config(2);
    struct rbwp_error error;
    unsigned older = 0;
    config.cap_bytes = UINT64_C(1) << 20; /* so that the writer keeps up, and drops */
    struct rbwp_session *session = start(&config);
    for (unsigned dump = 0; dump < 6 || (older == 0 && dump < 60); dump++) { /* all cut in one? */
        const char *path = test_path("open.bin");
        for (unsigned i = 0; i < 20001; i++) {
            rbwp_begin(1);
            for (unsigned k = 0; k < 6; k++) {
                rbwp_fine_begin(k);
                rbwp_fine_end();
            }
            rbwp_end();
        }
        assert_int_equal(rbwp_session_dump(session, path, 0, &error), RBWP_OK);
        struct recorded recorded = read_back(path);
        assert_int_equal(assert_begun(&recorded), 0);
        older += recorded.event[0].record.time_ns < recorded.trailer->kept->from_ns;
        recorded_free(&recorded);
        assert_int_equal(unlink(path), 0);
    }
    assert_true(older > 0);
    (void)stop(session);
}

/* Guards: a dump allows the sub-items that a session records since its level was raised, in its
 * ring or on their way there. */
static void level_raised_while_recording(void **state)
{
    (void)state;
    struct rbwp_session_config config = keep_config(1);
    struct rbwp_error error;
    const char *path = test_path("raised.bin");
    for (unsigned items = 1; items < 60000; items += 50000) {
        struct rbwp_session *session = start(&config);
        assert_int_equal(running_set_level(2, &error), RBWP_OK);
        for (unsigned i = 0; i < items; i++) {
            rbwp_begin(1);
            rbwp_fine_begin(2);
            rbwp_fine_end();
            rbwp_end();
        }
        assert_int_equal(rbwp_session_dump(session, path, 0, &error), RBWP_OK);
        struct recorded recorded = read_back(path);
        assert_int_equal(recorded.events, 4 * items);
        recorded_free(&recorded);
        assert_int_equal(unlink(path), 0);
        (void)stop(session);
    }
}

/* Guards: a dump of the last moment drops what is older, and says so. */
static void dump_of_the_last_moment(void **state)
{
    (void)state;
    struct rbwp_session_config config = keep_config(1);
    struct rbwp_error error;
    const char *path = test_path("moment.bin");
    struct rbwp_session *session = start(&config);
    work(100000);
    for (bool short_of_it = false; !short_of_it;) { /* once the writer has come that far */
        assert_int_equal(rbwp_session_dump(session, path, 1, &error), RBWP_OK);
        struct recorded recorded = read_back(path);
        assert_kept(&recorded, 200000, RBWP_KEPT_CALL);
        assert_end_of_work(&recorded, recorded.events);
        short_of_it = recorded.events < 100000; /* a chunk has 16 000 */
        recorded_free(&recorded);
        assert_int_equal(unlink(path), 0);
    }
    (void)stop(session);
}

static void assert_no_dump(struct rbwp_session *session, const char *path, enum rbwp_status status,
                           const char *word)
{
    struct rbwp_error error = {0};
    assert_int_equal(rbwp_session_dump(session, path, 0, &error), status);
    assert_int_equal(error.status, status);
    assert_non_null(strstr(error.text, word));
    assert_null(strchr(error.text, '\n'));
}

static const char *dump_path(const struct rbwp_session_config *config, unsigned number)
{
    static char path[160];
    snprintf(path, sizeof path, "%s.dump-%u", config->logfile, number);
    return path;
}

/* Guards: what cannot be dumped is reported in one line, and the session goes on; all numbers that
 * are tried being taken, too. */
static void refused_dumps(void **state)
{
    (void)state;
    struct rbwp_session_config config = test_config(1);
    struct rbwp_session *session = start(&config);
    assert_no_dump(session, NULL, RBWP_E_STATE, "bgworkprofile_keep");
    assert_no_dump(NULL, NULL, RBWP_E_STATE, "no profiling session");
    (void)stop(session);
    config = keep_config(1);
    session = start(&config);
    work(10);
    assert_no_dump(session, config.logfile, RBWP_E_IO, config.logfile);
    assert_no_dump(session, "/nonexistent/x.bin", RBWP_E_IO, "/nonexistent/x.bin");
    for (unsigned number = 1; number <= NUMBERS_TRIED; number++)
        fclose(fopen(dump_path(&config, number), "w"));
    assert_no_dump(session, NULL, RBWP_E_IO, "File exists");
    assert_int_equal(rbwp_session_dump(session, NULL, 0, NULL), RBWP_OK); /* the numbers behind */
    for (unsigned number = 1; number <= NUMBERS_TRIED + 1; number++)
        assert_int_equal(unlink(dump_path(&config, number)), 0);
    (void)stop(session);
    assert_no_dump(session, NULL, RBWP_E_STATE, "no profiling session");
    config.keep_bytes = 1;
    assert_int_equal(rbwp_session_start(&config, &session, NULL), RBWP_E_USAGE);
    config.keep_bytes = KEEP_BYTES;
    config.strict = true;
    assert_int_equal(rbwp_session_start(&config, &session, NULL), RBWP_E_USAGE);
}

/* Waits for a dump to be there, and whole (on some file systems it is there before). */
static struct recorded read_dump(const char *path)
{
    const struct timespec pause = {0, 1000000};
    for (;; nanosleep(&pause, NULL)) {
        struct rbwp_verify_result result = {0};
        int fd = open(path, O_RDONLY);
        bool whole =
            fd >= 0 && rbwp_verify_fd(fd, NULL, NULL, &result, NULL) == RBWP_OK && result.finalised;
        close(fd);
        if (whole)
            return read_back(path);
    }
}

/* One that is slow by its clock: the second read is so much later. */
static void slow_call(unsigned slot, uint64_t ns)
{
    uint64_t begin = rbwp_now_ticks();
    while (rbwp_ns_from_ticks(rbwp_now_ticks() - begin) < ns)
        ;
    rbwp_begin_at(slot, begin);
    rbwp_end();
}

/* Guards: a rule of each kind dumps once, with what met it; what meets it again soon is no further
 * dump; a work item that gets its name later is known by it; other items do not meet it. A dump
 * has an archive. */
static void rules_dump(void **state)
{
    (void)state;
    static const struct {
        const char *rule, *text;
    } cases[] = {{"call:slow item>2ms", "call:slow item>2ms: "},
                 {"call:x>1h,queue:slow item>2ms", "queue:slow item>2ms: "},
                 {"counter:depth>100,queue:x>1h", "counter:depth>100: 101"}};
    struct rbwp_session_config config = keep_config(2);
    char path[4200];
    unsigned slot, other, counter;
    assert_int_equal(rbwp_counter_register("depth", "", &counter), RBWP_OK);
    for (unsigned i = 0; i < 3; i++) {
        config.rules = cases[i].rule;
        snprintf(path, sizeof path, "%s.dump-1", config.logfile);
        struct rbwp_session *session = start(&config);
        assert_int_equal(rbwp_work_item_register("other item", &other), RBWP_OK);
        assert_int_equal(rbwp_work_item_register("slow item", &slot), RBWP_OK);
        slow_call(other, 3000000);
        rbwp_counter(counter, 100);
        struct rbwp_ticket soon; /* a thread's first row goes the slow way anyhow */
        rbwp_enqueue(slot, &soon);
        rbwp_begin_with(slot, soon);
        rbwp_end();
        for (unsigned again = 0; again < 3; again++) {
            struct rbwp_ticket ticket;
            rbwp_enqueue(slot, &ticket);
            slow_call(slot, 3000000);
            rbwp_begin_with(slot, ticket);
            rbwp_end();
            rbwp_counter(counter, 101);
        }
        struct recorded recorded = read_dump(path);
        const struct rbwp_kept *kept = recorded.trailer->kept;
        assert_int_equal(kept->why, RBWP_KEPT_RULE);
        assert_true(kept->text_bytes >= strlen(cases[i].text));
        assert_memory_equal(kept->text, cases[i].text, strlen(cases[i].text));
        assert_true(recorded.events >= 2); /* the other item's call at least */
        recorded_free(&recorded);
        assert_comes_back(path);
        (void)stop(session);
        assert_int_equal(unlink(path), 0);
        path[strlen(path) - 1] = '2';
        assert_int_equal(access(path, F_OK), -1);
        assert_int_equal(rbwp_work_item_release(other), RBWP_OK);
        assert_int_equal(rbwp_work_item_release(slot), RBWP_OK);
    }
}

/* Guards: a rule that is added while it runs is met by the next row of a thread that has long
 * written such rows, not by the first one of its next chunk; and a dump made of it has its command.
 */
static void rules_are_met_at_once(void **state)
{
    (void)state;
    static struct control_answer answer;
    static char word[] = "rule",
                *later[][2] = {{word, "queue:slow item>2ms"}, {word, "counter:depth>100"}};
    struct rbwp_session_config config = keep_config(2);
    struct rbwp_ticket ticket;
    unsigned slot, counter;
    char path[4200];
    assert_int_equal(rbwp_counter_register("depth", "", &counter), RBWP_OK);
    assert_int_equal(rbwp_work_item_register("slow item", &slot), RBWP_OK);
    for (unsigned i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s.dump-1", config.logfile);
        struct rbwp_session *session = start(&config);
        for (unsigned before = 0; before < 3; before++) {
            rbwp_enqueue(slot, &ticket);
            rbwp_begin_with(slot, ticket);
            rbwp_end();
            rbwp_counter(counter, 1);
        }
        answer = (struct control_answer){0};
        control_carry_out(later[i], 2, &answer);
        assert_false(answer.refused);
        rbwp_enqueue(slot, &ticket);
        ticket.ticks -= rbwp_ticks_from_ns(3000000);
        rbwp_begin_with(slot, ticket);
        rbwp_end();
        rbwp_counter(counter, 101);
        struct recorded recorded = read_dump(path);
        assert_true(recorded.trailer->kept->why == RBWP_KEPT_RULE);
        assert_true(recorded.trailer->command_bytes > 0);
        recorded_free(&recorded);
        (void)stop(session);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(rbwp_work_item_release(slot), RBWP_OK);
}

static void *count_unattached(void *counter)
{
    rbwp_counter(*(const unsigned *)counter, 101);
    return NULL;
}

/* Guards: a thread that is not attached meets a rule about a counter, too. */
static void unattached_threads_meet_rules(void **state)
{
    (void)state;
    struct rbwp_session_config config = keep_config(2);
    unsigned counter;
    pthread_t thread;
    char path[4200];
    assert_int_equal(rbwp_counter_register("depth", "", &counter), RBWP_OK);
    config.rules = "counter:depth>100";
    snprintf(path, sizeof path, "%s.dump-1", config.logfile);
    struct rbwp_session *session = start(&config);
    assert_int_equal(pthread_create(&thread, NULL, count_unattached, &counter), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    struct recorded recorded = read_dump(path);
    assert_int_equal(recorded.trailer->kept->why, RBWP_KEPT_RULE);
    recorded_free(&recorded);
    (void)stop(session);
    assert_int_equal(unlink(path), 0);
}

/* Guards: a rule sees each value of its counter and each of its queue's delays, not just a thread's
 * first in a chunk. */
static void rules_see_each_row(void **state)
{
    (void)state;
    enum { ROWS = 5 };
    static struct control_answer answer;
    static char word[] = "rule", *rule[] = {word};
    struct rbwp_session_config config = keep_config(2);
    unsigned slot, counter;
    config.rules = "counter:depth>100,queue:item of a queue>1ns";
    assert_int_equal(rbwp_work_item_register("item of a queue", &slot), RBWP_OK);
    assert_int_equal(rbwp_counter_register("depth", "", &counter), RBWP_OK);
    struct rbwp_session *session = start(&config);
    for (int i = 0; i < ROWS; i++) {
        struct rbwp_ticket ticket;
        rbwp_counter(counter, 100);
        rbwp_counter(counter, 101);
        rbwp_enqueue_at(slot, rbwp_now_ticks() - rbwp_ticks_from_ns(1000), &ticket);
        rbwp_begin_with(slot, ticket);
        rbwp_end();
    }
    control_carry_out(rule, 1, &answer);
    answer.text[answer.bytes] = '\0';
    assert_non_null(strstr(answer.text, "counter:depth>100, met 5 times"));
    assert_non_null(strstr(answer.text, "queue:item of a queue>1ns, met 5 times"));
    assert_int_equal(rbwp_work_item_release(slot), RBWP_OK);
    (void)stop(session);
    for (int number = 1; number <= 2; number++) { /* dumps of these, if they were made in time */
        char path[4200];
        snprintf(path, sizeof path, "%s.dump-%d", config.logfile, number);
        (void)unlink(path);
    }
}

/* Guards: a rule whose name nothing has says so while it waits and at the stop; others do not. */
static void misspelt_rules_are_reported(void **state)
{
    (void)state;
    static struct control_answer answer;
    static char word[] = "rule", *rule[] = {word};
    struct rbwp_session_config config = keep_config(2);
    unsigned slot, counter;
    config.rules = "call:item of rules>1h,counter:dpeth>1,counter:depth>1000,queue:requets>1h";
    struct rbwp_session *session = start(&config);
    assert_int_equal(rbwp_work_item_register("item of rules", &slot), RBWP_OK);
    assert_int_equal(rbwp_counter_register("depth", "", &counter), RBWP_OK);
    rbwp_counter(counter, 1);
    control_carry_out(rule, 1, &answer);
    answer.text[answer.bytes] = '\0';
    assert_string_equal(answer.text,
                        "rule: call:item of rules>1h, met 0 times\n"
                        "rule: counter:dpeth>1, met 0 times: no counter of this name had a value\n"
                        "rule: counter:depth>1000, met 0 times\n"
                        "rule: queue:requets>1h, met 0 times: no work item of this name was "
                        "registered\n");
    assert_int_equal(rbwp_work_item_release(slot), RBWP_OK);
    struct rbwp_session_summary summary = stop(session);
    assert_non_null(
        strstr(summary.error.text, "rule \"counter:dpeth>1\" was never met: no counter"));
}

/* Guards: what is no rule is refused in one line that says how they look. */
static void wrong_rules(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",
                                        "x",
                                        "call:>1ms",
                                        "call:a>1",
                                        "call:a>ms",
                                        "counter:a>",
                                        "counter:a>1ms",
                                        "queue:a<1ms",
                                        "call:a>1ms,b"};
    struct rbwp_session_config config = keep_config(1);
    struct rbwp_session *session;
    struct rbwp_error error;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        config.rules = wrong[i];
        assert_int_equal(rbwp_session_start(&config, &session, &error), RBWP_E_USAGE);
        assert_non_null(strstr(error.text, "call:NAME>10ms"));
    }
    config.rules = "call:a>1ms";
    config.keep_bytes = 0;
    assert_int_equal(rbwp_session_start(&config, &session, &error), RBWP_E_USAGE);
    assert_non_null(strstr(error.text, "bgworkprofile_keep"));
}

/* ---- a recording that is cut into files -------------------------------------------------------
 */

static struct rbwp_session_config cut_config(void)
{
    struct rbwp_session_config config = test_config(1);
    config.logfile = test_path("cut_%t.bin");
    config.rotate_bytes = KEEP_BYTES;
    config.stored = true;
    config.stall_ns = PATIENCE_NS;
    return config;
}

static const char *part_path(unsigned part)
{
    static char paths[4][4200]; /* in turns */
    static unsigned next;
    char *path = paths[next++ % 4];
    const char *pattern = test_path("cut_%t.bin");
    snprintf(path, sizeof paths[0], "%.*s%u.bin", (int)(strlen(pattern) - strlen("%t.bin")),
             pattern, part);
    return path;
}

/* What the parts have, one behind the other: calls of consecutive slots from 0 on. */
struct chain {
    uint64_t events;
    bool is_open;
};

/* The calls of a part go on where the last one ended; one that is open there begins it again. */
static void take_part(struct chain *chain, const struct recorded *recorded, unsigned part)
{
    const struct rbwp_kept *kept = recorded->trailer->kept;
    assert_int_equal(recorded->trailer->kept_count, 1);
    assert_int_equal(kept->part, part);
    assert_int_equal(kept->from_ns, 0);
    assert_int_equal(kept->dropped_records, 0);
    if (chain->is_open && recorded->events)
        chain->events--;
    for (size_t i = 0; i < recorded->events; i++, chain->events++) {
        const struct rbwp_record *record = &recorded->event[i].record;
        assert_int_equal(record->kind, chain->events % 2 ? RBWP_COARSE_END : RBWP_COARSE_BEGIN);
        if (record->kind == RBWP_COARSE_BEGIN)
            assert_int_equal(record->slot, chain->events / 2 % SLOTS);
    }
    chain->is_open = chain->events % 2;
}

/* Guards: files that a recording is cut into are whole, each by itself, and have all of it
 * together, also when threads are much faster than files are written; FILE gets the last number. */
static void a_recording_is_cut(void **state)
{
    (void)state;
    struct rbwp_session_config config = cut_config();
    struct chain chain = {0};
    unsigned part = 1;
    struct rbwp_session *session = start(&config);
    assert_int_equal(access(part_path(0), F_OK), 0);
    next_slot = 0;
    work(1500000);
    struct rbwp_session_summary summary = stop(session);
    assert_int_equal(access(part_path(0), F_OK), -1);
    for (; access(part_path(part), F_OK) == 0; part++) {
        struct recorded recorded = read_back(part_path(part));
        assert_int_equal(recorded.trailer->kept->why, strcmp(summary.path, part_path(part)) == 0
                                                          ? RBWP_KEPT_STOP
                                                          : RBWP_KEPT_ROTATED);
        take_part(&chain, &recorded, part);
        recorded_free(&recorded);
        assert_int_equal(unlink(part_path(part)), 0);
    }
    assert_string_equal(summary.path, part_path(part - 1));
    assert_true(part > 3);
    assert_int_equal(chain.events, 3000000);
}

/* Guards: kill -9 leaves the parts, and what is in none of them is what repair makes of FILE. */
static void a_recording_that_is_cut_is_killed(void **state)
{
    (void)state;
    struct rbwp_session_config config = cut_config();
    struct chain chain = {0};
    unsigned part = 1;
    pid_t child = fork();
    if (child == 0) {
        struct rbwp_session *session;
        next_slot = 0;
        if (rbwp_session_start(&config, &session, NULL) == RBWP_OK)
            work(1500000);
        while (access(part_path(2), F_OK) != 0)
            usleep(1000);
        kill(getpid(), SIGKILL);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    for (; access(part_path(part), F_OK) == 0; part++) {
        struct recorded recorded = read_back(part_path(part));
        take_part(&chain, &recorded, part);
        recorded_free(&recorded);
        assert_int_equal(unlink(part_path(part)), 0);
    }
    struct recorded recorded = read_recovered(part_path(0));
    const unsigned next = recorded.trailer->kept->part;
    if (next == part) { /* else it died between a part's name and the note of it: both have it */
        take_part(&chain, &recorded, part);
        assert_int_equal(chain.events, 3000000);
    }
    recorded_free(&recorded);
}

static void die_before_the_commit(const char *place)
{
    if (strcmp(place, "drain: job written, not yet committed") == 0)
        kill(getpid(), SIGKILL);
}

/* Guards: what is in the ring, but not committed, since the process died or a part is cut just
 * then, is in its chunk yet, and is not called lost. */
static void first_write_is_killed(void **state)
{
    (void)state;
    struct rbwp_session_config config = cut_config();
    struct chain chain = {0};
    int status;
    pid_t child = fork();
    if (child == 0) {
        struct rbwp_session *session;
        next_slot = 0;
        atomic_store(&test_point_hook, die_before_the_commit);
        if (rbwp_session_start(&config, &session, NULL) == RBWP_OK) {
            work(100);
            (void)rbwp_session_stop(session, NULL);
        }
        _exit(1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    struct recorded recorded = read_recovered(part_path(0));
    take_part(&chain, &recorded, 1);
    assert_int_equal(chain.events, 200);
    assert_int_equal(all_losses(&recorded), 0);
    recorded_free(&recorded);
}

/* Guards: each part reports the losses since the part before, so that their sum is right; a dump
 * between two parts, too. */
static void a_part_has_its_own_losses(void **state)
{
    (void)state;
    static const unsigned strays[] = {3, 5, 0, 1};
    struct rbwp_session_config config = cut_config();
    struct rbwp_session *session = start(&config);
    char path[DUMP_PATH_BYTES_MAX];
    struct recorded recorded;
    for (unsigned part = 1; part <= 4; part++) {
        work(10);
        for (unsigned i = 0; i < strays[part - 1]; i++)
            rbwp_end();
        if (part == 2) {
            const char *dump = test_path("between.bin");
            assert_int_equal(rbwp_session_dump(session, dump, 0, NULL), RBWP_OK);
            recorded = read_back(dump);
            assert_int_equal(losses(&recorded, 0, RBWP_LOSS_STRAY_END), strays[part - 1]);
            recorded_free(&recorded);
        }
        if (part < 4)
            assert_int_equal(rotate_now(path, NULL), RBWP_OK);
    }
    assert_int_equal(stop(session).misuse_calls, 9);
    for (unsigned part = 1; part <= 4; part++) {
        recorded = read_back(part_path(part));
        assert_int_equal(recorded.trailer->kept->part, part);
        assert_int_equal(all_losses(&recorded), strays[part - 1]);
        recorded_free(&recorded);
        assert_int_equal(unlink(part_path(part)), 0);
    }
}

/* Guards: where an earlier run has left its parts, numbers go on behind them, and each of the parts
 * says which of its own recording it is. */
static void parts_of_an_earlier_run_stay(void **state)
{
    (void)state;
    struct rbwp_session_config config = cut_config();
    char path[DUMP_PATH_BYTES_MAX];
    for (unsigned run = 0; run < 2; run++) {
        struct rbwp_session *session = start(&config);
        struct chain chain = {0};
        next_slot = 0;
        work(100);
        assert_int_equal(rotate_now(path, NULL), RBWP_OK);
        assert_string_equal(path, part_path(run == 0 ? 1 : 8));
        work(100);
        assert_string_equal(stop(session).path, part_path(run == 0 ? 2 : 9));
        for (unsigned part = 1; part <= 2; part++) {
            struct recorded recorded = read_back(part_path(run * 7 + part));
            take_part(&chain, &recorded, part);
            recorded_free(&recorded);
        }
        assert_int_equal(chain.events, 400);
        if (run == 0) /* a log cleaner has left the newest one */
            assert_int_equal(rename(part_path(2), part_path(7)), 0);
    }
    for (unsigned part = 1; part <= 9; part++)
        (void)unlink(part_path(part));
}

/* What the rotating thread does, but behind the recording's end, and when the clock has been looked
 * at once more: as often as it takes until that is in FILE.live. */
static struct rbwp_session *ending;
static enum rbwp_status cut_status;

static void cut_behind_the_end(const char *place)
{
    const struct dump_wish wish = {.cut = true, .while_it_ends = true, .why = RBWP_KEPT_ROTATED};
    const struct timeline *line = &ending->timeline.line;
    char path[DUMP_PATH_BYTES_MAX];
    if (strcmp(place, "stop: nothing is recorded any more") != 0)
        return;
    const int64_t took_ns = ending->stop_ns - ending->start_ns;
    while (line->sample[line->samples - 1].time_ns < ending->stop_ns + took_ns + 1000000)
        drain_look(ending->recording.drain);
    cut_status = dump_now(&wish, path, NULL);
}

/* Guards: a part that is cut while the session ends does not say that it was written behind the
 * last part, by which readers would put it there. */
static void a_part_is_cut_at_the_end(void **state)
{
    (void)state;
    struct rbwp_session_config config = cut_config();
    struct rbwp_session_summary summary;
    struct chain chain = {0};
    int64_t stop_ns = 0;
    ending = start(&config);
    next_slot = 0;
    work(100);
    atomic_store(&test_point_hook, cut_behind_the_end);
    const enum rbwp_status status = rbwp_session_stop(ending, &summary);
    atomic_store(&test_point_hook, NULL);
    assert_int_equal(status, RBWP_OK);
    assert_int_equal(cut_status, RBWP_OK);
    assert_int_equal(summary.lost_records, 0);
    assert_string_equal(summary.path, part_path(2));
    for (unsigned part = 1; part <= 2; part++) {
        struct recorded recorded = read_back(part_path(part));
        take_part(&chain, &recorded, part);
        assert_true(recorded.trailer->stop_ns >= stop_ns);
        stop_ns = recorded.trailer->stop_ns;
        recorded_free(&recorded);
        assert_int_equal(unlink(part_path(part)), 0);
    }
    assert_int_equal(chain.events, 200);
}

/* Guards: parts that cannot be written are reported while the program runs and at its end, and
 * what is dropped for it is lost, in the summary and in the file. (The name is too long for
 * ".part-1", but not for ".live".) */
static void parts_that_cannot_be_written(void **state)
{
    (void)state;
#ifdef SANITIZED
    enum { CALLS = 1000000 };
#else
    enum { CALLS = 3000000 };
#endif
    struct rbwp_session_config config = cut_config();
    struct rbwp_session_summary summary;
    struct running running;
    char path[400];
    int folder = snprintf(path, sizeof path, "%s", test_path("x"));
    memset(path + folder - 1, 'x', NAME_MAX - strlen(".live"));
    path[(size_t)folder - 1 + NAME_MAX - strlen(".live")] = '\0';
    config.logfile = path;
    struct rbwp_session *session = start(&config);
    work(CALLS);
    while (!running_look(&running) || !running.trouble[0])
        usleep(1000);
    assert_non_null(strstr(running.trouble, "cannot name the part"));
    assert_int_equal(rbwp_session_stop(session, &summary), RBWP_E_IO);
    assert_non_null(strstr(summary.error.text, "records lost: cannot name the part"));
    assert_string_equal(summary.path, path);
    struct recorded recorded = read_back(path);
    const uint64_t lost = losses(&recorded, 0, RBWP_LOSS_IO);
    assert_true(lost > CALLS / 2);
    assert_int_equal(summary.lost_records, lost);
    assert_int_equal(recorded.trailer->kept->dropped_records, lost);
    assert_true(summary.records + lost >= 2 * CALLS && summary.records + lost <= 2 * CALLS + 8);
    recorded_free(&recorded);
    assert_int_equal(unlink(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(newest_data_are_in_the_file),
        cmocka_unit_test(little_is_kept_whole),
        cmocka_unit_test(dump_while_recording),
        cmocka_unit_test(dump_of_a_busy_thread),
        cmocka_unit_test(ring_waits_for_a_dump),
        cmocka_unit_test(killed_process_leaves_the_ring),
        cmocka_unit_test(open_items_keep_their_begins),
        cmocka_unit_test(level_raised_while_recording),
        cmocka_unit_test(dump_of_the_last_moment),
        cmocka_unit_test(refused_dumps),
        cmocka_unit_test(rules_see_each_row),
        cmocka_unit_test(rules_dump),
        cmocka_unit_test(rules_are_met_at_once),
        cmocka_unit_test(unattached_threads_meet_rules),
        cmocka_unit_test(misspelt_rules_are_reported),
        cmocka_unit_test(wrong_rules),
        cmocka_unit_test(a_recording_is_cut),
        cmocka_unit_test(a_recording_that_is_cut_is_killed),
        cmocka_unit_test(first_write_is_killed),
        cmocka_unit_test(a_part_has_its_own_losses),
        cmocka_unit_test(parts_of_an_earlier_run_stay),
        cmocka_unit_test(a_part_is_cut_at_the_end),
        cmocka_unit_test(parts_that_cannot_be_written),
    };
    if (rbwp_thread_attach("test") != RBWP_OK)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
