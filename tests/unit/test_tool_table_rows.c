/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the roles of columns make of rows: spans, points in time and counters on their tracks, with
 * category, item, links and arguments; a role twice, columns of the wrong type, tables of fewer
 * columns. All the same whether the trailer has the order of rows, so that they are passed on as
 * they come, or not, so that they are sorted.
 */
#include "known_tables.h"
#include "small_file.h"

enum { THREAD = 5 };

#define NEGATIVE(number) ((uint64_t) - (number))

static const struct trace_read_options all = {0};

/* With an index of tables in the trailer, and without. */
static void check_both(void (*fill)(struct small_file *file), const char *expected)
{
    for (int indexed = 0; indexed <= 1; indexed++) {
        struct small_file file;
        const struct rbwp_trailer trailer = {.start_ns = 1, .stop_ns = 1000, .process_id = 9};
        file_begin(&file);
        fill(&file);
        file_end(&file, indexed ? &trailer : NULL);
        file_check(&file, &all, EXIT_GOOD, expected);
        close(file.fd);
    }
}

static void fill_spans(struct small_file *file)
{
    static const struct rbwp_column columns[] = {
        RBWP_COLUMN(TIME, START, "begun", ""),   RBWP_COLUMN(DURATION, STOP, "lasted", "ns"),
        RBWP_COLUMN(U64, THREAD, "thread", ""),  RBWP_COLUMN(NAME, TRACK, "engine", ""),
        RBWP_COLUMN(NAME, LABEL, "what", ""),    RBWP_COLUMN(I64, NONE, "delta", ""),
        RBWP_COLUMN(U64, ARGUMENT, "bytes", ""), RBWP_COLUMN(TIME, NONE, "asked", ""),
        RBWP_COLUMN(F64, NONE, "share", "")};
    const uint64_t left = file_name(file, "left"), copy = file_name(file, "copy");
    FILE_TABLE(file, RBWP_SCHEMA("dma", 1, columns), //
               100, 20, THREAD, left, copy, NEGATIVE(3), 4096, 90, 0x4004000000000000, 110, 5, 0, 0,
               0, 1, 8, 0, 0, //
               105, NEGATIVE(1), THREAD, left, copy, 1, 8, 0, 0);
}

/* One track a thread and value of TRACK; arguments first, then columns of no role. A duration that
 * no time holds ends with the latest one. */
static void roles_make_spans(void **state)
{
    (void)state;
    check_both(fill_spans,
               "copy range/dma @dma left<thread 0x5 100-120 1 item 0 bytes:u64=4096 delta:i64=-3 "
               "asked:time=90 share:f64=2.5\n"
               "copy range/dma @dma left<thread 0x5 105-9223372036854775807 3 item 0 bytes:u64=8 "
               "delta:i64=1 "
               "asked:time=0 share:f64=0\n"
               "unnamed range/dma @dma  110-115 2 item 0 bytes:u64=8 delta:i64=1 asked:time=0 "
               "share:f64=0\n");
}

static void fill_twice(struct small_file *file)
{
    static const struct rbwp_column twice[] = {
        RBWP_COLUMN(TIME, START, "begun", ""), RBWP_COLUMN(TIME, STOP, "done", ""),
        RBWP_COLUMN(TIME, START, "again", ""), RBWP_COLUMN(U64, LABEL, "number", ""),
        RBWP_COLUMN(U64, LABEL, "other", "")};
    static const struct rbwp_column wrong[] = {
        RBWP_COLUMN(TIME, START, "at", ""), RBWP_COLUMN(U64, STOP, "stop", ""),
        RBWP_COLUMN(F64, LABEL, "label", ""), RBWP_COLUMN(U64, CATEGORY, "category", "copy")};
    FILE_TABLE(file, RBWP_SCHEMA("twice", 1, twice), 100, 120, 7, 1, 2, 200, 150, 8, 3, 4);
    FILE_TABLE(file, RBWP_SCHEMA("wrong", 1, wrong), 300, 400, 0, 5);
}

/* The first column of a role that suits its type counts, the others are arguments. A stop before
 * the start is the start. */
static void the_first_of_a_role_counts(void **state)
{
    (void)state;
    check_both(fill_twice, "1 range/twice @twice 100-120 1 item 0 again:time=7 other:u64=2\n"
                           "3 range/twice @twice 200-200 2 item 0 again:time=8 other:u64=4\n"
                           "wrong range/wrong @wrong 300-300 3 item 0 instant stop:u64=400 "
                           "label:f64=0 category:u64=5\n");
}

