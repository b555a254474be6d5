/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the records of an RBWP file become: nested spans by the names of slots and sub-items, what
 * has one end alone, GPU work and its launch, arguments of calls, what lies outside of a window,
 * and losses.
 */
#include "known_tables.h"
#include "small_file.h"

#define CALL(time)                                                                                 \
    {                                                                                              \
        .kind = RBWP_COARSE_BEGIN, .slot = 3, .time_ns = time                                      \
    }
#define CALL_ENDS(time)                                                                            \
    {                                                                                              \
        .kind = RBWP_COARSE_END, .time_ns = time                                                   \
    }
#define ITEM(time)                                                                                 \
    {                                                                                              \
        .kind = RBWP_FINE_BEGIN, .sub_item = 7, .time_ns = time                                    \
    }
#define ITEM_ENDS(time)                                                                            \
    {                                                                                              \
        .kind = RBWP_FINE_END, .time_ns = time                                                     \
    }

enum { THREAD = 5 };

static const struct trace_read_options all = {0};

/* The session from 1 to 1000, and one thread, still attached unless detached_ns says when not. */
static void end_session(struct small_file *file, int64_t detached_ns, const struct rbwp_loss *loss)
{
    const struct rbwp_thread_info thread = {.thread_id = THREAD,
                                            .attached_ns = 1,
                                            .detached_ns = detached_ns,
                                            .name_bytes = 6,
                                            .name = "worker"};
    file_end(file, &(struct rbwp_trailer){.start_ns = 1,
                                          .stop_ns = 1000,
                                          .process_id = 9,
                                          .threads = &thread,
                                          .thread_count = 1,
                                          .losses = loss,
                                          .loss_count = loss != NULL});
}

static void calls_enclose_sub_items(void **state)
{
    (void)state;
    struct small_file file;
    file_begin(&file);
    FILE_RECORDS(&file, THREAD, 0, CALL(100), ITEM(110), ITEM(120), ITEM_ENDS(130), ITEM_ENDS(140),
                 CALL_ENDS(150), ITEM(160), ITEM_ENDS(170),
                 {.kind = RBWP_COARSE_BEGIN, .slot = 9, .time_ns = 180}, CALL_ENDS(180));
    FILE_RECORDS(&file, 6, 0, CALL(101), CALL_ENDS(102));
    file_end(&file, NULL);
    file_check(&file, &all, EXIT_GOOD,
               "work bgwork @thread 0x5 100-150 1 item 3\n"
               "ping am @thread 0x5 110-140 2<1 item 7\n"
               "ping am @thread 0x5 120-130 3<2 item 7\n"
               "ping am @thread 0x5 160-170 4 item 7\n"
               "slot 9 bgwork @thread 0x5 180-180 5 item 9\n"
               "work bgwork @thread 0x6 101-102 6 item 3\n");
    close(file.fd);
}

static void ends_without_begins_are_counted(void **state)
{
    (void)state;
    struct small_file file;
    file_begin(&file);
    FILE_RECORDS(&file, THREAD, 0, CALL_ENDS(100), ITEM_ENDS(110), CALL(120), ITEM_ENDS(130),
                 CALL_ENDS(140));
    end_session(&file, 0, NULL);
    file_check(&file, &all, EXIT_GOOD,
               "work bgwork @worker 120-140 3 item 3\n"
               "ends_without_begin 3\n");
    close(file.fd);
}

/* A second begin gives the first one up, with what is in it, and so does an end with what is in its
 * call; what is open at the end ran until the
 * session stopped, unless its thread was gone. */
