/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For ThreadSanitizer: of two threads one does something behind a lock of the recorder's, then the
 * other does what the lock keeps apart from it. What says "then" orders them in time alone (it is
 * relaxed), so that only the lock makes it no race: without it this is a report, each time. The
 * same of what one thread publishes, without a lock, by a store that the other's load pairs with.
 */
#include "clock.h"
#include "control_words.h"
#include "dump.h"
#include "folder.h"
#include "held.h"
#include "live.h"
#include "mpi_job.h"
#include "names.h"
#include "rbwp_counter.h"
#include "rbwp_rows.h"
#include "record_extend.h"
#include "record_support.h"
#include "recording.h"
#include "running.h"
#include "slot_limits.h"
#include "tables.h"
#include "unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef void (*act_fn)(void);

static _Atomic int first_is_done;

static void *act(void *first)
{
    ((act_fn)(uintptr_t)first)();
    atomic_store_explicit(&first_is_done, 1, memory_order_relaxed);
    return NULL;
}

static void one_then_the_other(act_fn first, act_fn second)
{
    pthread_t thread;
    atomic_store(&first_is_done, 0);
    assert_int_equal(pthread_create(&thread, NULL, act, (void *)(uintptr_t)first), 0);
    while (!atomic_load_explicit(&first_is_done, memory_order_relaxed))
        sched_yield();
    second();
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/* ---- what they do ----------------------------------------------------------------------------
 */

static struct rbwp_session *session;

static void begin(void)
{
    struct rbwp_session_config config = test_config(2);
    session = start(&config);
}

static void end(void)
{
    (void)stop(session);
}

static void name_a_slot(void)
{
    unsigned slot;
    assert_int_equal(rbwp_work_item_register("named", &slot), RBWP_OK);
    assert_int_equal(rbwp_work_item_release(slot), RBWP_OK);
}

static void intern(void)
{
    uint64_t number;
    assert_int_equal(rbwp_name_intern("interned", 8, &number), RBWP_OK);
}

static void first_hook(enum rbwp_extend_moment moment)
{
    (void)moment;
}

static void second_hook(enum rbwp_extend_moment moment)
{
    (void)moment;
}

static void hook_first(void)
{
    assert_int_equal(rbwp_extend_at_end(first_hook), RBWP_OK);
}

static void hook_second(void)
{
    assert_int_equal(rbwp_extend_at_end(second_hook), RBWP_OK);
}

static void count_some(void)
{
    unsigned counter;
    assert_int_equal(rbwp_counter_register("one", "", &counter), RBWP_OK);
    assert_int_equal(rbwp_counter_register("two", "", &counter), RBWP_OK);
}

static void count_another(void)
{
    unsigned counter;
    assert_int_equal(rbwp_counter_register("three", "", &counter), RBWP_OK);
}

static void measure_rate(void)
{
    (void)rbwp_ticks_per_second();
    (void)rbwp_ticks_per_second();
}

static void begin_relog(void)
{
    assert_true(live_relog_begin());
}

static void attach(void)
{
    assert_int_equal(rbwp_thread_attach("attached"), RBWP_OK);
}

static void lower_level(void)
{
    assert_int_equal(running_set_level(1, NULL), RBWP_OK);
}

static void dump(void)
{
    const struct dump_wish wish = {.why = RBWP_KEPT_CALL};
    char path[DUMP_PATH_BYTES_MAX];
    struct rbwp_error error;
    assert_int_equal(dump_now(&wish, path, &error), RBWP_E_STATE); /* none, or it keeps all */
}

/* Fails: this session is not written in parts. */
static void cut(void)
{
    const struct dump_wish wish = {.cut = true, .why = RBWP_KEPT_ROTATED};
    char path[DUMP_PATH_BYTES_MAX];
    struct rbwp_error error;
    assert_int_not_equal(dump_now(&wish, path, &error), RBWP_OK);
}

static void look_at_session(void)
{
    static struct running seen;
    assert_true(running_look(&seen));
    assert_string_not_equal(seen.trouble, "");
}

static struct folder live_folder;

static void open_live_file(void)
{
    const char *path = test_path("alone.live");
    const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(folder_open(&live_folder, path) &&
                live_open(fd, &live_folder.held, folder_name(path)));
}

static void look_for_relog(void)
{
    assert_false(live_relog_is_due());
}

static int ends[2];

static void take_signal(void)
{
    static struct held end; /* the one that the handler sends to */
    struct rbwp_error error;
    assert_int_equal(control_signals_take("USR2", &error), RBWP_OK);
    assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends), 0);
    held_take(&end, ends[1]);
    control_signals_wake(&end);
}