static void fill_categories(struct small_file *file)
{
    static const struct rbwp_column columns[] = {
        RBWP_COLUMN(TIME, START, "begun", ""), RBWP_COLUMN(TIME, STOP, "done", ""),
        RBWP_COLUMN(NAME, CATEGORY, "kind", "copy"), RBWP_COLUMN(U64, ITEM, "slot", "")};
    const uint64_t wait = file_name(file, "wait"), queued = file_name(file, "queued"),
                   own = file_name(file, "shuffle"), call = file_name(file, "bgwork");
    FILE_TABLE(file, RBWP_SCHEMA("job", 1, columns), //
               100, 101, 0, 3, 200, 201, wait, 999, 300, 301, queued, 3, 400, 401, queued, 999, 500,
               501, own, 3, 600, 601, call, 3);
}

/* The column's unit is the word of rows without one. A word of nobody is shown as it is; calls are
 * none of a table; nothing waits for a slot that is none. A row without a label has the name of its
 * work item. */
static void words_are_categories(void **state)
{
    (void)state;
    check_both(fill_categories, "work copy/job @job 100-101 1 item 3\n"
                                "job wait/job @job 200-201 2 item 0 waits\n"
                                "work queued/job @job 300-301 3 item 3\n"
                                "job range/queued @job 400-401 4 item 0\n"
                                "work range/shuffle @job 500-501 5 item 3\n"
                                "work range/bgwork @job 600-601 6 item 3\n");
}

static void fill_links(struct small_file *file)
{
    static const struct rbwp_column from[] = {RBWP_COLUMN(TIME, START, "at", ""),
                                              RBWP_COLUMN(U64, LINK_FROM, "key", "job"),
                                              RBWP_COLUMN(NAME, LINK_KIND, "how", "launch")};
    static const struct rbwp_column to[] = {RBWP_COLUMN(TIME, START, "at", ""),
                                            RBWP_COLUMN(U64, LINK_TO, "key", "job")};
    static const struct rbwp_column own[] = {
        RBWP_COLUMN(TIME, START, "at", ""), RBWP_COLUMN(U64, LINK_FROM, "from", ""),
        RBWP_COLUMN(U64, LINK_TO, "to", ""), RBWP_COLUMN(NAME, LINK_KIND, "how", "")};
    const uint64_t wake = file_name(file, "wake"), odd = file_name(file, "feeds");
    FILE_TABLE(file, RBWP_SCHEMA("given", 1, from), 100, 1, 0, 110, 2, wake, 120, 3, odd, 130, 0,
               0);
    FILE_TABLE(file, RBWP_SCHEMA("taken", 1, to), 200, 1, 210, 2, 220, 3, 230, 0);
    FILE_TABLE(file, RBWP_SCHEMA("steps", 1, own), 300, 1, 0, 0, 310, 0, 1, 0);
}

/* Keys with a unit are joined across tables, others in their own; 0 is none. The word is the kind
 * of link, a word of nobody a flow. */
static void keys_are_links(void **state)
{
    (void)state;
    check_both(fill_links, "given range/given @given 100-100 1 item 0 instant\n"
                           "given range/given @given 110-110 2 item 0 instant\n"
                           "given range/given @given 120-120 3 item 0 instant\n"
                           "given range/given @given 130-130 4 item 0 instant\n"
                           "taken range/taken @taken 200-200 5 item 0 instant\n"
                           "taken range/taken @taken 210-210 6 item 0 instant\n"
                           "taken range/taken @taken 220-220 7 item 0 instant\n"
                           "taken range/taken @taken 230-230 8 item 0 instant\n"
                           "steps range/steps @steps 300-300 9 item 0 instant\n"
                           "steps range/steps @steps 310-310 10 item 0 instant\n"
                           "launch 100-200 job @given @taken\n"
                           "wake 110-210 job @given @taken\n"
                           "flow 120-220 job @given @taken\n"
                           "flow 300-310 steps @steps @steps\n");
}

static void fill_counters(struct small_file *file)
{
    static const struct rbwp_column columns[] = {
        RBWP_COLUMN(TIME, START, "at", ""), RBWP_COLUMN(U64, LABEL, "queue", ""),
        RBWP_COLUMN(U64, COUNTER, "depth", "items"), RBWP_COLUMN(F64, COUNTER, "load", "")};
    FILE_TABLE(file, RBWP_SCHEMA("queue", 1, columns), //
               200, 1, 7, 0x3ff8000000000000, 100, 1, UINT64_MAX, 0, 150, 2, 3, 0);
}

/* One a value of LABEL and column, in order of time; what no i64 holds is a double. */
static void counters_are_samples(void **state)
{
    (void)state;
    check_both(fill_counters, "queue 1 depth 100:18446744073709551616.00 200:7 items\n"
                              "queue 2 depth 150:3 items\n"
                              "queue 1 load 100:0.00 200:1.50 \n"
                              "queue 2 load 150:0.00 \n");
}