static void begins_without_ends(void **state)
{
    (void)state;
    for (int detached = 0; detached <= 1; detached++) {
        struct small_file file;
        file_begin(&file);
        FILE_RECORDS(&file, THREAD, 0, CALL(100), ITEM(110), CALL(200), ITEM(210), CALL_ENDS(220),
                     CALL(300), ITEM(310));
        end_session(&file, detached ? 300 : 0, NULL);
        file_check(&file, &all, EXIT_GOOD,
                   detached ? "work bgwork @worker 100-110 1 item 3 unfinished\n"
                              "ping am @worker 110-110 2<1 item 7 unfinished\n"
                              "work bgwork @worker 200-220 3 item 3\n"
                              "ping am @worker 210-210 4<3 item 7 unfinished\n"
                              "work bgwork @worker 300-310 5 item 3 unfinished\n"
                              "ping am @worker 310-310 6<5 item 7 unfinished\n"
                              "unfinished_spans 5\n"
                            : "work bgwork @worker 100-110 1 item 3 unfinished\n"
                              "ping am @worker 110-110 2<1 item 7 unfinished\n"
                              "work bgwork @worker 200-220 3 item 3\n"
                              "ping am @worker 210-210 4<3 item 7 unfinished\n"
                              "work bgwork @worker 300-1000 5 item 3 unfinished open\n"
                              "ping am @worker 310-1000 6<5 item 7 unfinished open\n"
                              "unfinished_spans 5\n"
                              "open_spans 2\n");
        close(file.fd);
    }
}

/* The launch is inferred: the latest call of the slot that had begun by then. */
static void gpu_work_has_its_launch(void **state)
{
    (void)state;
    struct small_file file;
    file_begin(&file);
    FILE_RECORDS(&file, THREAD, 0, CALL(100), CALL_ENDS(110), CALL(200), CALL_ENDS(210),
                 {.kind = RBWP_GPU_WORK,
                  .slot = 3,
                  .time_ns = 400,
                  .proc_id = UINT64_C(1) << 32,
                  .start_ns = 205,
                  .stop_ns = 300});
    end_session(&file, 0, NULL);
    file_check(&file, &all, EXIT_GOOD,
               "work bgwork @worker 100-110 1 item 3\n"
               "work bgwork @worker 200-210 2 item 3\n"
               "launch 200-205  @worker @GPU 0\n"
               "work gpu @GPU 0 205-300 3 item 3\n");
    close(file.fd);
}

static void calls_have_arguments(void **state)
{
    (void)state;
    struct small_file file;
    file_begin(&file);
    const uint64_t key = file_name(&file, "bytes");
    FILE_RECORDS(&file, THREAD, 0, CALL(100), CALL_ENDS(110), CALL(200), CALL_ENDS(210));
    FILE_TABLE(&file, KNOWN_SCHEMA(argument), 200, THREAD, key, 1, 4096, 300, THREAD, key, 1, 1);
    end_session(&file, 0, NULL);
    file_check(&file, &all, EXIT_GOOD,
               "work bgwork @worker 100-110 1 item 3\n"
               "work bgwork @worker 200-210 2 item 3 bytes:u64=4096\n");
    close(file.fd);
}

/* A call without a row ran all the time; of one that did not end, or of a part, nothing is known.
 */
static void calls_that_ran(void **state)
{
    (void)state;
    struct small_file file;
    const struct filter_options window = {.from = {.set = true, .ns = 150}};
    file_begin(&file);
    FILE_RECORDS(&file, THREAD, 0, CALL(100), CALL_ENDS(200), CALL(210), CALL_ENDS(220), CALL(300));
    FILE_TABLE(&file, KNOWN_SCHEMA(thread_cpu), 50, THREAD, 1, 50, UINT64_MAX);
    end_session(&file, 0, NULL);
    file_check(&file, &all, EXIT_GOOD,
               "work bgwork @worker 100-200 1 item 3 ran\n"
               "work bgwork @worker 210-220 2 item 3 ran\n"
               "work bgwork @worker 300-1000 3 item 3 unfinished open\n"
               "unfinished_spans 1\n"
               "open_spans 1\n");
    file_check(&file, &(struct trace_read_options){.filter = &window, .clip = true}, EXIT_GOOD,
               "work bgwork @worker 150-200 1 item 3 cut\n"
               "work bgwork @worker 210-220 2 item 3 ran\n"
               "work bgwork @worker 300-1000 3 item 3 unfinished open\n"
               "unfinished_spans 1\n"
               "open_spans 1\n");
    close(file.fd);
}

