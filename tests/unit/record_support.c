/* SPDX-License-Identifier: Apache-2.0 */
#include "record_support.h"

#include "rbwp_recover.h"
#include "rbwp_verify.h"
#include "unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- files ------------------------------------------------------------------------ */

static char directory[] = "/tmp/rbwp-test-XXXXXX";
static pid_t directory_of;

static void remove_directory(void)
{
    if (directory_of != getpid())
        return;
    DIR *files = opendir(directory);
    for (struct dirent *file; files && (file = readdir(files));) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", directory, file->d_name);
        (void)unlink(path);
    }
    if (files)
        closedir(files);
    rmdir(directory);
}

const char *test_path(const char *name)
{
    static char path[12][128];
    if (!directory_of) {
        assert_non_null(mkdtemp(directory));
        directory_of = getpid();
        atexit(remove_directory);
    }
    char whole[128];
    snprintf(whole, sizeof whole, "%s/%s", directory, name);
    for (size_t i = 0; i < 12; i++) {
        if (!path[i][0])
            strcpy(path[i], whole);
        if (strcmp(path[i], whole) == 0)
            return path[i];
    }
    fail_msg("more than 12 files");
    return NULL;
}

/* ---- sessions --------------------------------------------------------------------- */

struct rbwp_session_config test_config(int level)
{
    struct rbwp_session_config config;
    rbwp_session_defaults(&config);
    config.level = level;
    config.logfile = test_path("test.bin");
    return config;
}

struct rbwp_session_config small_chunks(int level)
{
    struct rbwp_session_config config = test_config(level);
    config.cap_bytes = 64 << 10;
    return config;
}

struct rbwp_session *start(const struct rbwp_session_config *config)
{
    struct rbwp_session *session;
    struct rbwp_error error = {.text = ""};
    if (rbwp_session_start(config, &session, &error) != RBWP_OK)
        fail_msg("%s", error.text);
    return session;
}

struct rbwp_session_summary stop(struct rbwp_session *session)
{
    struct rbwp_session_summary summary;
    if (rbwp_session_stop(session, &summary) != RBWP_OK)
        fail_msg("%s", summary.error.text);
    return summary;
}

_Atomic uint64_t fake_now;
_Atomic int64_t fake_step;

uint64_t fake_clock(void)
{
    return atomic_fetch_add(&fake_now, (uint64_t)atomic_load(&fake_step));
}

/* ---- a second walk over the file ---------------------------------------------------- */

static uint64_t little(const uint8_t *bytes, unsigned count)
{
    uint64_t value = 0;
    while (count-- > 0)
        value = value << 8 | bytes[count];
    return value;
}

static uint8_t *load_file(const char *path, size_t *size_out)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *size_out = (size_t)ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(*size_out + 1);
    assert_int_equal(fread(bytes, 1, *size_out, file), *size_out);
    fclose(file);
    return bytes;
}

/* As a version-1 reader does it: blocks from 36 to the descriptor offset, then the tables. */
static void walk_version_1(const char *path, const struct recorded *recorded)
{
    size_t size;
    uint8_t *bytes = load_file(path, &size);
    assert_true(size >= 36);
    uint64_t end = little(bytes + 28, 8), at = 36, records = 0;
    if (end == 0)
        end = size;
    while (at < end) {
        assert_true(end - at >= 32);
        uint64_t stored = little(bytes + at + 28, 4);
        records += little(bytes + at + 12, 4);
        at += 32 + (stored ? stored : little(bytes + at + 24, 4));
    }
    assert_int_equal(at, end);
    assert_int_equal(records, recorded->events);
    for (uint64_t i = little(bytes + 20, 4); i > 0; i--)
        at += 4 + little(bytes + at + 2, 2);
    for (uint64_t i = little(bytes + 24, 4); i > 0; i--)
        at += 5 + little(bytes + at + 3, 2);
    assert_true(at <= size);
    if (!recorded->trailer)
        assert_int_equal(at, size);
    free(bytes);
}

static bool show_problem(void *context, const struct rbwp_problem *problem)
{
    (void)context;
    print_error("at %llu, R%u: %s\n", (unsigned long long)problem->error.offset,
                problem->error.rule, problem->error.text);
    return true;
}