static void fill_others(struct small_file *file)
{
    static const struct rbwp_column columns[] = {RBWP_COLUMN(U64, NONE, "a", ""),
                                                 RBWP_COLUMN(DURATION, STOP, "b", "")};
    static const struct rbwp_column texts[] = {RBWP_COLUMN(TIME, START, "at", ""),
                                               RBWP_COLUMN(BYTES, NONE, "path", "")};
    FILE_TABLE(file, RBWP_SCHEMA("plain", 1, columns), 1, 2, 3, 4);
    FILE_TABLE(file, RBWP_SCHEMA("opened", 1, texts), 100, (uintptr_t) "/etc/x", 110,
               (uintptr_t) "");
}

/* Without a START a table goes on as it is; bytes are texts, empty ones nothing. */
static void what_has_no_start_is_a_table(void **state)
{
    (void)state;
    check_both(fill_others,
               "table 0: plain\n"
               "table 0: 2 rows\n"
               "opened range/opened @opened 100-100 1 item 0 instant path:text=/etc/x\n"
               "opened range/opened @opened 110-110 2 item 0 instant\n");
}

static void fill_cut(struct small_file *file)
{
    const uint64_t lock = file_name(file, "mutex");
    FILE_TABLE(file, KNOWN_SCHEMA_FIRST(queued, 1, AT_queued_slot), 100, 110, THREAD);
    FILE_TABLE(file, KNOWN_SCHEMA_FIRST(queued, 1, AT_queued_from), 200, 210, THREAD, 3);
    FILE_TABLE(file, KNOWN_SCHEMA_FIRST(wait, 1, AT_wait_object), 300, 310, THREAD, lock);
}

/* Known tables of files that have their first columns alone. */
static void columns_may_be_missing(void **state)
{
    (void)state;
    check_both(fill_cut, "queued range/queued @queued<thread 0x5 100-110 1 item 0\n"
                         "work queued/queued @queued<thread 0x5 200-210 2 item 3 slot:u64=3\n"
                         "mutex range/wait @wait<thread 0x5 300-310 3 item 0\n");
}

/* Thread 6 handed over work, and ended a wait: for the last 4 ns thread 5 was free to run. */
static void others_are_linked(void **state)
{
    (void)state;
    struct small_file file;
    file_begin(&file);
    const uint64_t lock = file_name(&file, "mutex");
    FILE_TABLE(&file, KNOWN_SCHEMA(queued), 200, 210, THREAD, 3, 6, 220, 230, THREAD, 3, 0);
    FILE_TABLE(&file, KNOWN_SCHEMA(wait), 400, 410, THREAD, lock, 0, 6, 4, 2);
    file_end(&file, NULL);
    file_check(&file, &all, EXIT_GOOD,
               "wait 200-210  @thread 0x6 @thread 0x5\n"
               "wake 406-406  @thread 0x6 @wait<thread 0x5\n"
               "work queued/queued @queued<thread 0x5 200-210 1 item 3 slot:u64=3 from:u64=6\n"
               "work queued/queued @queued<thread 0x5 220-230 2 item 3 slot:u64=3 from:u64=0\n"
               "mutex range/wait @wait<thread 0x5 400-410 3 item 0 unfinished object:u64=0 "
               "waker:u64=6 delay:duration=4 outcome:u64=2\n"
               "queue delay range @wait<thread 0x5 406-410 4 item 0 unfinished\n");
    close(file.fd);
}

/* A filter of time decides on rows, and clips them; a table without times is dropped. */
static void filters_judge_rows(void **state)
{
    (void)state;
    struct small_file file;
    struct filter_options window = {.from = {.set = true, .ns = 105},
                                    .to = {.set = true, .ns = 112}};
    file_begin(&file);
    fill_spans(&file);
    fill_others(&file);
    file_end(&file, NULL);
    file_check(&file, &(struct trace_read_options){.filter = &window, .clip = true}, EXIT_GOOD,
               "copy range/dma @dma left<thread 0x5 105-112 1 item 0 cut bytes:u64=4096 "
               "delta:i64=-3 asked:time=90 share:f64=2.5\n"
               "copy range/dma @dma left<thread 0x5 105-112 3 item 0 cut bytes:u64=8 delta:i64=1 "
               "asked:time=0 share:f64=0\n"
               "unnamed range/dma @dma  110-112 2 item 0 cut bytes:u64=8 delta:i64=1 asked:time=0 "
               "share:f64=0\n"
               "opened range/opened @opened 110-110 5 item 0 instant\n"
               "2 unjudged rows\n");
    close(file.fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roles_make_spans),       cmocka_unit_test(the_first_of_a_role_counts),
        cmocka_unit_test(words_are_categories),   cmocka_unit_test(keys_are_links),
        cmocka_unit_test(counters_are_samples),   cmocka_unit_test(what_has_no_start_is_a_table),
        cmocka_unit_test(columns_may_be_missing), cmocka_unit_test(others_are_linked),
        cmocka_unit_test(filters_judge_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