static void raise_signal(void)
{
    assert_int_equal(raise(SIGUSR2), 0);
}

static struct recording published;

static void publish_recording(void)
{
    published.strict = true;
    __atomic_store_n(&recording_now, &published, __ATOMIC_RELEASE);
}

static void look_at_recording(void)
{
    assert_true(recording_is_there() && recording_now->strict);
}

static void slow_rows(void)
{
    recording_slow_rows(RULE_WATCH_COUNTERS);
}

static void set_least(void)
{
    slot_limits_set_least(1, 5);
}

static void set_disabled(void)
{
    slot_limits_set_disabled(1, true);
}

static void set_alarm(void)
{
    slot_limits_set_alarm(1, 5);
}

static void look_at_limits(void)
{
    (void)slot_limits_of(1);
}

static void clear_limits(void)
{
    slot_limits_clear(1);
}

_Atomic bool mpi_is_slow;
static struct rbwp_mpi *job;

static void compare_clocks(void)
{
    struct rbwp_error error;
    assert_int_equal(rbwp_mpi_compare_clocks(job, &error), RBWP_OK);
}

static void look_at_clocks(void)
{
    pthread_mutex_lock(&job->polling);
    clocks_tick(job, 0);
    pthread_mutex_unlock(&job->polling);
}

static enum rbwp_status send_some(void)
{
    static const char bytes[PACKET_BYTES_MAX];
    return slots_send_bytes(job, 0, TAG_PACKET + 1, bytes, sizeof bytes);
}

static void send_packet(void)
{
    assert_int_equal(send_some(), RBWP_OK);
}

static void begin_payload(void)
{
    static unsigned char byte;
    const struct transfer_end end = {.tag = 1, .sends = true, .payload = &byte, .bytes = 1};
    assert_int_equal(transfers_begin(job, &end), RBWP_OK);
}

static void look_at_payloads(void)
{
    (void)mpi_job_poll(job);
}

static void drop_payloads(void)
{
    transfers_drop(job);
}

/* ---- tests ------------------------------------------------------------------------------------
 */

static void names_and_the_end(void **state)
{
    (void)state;
    begin();
    one_then_the_other(end, name_a_slot);
}

static void tables_and_the_beginning(void **state)
{
    (void)state;
    one_then_the_other(begin, intern);
    end();
}

static void hooks_and_the_end(void **state)
{
    (void)state;
    begin();
    one_then_the_other(hook_first, end);
    begin();
    one_then_the_other(end, hook_second);
}

static void counters(void **state)
{
    (void)state;
    one_then_the_other(count_some, count_another);
}

static void rate(void **state)
{
    (void)state;
    clock_replace_list("/nonexistent"); /* the counter, whatever the kernel goes by */
    clock_replace(NULL);
    one_then_the_other(measure_rate, measure_rate);
    clock_replace_list(NULL);
    clock_replace(NULL);
}

/* The live file's log, of which somebody else writes the facts anew. */
static void log_and_relog(void **state)
{
    (void)state;
    static const char filler[4096];
    begin();
    while (!live_relog_is_due())
        live_log(LIVE_THREAD, NULL, 0, filler, sizeof filler);
    one_then_the_other(begin_relog, name_a_slot);
    one_then_the_other(live_relog_end, name_a_slot);
    end();
}

/* What others write down of names and tables while the live file's log begins anew. */
static void facts_and_their_log(void **state)
{
    (void)state;
    begin();
    one_then_the_other(name_a_slot, names_log);
    one_then_the_other(intern, tables_log);
    one_then_the_other(attach, slow_rows);
    end();
}

/* Which session runs, for who sets its level or wants a dump of it; what became of a part. */
static void running_session(void **state)
{
    (void)state;
    one_then_the_other(begin, lower_level);
    end();
    one_then_the_other(begin, dump);
    one_then_the_other(end, dump);
    struct rbwp_session_config config = test_config(2);
    config.keep_bytes = 4u << 20;
    session = start(&config);
    one_then_the_other(cut, look_at_session);
    end();
}

/* The live file, for who does not record and asks for it. */
static void live_file_itself(void **state)
{
    (void)state;
    one_then_the_other(open_live_file, look_for_relog);
    live_close(true);
    folder_close(&live_folder);
    (void)unlink(test_path("alone.live"));
}

