/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader, over memory, a file and a pipe at once: whatever the bytes are, it ends, all three
 * find the same, and every byte up to the end of the blocks is handed out or reported as skipped.
 */
#include "fuzz.h"
#include "rbwp_reader.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { MEMORY, FILE_, STREAM, WAYS };

struct ways {
    struct rbwp_reader *reader[WAYS];
    enum rbwp_status status[WAYS];
    struct rbwp_error error[WAYS];
    int file, pipe;
};

/* A pipe that holds all of the input, so that nobody needs to feed it. -1 if it cannot. */
static int filled_pipe(const uint8_t *data, size_t size)
{
    int ends[2];
    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    int room = fcntl(ends[1], F_SETPIPE_SZ, (int)(size < 4096 ? 4096 : size));
    bool fits = room < 0 ? size <= 4096 : (size_t)room >= size;
    if (fits && size)
        REQUIRE(write(ends[1], data, size) == (ssize_t)size);
    close(ends[1]);
    if (fits)
        return ends[0];
    close(ends[0]);
    return -1;
}

/*
 * What a stream cannot know: a trailer that it has not met yet, when that says where the tables of
 * an unfinished file are, or that the file must be refused; and its own size, by which the older
 * layout is told.
 */
static bool streams_may_differ(const uint8_t *data, size_t size, const struct ways *ways)
{
    if (ways->status[MEMORY] == RBWP_E_VERSION)
        return true;
    if (ways->reader[MEMORY] && rbwp_reader_is_archive(ways->reader[MEMORY]))
        return true; /* damage that a file's index leads past */
    bool unfinished = size >= 36 && memcmp(data + 28, "\0\0\0\0\0\0\0\0", 8) == 0;
    return unfinished && memcmp(data + size - 8, "RBWP.END", 8) == 0;
}

static void same_error(const struct rbwp_error *a, const struct rbwp_error *b)
{
    REQUIRE(a->status == b->status && a->offset == b->offset && a->rule == b->rule);
    REQUIRE(strcmp(a->section, b->section) == 0 && strcmp(a->text, b->text) == 0);
}

static void same_block(const struct rbwp_block *a, const struct rbwp_block *b)
{
    REQUIRE(a->offset == b->offset && a->index == b->index);
    REQUIRE(a->first_ns == b->first_ns && a->last_ns == b->last_ns);
    REQUIRE(memcmp(&a->header, &b->header, sizeof a->header) == 0);
    REQUIRE(memcmp(a->data, b->data, a->header.data_bytes) == 0);
}

static void same_tables(const struct rbwp_tables *a, const struct rbwp_tables *b)
{
    REQUIRE(a->work_item_count == b->work_item_count && a->sub_item_count == b->sub_item_count);
    for (uint32_t i = 0; i < a->work_item_count; i++) {
        const struct rbwp_work_item_name *left = &a->work_items[i], *right = &b->work_items[i];
        REQUIRE(left->slot == right->slot && left->name_bytes == right->name_bytes);
        REQUIRE(memcmp(left->name, right->name, left->name_bytes) == 0);
    }
    for (uint32_t i = 0; i < a->sub_item_count; i++) {
        const struct rbwp_sub_item_name *left = &a->sub_items[i], *right = &b->sub_items[i];
        REQUIRE(left->id == right->id && left->type == right->type);
        REQUIRE(left->name_bytes == right->name_bytes);
        REQUIRE(memcmp(left->name, right->name, left->name_bytes) == 0);
    }
}

static void same_problems(const struct rbwp_reader *a, const struct rbwp_reader *b)
{
    const struct rbwp_problem *left, *right;
    REQUIRE(rbwp_reader_problem_count(a) == rbwp_reader_problem_count(b));
    for (uint64_t i = 0; (left = rbwp_reader_problem(a, i)); i++) {
        REQUIRE((right = rbwp_reader_problem(b, i)));
        same_error(&left->error, &right->error);
        REQUIRE(left->skipped_bytes == right->skipped_bytes && left->cut_tail == right->cut_tail);
        REQUIRE(left->has_block == right->has_block);
    }
}

static void same_trailers(const struct rbwp_trailer *a, const struct rbwp_trailer *b)
{
    REQUIRE(!a == !b);
    if (a)
        REQUIRE(a->thread_count == b->thread_count && a->index_count == b->index_count);
}

/* The records are as many as the block says, each inside it. */
static void walk_records(const struct rbwp_block *block)
{
    struct rbwp_record_iterator iterator;
    struct rbwp_record record;
    uint32_t records = 0;
    rbwp_record_first(block, &iterator);
    while (rbwp_record_next(&iterator, &record)) {
        REQUIRE(record.offset < block->header.data_bytes);
        REQUIRE(record.time_ns >= block->first_ns && record.time_ns <= block->last_ns);
        records++;
    }
    REQUIRE(records == block->header.records);
}

struct account {
    uint64_t bytes, end; /* handed out; end of the last block */
};