static void verify(const char *path, bool finished)
{
    struct rbwp_verify_result result;
    struct rbwp_error error;
    assert_int_equal(rbwp_verify(path, show_problem, NULL, &result, &error), RBWP_OK);
    assert_int_equal(result.breaks, 0);
    assert_false(result.cut && finished);
    assert_true(result.finalised || !finished);
}

/* ---- reading back -------------------------------------------------------------------- */

static void append_block(struct recorded *recorded, const struct rbwp_block *block)
{
    struct rbwp_record_iterator iterator;
    size_t needed = recorded->events + block->header.records;
    if (needed > recorded->room) {
        recorded->room = 2 * needed;
        recorded->event = realloc(recorded->event, recorded->room * sizeof *recorded->event);
        assert_non_null(recorded->event);
    }
    recorded->blocks++;
    if (block->header.records == 0)
        return;
    rbwp_record_first(block, &iterator);
    struct event *event = recorded->event + recorded->events;
    while (rbwp_record_next(&iterator, &event->record)) {
        event->thread_id = block->header.thread_id;
        recorded->events++;
        event++;
    }
}

static int by_thread(const void *left, const void *right)
{
    const struct event *const *a = left, *const *b = right;
    if ((*a)->thread_id != (*b)->thread_id)
        return (*a)->thread_id < (*b)->thread_id ? -1 : 1;
    return *a < *b ? -1 : *a > *b; /* file order */
}

/* The events of one thread after the other, each in file order. The caller frees it. */
static const struct event **sort_by_thread(const struct recorded *recorded)
{
    const struct event **sorted = malloc((recorded->events + 1) * sizeof *sorted);
    assert_non_null(sorted);
    for (size_t i = 0; i < recorded->events; i++)
        sorted[i] = &recorded->event[i];
    qsort(sorted, recorded->events, sizeof *sorted, by_thread);
    return sorted;
}

static void assert_time_ascends(const struct recorded *recorded)
{
    const struct event **sorted = sort_by_thread(recorded);
    for (size_t i = 1; i < recorded->events; i++)
        if (sorted[i - 1]->thread_id == sorted[i]->thread_id &&
            sorted[i - 1]->record.time_ns > sorted[i]->record.time_ns)
            fail_msg("time runs backwards by %lld ns at event %zu of %zu",
                     (long long)(sorted[i - 1]->record.time_ns - sorted[i]->record.time_ns), i,
                     recorded->events);
    free(sorted);
}

static struct recorded read_file(const char *path, bool finished)
{
    struct recorded recorded = {.blocks = 0};
    struct rbwp_error error = {.text = ""};
    struct rbwp_block block;
    enum rbwp_status status;
    if (rbwp_reader_open(path, NULL, &recorded.reader, &error) != RBWP_OK)
        fail_msg("%s", error.text);
    while ((status = rbwp_reader_next_block(recorded.reader, &block)) == RBWP_OK)
        append_block(&recorded, &block);
    assert_int_equal(status, RBWP_END);
    assert_int_equal(rbwp_reader_problem_count(recorded.reader), 0);
    recorded.header = *rbwp_reader_header(recorded.reader);
    recorded.tables = rbwp_reader_tables(recorded.reader);
    recorded.trailer = rbwp_reader_trailer(recorded.reader);
    assert_true(recorded.header.descriptor_offset != 0 || !finished);
    verify(path, finished);
    walk_version_1(path, &recorded);
    assert_time_ascends(&recorded);
    return recorded;
}

struct recorded read_back(const char *path)
{
    return read_file(path, true);
}

struct recorded read_unfinished(const char *path)
{
    return read_file(path, false);
}

struct recorded read_recovered(const char *path)
{
    char live[160];
    snprintf(live, sizeof live, "%s.live", path);
    const char *whole = test_path("recovered.bin");
    int fd = open(whole, O_RDWR | O_CREAT | O_TRUNC, 0666);
    assert_true(fd >= 0);
    struct rbwp_sink sink = rbwp_sink_fd(&fd);
    struct rbwp_recover_result result;
    struct rbwp_error error;
    if (rbwp_recover(path, live, &sink, NULL, NULL, &result, &error) != RBWP_OK)
        fail_msg("%s", error.text);
    close(fd);
    assert_false(rbwp_recover_lost(&result));
    assert_false(result.is_written);
    return read_back(whole);
}