/* Ids are those that the spans have without a filter. */
static void windows_leave_out_and_clip(void **state)
{
    (void)state;
    struct small_file file;
    file_begin(&file);
    FILE_RECORDS(&file, THREAD, 0, CALL(100), CALL_ENDS(200), CALL(300), ITEM(350), ITEM_ENDS(360),
                 CALL_ENDS(400), CALL(500), CALL_ENDS(600));
    end_session(&file, 0, NULL);
    struct filter_options window = {.from = {.set = true, .ns = 150},
                                    .to = {.set = true, .ns = 355}};
    file_check(&file, &(struct trace_read_options){.filter = &window}, EXIT_GOOD,
               "work bgwork @worker 100-200 1 item 3\n"
               "work bgwork @worker 300-400 2 item 3\n"
               "ping am @worker 350-360 3<2 item 7\n");
    file_check(&file, &(struct trace_read_options){.filter = &window, .clip = true}, EXIT_GOOD,
               "work bgwork @worker 150-200 1 item 3 cut\n"
               "work bgwork @worker 300-355 2 item 3 cut\n"
               "ping am @worker 350-355 3<2 item 7 cut\n");
    const struct filter_options kinds = {.kinds = FILTER_FINE_BEGIN};
    file_check(&file, &(struct trace_read_options){.filter = &kinds}, EXIT_GOOD,
               "ping am @worker 350-360 3<2 item 7\n");
    const struct filter_options lengths = {.duration = {.set = true, .ns = 100}};
    file_check(&file, &(struct trace_read_options){.filter = &lengths}, EXIT_GOOD,
               "work bgwork @worker 100-200 1 item 3\n"
               "work bgwork @worker 300-400 2 item 3\n"
               "work bgwork @worker 500-600 4 item 3\n");
    close(file.fd);
}

/* Nothing is paired across damage, which is a loss; so is what the recorder dropped. */
static void damage_and_losses_are_passed_on(void **state)
{
    (void)state;
    struct small_file file;
    const struct rbwp_loss loss = {.thread_id = THREAD,
                                   .cause = RBWP_LOSS_DROPPED,
                                   .count = 7,
                                   .first_ns = 150,
                                   .last_ns = 160};
    file_begin(&file);
    FILE_RECORDS(&file, THREAD, 0, CALL(100));
    uint64_t at, blocks, records;
    rbwp_writer_totals(file.writer, &at, &blocks, &records);
    FILE_RECORDS(&file, THREAD, 1, ITEM(110), ITEM_ENDS(120));
    FILE_RECORDS(&file, THREAD, 2, CALL_ENDS(130));
    end_session(&file, 0, &loss);
    const uint8_t broken = 0xee; /* the first record's kind is none */
    assert_int_equal(pwrite(file.fd, &broken, 1, (off_t)at + RBWP_BLOCK_HEADER_BYTES + 2), 1);
    file_check(&file, &all, EXIT_PARTIAL,
               "work bgwork @worker 100-100 1 item 3 unfinished\n"
               "7 records lost: dropped @worker\n"
               "2 records lost: damaged @worker\n"
               "unfinished_spans 1\n"
               "ends_without_begin 1\n");
    close(file.fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_enclose_sub_items),
        cmocka_unit_test(ends_without_begins_are_counted),
        cmocka_unit_test(begins_without_ends),
        cmocka_unit_test(gpu_work_has_its_launch),
        cmocka_unit_test(calls_have_arguments),
        cmocka_unit_test(calls_that_ran),
        cmocka_unit_test(windows_leave_out_and_clip),
        cmocka_unit_test(damage_and_losses_are_passed_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