static void count_block(struct account *account, const struct rbwp_block *block)
{
    const struct rbwp_block_header *header = &block->header;
    REQUIRE(block->offset >= account->end && header->data_bytes <= RBWP_BLOCK_BYTES_MAX);
    uint64_t bytes =
        32 + (uint64_t)(header->stored_bytes ? header->stored_bytes : header->data_bytes);
    account->end = block->offset + bytes;
    account->bytes += bytes;
}

static void check_account(const struct account *account, const struct rbwp_reader *reader,
                          uint64_t size)
{
    uint64_t skipped = 0, offset = rbwp_reader_header(reader)->descriptor_offset;
    const struct rbwp_problem *problem;
    for (uint64_t i = 0; (problem = rbwp_reader_problem(reader, i)); i++) {
        skipped += problem->skipped_bytes;
        REQUIRE(problem->error.text[0] && !strchr(problem->error.text, '\n'));
    }
    REQUIRE(account->bytes + skipped <= size);
    if (rbwp_reader_problem_count(reader) > 1000)
        return; /* those that were not kept are missing in the sum */
    if (offset == 0 && !rbwp_reader_trailer(reader))
        REQUIRE(account->bytes + skipped == size);
    if (offset >= 36 && offset <= size)
        REQUIRE(account->bytes + skipped == offset);
}

static void walk(struct ways *ways, const bool *compared, uint64_t size)
{
    struct rbwp_block block[WAYS];
    struct account account = {.bytes = 36, .end = 36};
    do {
        for (int way = 0; way < WAYS; way++)
            if (ways->reader[way])
                ways->status[way] = rbwp_reader_next_block(ways->reader[way], &block[way]);
        for (int way = 1; way < WAYS; way++) {
            if (!compared[way])
                continue;
            REQUIRE(ways->status[way] == ways->status[MEMORY]);
            if (ways->status[MEMORY] == RBWP_OK)
                same_block(&block[MEMORY], &block[way]);
        }
        if (ways->status[MEMORY] == RBWP_OK) {
            walk_records(&block[MEMORY]);
            count_block(&account, &block[MEMORY]);
        }
    } while (ways->status[MEMORY] == RBWP_OK);
    REQUIRE(ways->status[MEMORY] == RBWP_END || ways->status[MEMORY] == RBWP_E_VERSION);
    if (ways->status[MEMORY] == RBWP_END && !rbwp_reader_is_archive(ways->reader[MEMORY]))
        check_account(&account, ways->reader[MEMORY], size);
    for (int way = 1; way < WAYS; way++) {
        if (!compared[way])
            continue;
        same_problems(ways->reader[MEMORY], ways->reader[way]);
        if (ways->status[MEMORY] != RBWP_END) /* a stream that was refused never had them */
            continue;
        same_tables(rbwp_reader_tables(ways->reader[MEMORY]),
                    rbwp_reader_tables(ways->reader[way]));
        same_trailers(rbwp_reader_trailer(ways->reader[MEMORY]),
                      rbwp_reader_trailer(ways->reader[way]));
    }
}

/* A stream that is not compared is read to its end alone. */
static void drain(struct rbwp_reader *reader)
{
    struct rbwp_block block;
    while (reader && rbwp_reader_next_block(reader, &block) == RBWP_OK)
        walk_records(&block);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *copy = guarded_copy(data, size);
    if (!copy)
        return 0;
    struct ways ways = {.file = memory_file(data, size), .pipe = filled_pipe(data, size)};
    ways.status[MEMORY] =
        rbwp_reader_open_memory(copy, size, NULL, &ways.reader[MEMORY], &ways.error[MEMORY]);
    ways.status[FILE_] =
        rbwp_reader_open_fd(ways.file, NULL, &ways.reader[FILE_], &ways.error[FILE_]);
    if (ways.pipe >= 0)
        ways.status[STREAM] =
            rbwp_reader_open_fd(ways.pipe, NULL, &ways.reader[STREAM], &ways.error[STREAM]);
    bool compared[WAYS] = {false, true, ways.pipe >= 0 && !streams_may_differ(data, size, &ways)};
    for (int way = 1; way < WAYS; way++)
        if (compared[way]) {
            REQUIRE(ways.status[way] == ways.status[MEMORY]);
            if (ways.status[way] != RBWP_OK)
                same_error(&ways.error[MEMORY], &ways.error[way]);
        }
    struct rbwp_reader *alone = compared[STREAM] ? NULL : ways.reader[STREAM];
    if (alone)
        ways.reader[STREAM] = NULL;
    if (ways.reader[MEMORY])
        walk(&ways, compared, size);
    drain(alone);
    rbwp_reader_close(alone);
    for (int way = 0; way < WAYS; way++)
        rbwp_reader_close(ways.reader[way]);
    close(ways.file);
    if (ways.pipe >= 0)
        close(ways.pipe);
    return 0;
}