void recorded_free(struct recorded *recorded)
{
    rbwp_reader_close(recorded->reader);
    free(recorded->event);
    *recorded = (struct recorded){.events = 0};
}

char *calls_of(const struct recorded *recorded, uint64_t thread_id)
{
    size_t size;
    char *text;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    const char *space = "";
    for (size_t i = 0; i < recorded->events; i++) {
        const struct rbwp_record *record = &recorded->event[i].record;
        if (thread_id && recorded->event[i].thread_id != thread_id)
            continue;
        fputs(space, out);
        space = " ";
        if (record->kind == RBWP_COARSE_BEGIN)
            fprintf(out, "B%u", record->slot);
        else if (record->kind == RBWP_FINE_BEGIN)
            fprintf(out, "F%u", record->sub_item);
        else if (record->kind == RBWP_GPU_WORK)
            fprintf(out, "G%u", record->slot);
        else
            fputs(record->kind == RBWP_COARSE_END ? "E" : "f", out);
    }
    fclose(out);
    return text;
}

void assert_calls(const char *expected)
{
    struct recorded recorded = read_back(test_path("test.bin"));
    char *calls = calls_of(&recorded, 0);
    assert_string_equal(calls, expected);
    free(calls);
    recorded_free(&recorded);
}

const struct rbwp_thread_info *thread_named(const struct recorded *recorded, const char *name)
{
    const struct rbwp_thread_info *found = NULL;
    assert_non_null(recorded->trailer);
    for (uint32_t i = 0; i < recorded->trailer->thread_count; i++) {
        const struct rbwp_thread_info *thread = &recorded->trailer->threads[i];
        if (thread->name_bytes != strlen(name) || memcmp(thread->name, name, strlen(name)) != 0)
            continue;
        assert_null(found);
        found = thread;
    }
    assert_non_null(found);
    return found;
}

uint64_t losses(const struct recorded *recorded, uint64_t thread_id, enum rbwp_loss_cause cause)
{
    const struct rbwp_trailer *trailer = recorded->trailer;
    uint64_t count = 0;
    assert_non_null(trailer);
    for (uint32_t i = 0; i < trailer->loss_count; i++) {
        const struct rbwp_loss *loss = &trailer->losses[i];
        if (loss->cause != (uint32_t)cause || (thread_id && loss->thread_id != thread_id))
            continue;
        count += loss->count;
        bool known = loss->first_ns || loss->last_ns;
        if (known && (loss->first_ns < trailer->start_ns || loss->first_ns > loss->last_ns ||
                      loss->last_ns > trailer->stop_ns))
            fail_msg(
                "%llu losses of cause %u, %lld to %lld ns after a start %lld ns before the stop",
                (unsigned long long)loss->count, loss->cause,
                (long long)(loss->first_ns - trailer->start_ns),
                (long long)(loss->last_ns - trailer->start_ns),
                (long long)(trailer->stop_ns - trailer->start_ns));
    }
    return count;
}

uint64_t all_losses(const struct recorded *recorded)
{
    uint64_t count = 0;
    for (int cause = RBWP_LOSS_DROPPED; cause <= RBWP_LOSS_CAUSE_MAX; cause++)
        count += losses(recorded, 0, (enum rbwp_loss_cause)cause);
    return count;
}

void assert_matched(const struct recorded *recorded)
{
    const struct event **sorted = sort_by_thread(recorded);
    bool open = false;
    for (size_t i = 0; i < recorded->events; i++) {
        const struct rbwp_record *record = &sorted[i]->record;
        if (i == 0 || sorted[i - 1]->thread_id != sorted[i]->thread_id)
            open = false;
        if (record->kind == RBWP_COARSE_BEGIN) {
            assert_false(open);
            open = true;
        } else if (record->kind == RBWP_COARSE_END) {
            assert_true(open);
            open = false;
        }
    }
    free(sorted);
}

/* ---- memory ------------------------------------------------------------------------ */

long most_memory_kb(void)
{
    char line[200];
    long kb = -1;
    FILE *status = fopen("/proc/self/status", "r");
    assert_non_null(status);
    while (kb < 0 && fgets(line, sizeof line, status))
        (void)sscanf(line, "VmHWM: %ld", &kb);
    fclose(status);
    assert_true(kb > 0);
    return kb;
}