/* What a signal's handler wakes. */
static void signals_end(void **state)
{
    (void)state;
    char byte;
    one_then_the_other(take_signal, raise_signal);
    assert_int_equal(recv(ends[0], &byte, 1, 0), 1);
    control_signals_give_back();
    close(ends[0]);
    close(ends[1]);
}

/* A session that begins late, in a forked child, for its other threads: the level says nothing. */
static void session_that_begins_late(void **state)
{
    (void)state;
    one_then_the_other(publish_recording, look_at_recording);
    __atomic_store_n(&recording_now, (struct recording *)NULL, __ATOMIC_RELAXED);
}

static void limits_of_a_slot(void **state)
{
    (void)state;
    static const act_fn pairs[][2] = {{set_least, set_least},
                                      {set_disabled, set_disabled},
                                      {set_alarm, set_alarm},
                                      {set_least, look_at_limits},
                                      {set_least, clear_limits}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        one_then_the_other(pairs[i][0], pairs[i][1]);
}

/* What became of a rule, which another thread writes down. */
static void outcome_of_a_rule(void **state)
{
    (void)state;
    static struct control_answer answer;
    static char word[] = "rule", *words[] = {word};
    struct rbwp_session_config config = test_config(2);
    unsigned counter;
    config.keep_bytes = 4u << 20;
    config.rules = "counter:ruled>1";
    assert_int_equal(rbwp_counter_register("ruled", "", &counter), RBWP_OK);
    session = start(&config);
    rbwp_counter(counter, 2);
    do {
        answer.bytes = 0;
        control_carry_out(words, 1, &answer);
        answer.text[answer.bytes] = '\0';
        sched_yield();
    } while (!strstr(answer.text, "dump-1"));
    end();
    assert_int_equal(unlink(test_path("test.bin.dump-1")), 0);
}

/* Of a job of one process: what the thread that looks at MPI goes by. */
static void clocks_of_a_job(void **state)
{
    (void)state;
    struct rbwp_error error;
    begin();
    assert_int_equal(rbwp_mpi_start(NULL, NULL, NULL, &job, &error), RBWP_OK);
    one_then_the_other(compare_clocks, look_at_clocks);
    assert_int_equal(rbwp_mpi_stop(job, &error), RBWP_OK);
    end();
}

/* The place of a packet that is through is the next one's; so many may be under way at once. */
static void packets_of_a_job(void **state)
{
    (void)state;
    struct rbwp_error error;
    assert_int_equal(rbwp_mpi_start(NULL, NULL, NULL, &job, &error), RBWP_OK);
    one_then_the_other(send_packet, send_packet);
    mpi_is_slow = true;
    for (unsigned i = 0; i < SLOTS; i++)
        send_packet();
    assert_int_equal(send_some(), RBWP_AGAIN);
    mpi_is_slow = false;
    while (send_some() == RBWP_AGAIN)
        sched_yield();
    assert_int_equal(rbwp_mpi_stop(job, &error), RBWP_OK);
}

/* Those that are under way: who sends, who looks and who closes come from threads of their own. */
static void payloads_of_a_job(void **state)
{
    (void)state;
    static const act_fn then[] = {begin_payload, look_at_payloads, drop_payloads};
    struct rbwp_error error;
    assert_int_equal(rbwp_mpi_start(NULL, NULL, NULL, &job, &error), RBWP_OK);
    mpi_is_slow = true;
    pthread_mutex_lock(&job->polling); /* the job's own thread does not look between the two */
    for (size_t i = 0; i < sizeof then / sizeof then[0]; i++)
        one_then_the_other(begin_payload, then[i]);
    pthread_mutex_unlock(&job->polling);
    mpi_is_slow = false;
    assert_int_equal(rbwp_mpi_stop(job, &error), RBWP_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_the_end),
        cmocka_unit_test(tables_and_the_beginning),
        cmocka_unit_test(hooks_and_the_end),
        cmocka_unit_test(counters),
        cmocka_unit_test(rate),
        cmocka_unit_test(log_and_relog),
        cmocka_unit_test(facts_and_their_log),
        cmocka_unit_test(running_session),
        cmocka_unit_test(live_file_itself),
        cmocka_unit_test(signals_end),
        cmocka_unit_test(session_that_begins_late),
        cmocka_unit_test(limits_of_a_slot),
        cmocka_unit_test(outcome_of_a_rule),
        cmocka_unit_test(clocks_of_a_job),
        cmocka_unit_test(packets_of_a_job),
        cmocka_unit_test(payloads_of_a_job),
    };
    return cmocka_run_group_tests_name("locks", tests, NULL, NULL);
}
