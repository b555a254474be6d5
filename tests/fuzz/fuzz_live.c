/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FILE and FILE.live of a program that died: whatever both hold, the live file is read or refused,
 * and what is recovered is a good file that says what it has, and recovers to itself.
 *
 * A live file is mostly holes, so the input is a recipe of both: a byte that says which of them
 * are there (1: FILE, 2: FILE.live), the length of FILE (u16) and its bytes, the head of the live
 * file (a length byte first), the number of its segments, their kinds, and then pieces: segment
 * (u8), offset (u24), length (u8), bytes.
 */
#include "fuzz.h"
#include "live_layout.h"
#include "rbwp_recover.h"
#include "rbwp_verify.h"
#include "rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SEGMENTS_MAX 4
#define SEGMENT_BYTES LIVE_SEGMENT_BYTES_MAX
#define RESULT_BYTES_MAX (64u << 20)

/* ---- both files out of the recipe ------------------------------------------ */

static size_t take(struct supply *supply, size_t count, const uint8_t **bytes_out)
{
    if (count > supply->left)
        count = supply->left;
    *bytes_out = supply->next;
    supply->next += count;
    supply->left -= count;
    return count;
}

static void put(int fd, const uint8_t *bytes, size_t count, uint64_t offset)
{
    REQUIRE(pwrite(fd, bytes, count, (off_t)offset) == (ssize_t)count);
}

static int make_live(struct supply *supply)
{
    const uint8_t *bytes;
    int fd = memory_file("", 0);
    size_t count = take(supply, (size_t)supply_number(supply, 1), &bytes);
    uint64_t segments = supply_number(supply, 1) % (SEGMENTS_MAX + 1);
    REQUIRE(ftruncate(fd, (off_t)(LIVE_HEAD_BYTES + segments * SEGMENT_BYTES)) == 0);
    put(fd, bytes, count, 0);
    count = take(supply, (size_t)segments, &bytes);
    for (size_t i = 0; i < count; i++) {
        const struct live_segment entry = {LIVE_HEAD_BYTES + i * SEGMENT_BYTES, SEGMENT_BYTES,
                                           bytes[i]};
        put(fd, (const uint8_t *)&entry, sizeof entry, LIVE_TABLE_OFFSET + i * sizeof entry);
    }
    while (segments && supply->left) {
        uint64_t segment = supply_number(supply, 1) % segments;
        uint64_t offset = supply_number(supply, 3) % (SEGMENT_BYTES - 256);
        count = take(supply, (size_t)supply_number(supply, 1), &bytes);
        put(fd, bytes, count, LIVE_HEAD_BYTES + segment * SEGMENT_BYTES + offset);
    }
    return fd;
}

struct files {
    int file, live; /* -1: missing */
    char file_path[32], live_path[32];
};

static struct files make_files(struct supply supply)
{
    struct files files = {-1, -1, "/nowhere/file", ""};
    const uint8_t *bytes;
    unsigned which = (unsigned)supply_number(&supply, 1);
    size_t count = take(&supply, (size_t)supply_number(&supply, 2), &bytes);
    if (which & 1) {
        files.file = memory_file(bytes, count);
        snprintf(files.file_path, sizeof files.file_path, "/proc/self/fd/%d", files.file);
    }
    if (which & 2) {
        files.live = make_live(&supply);
        snprintf(files.live_path, sizeof files.live_path, "/proc/self/fd/%d", files.live);
    }
    return files;
}

/* ---- what must hold ---------------------------------------------------------- */

/* What blocks that were kept may break; nothing else does. */
static bool only_in_kept_blocks(void *context, const struct rbwp_problem *problem)
{
    const struct rbwp_recover_result *result = context;
    unsigned rule = problem->error.rule;
    REQUIRE(rule == RULE_SEQUENCE_ONCE || rule == RULE_TURNS || rule == RULE_FINE_LEVEL ||
            (rule >= RULE_SCHEMA && rule <= RULE_ROWS_REFER));
    REQUIRE(result->kept_blocks > 0);
    return true;
}

/* The same bytes again; and as a copy, if a strict reader has nothing to say of them. */
static void recover_again(const struct memory *first, bool clean)
{
    struct memory second = {.bytes_max = RESULT_BYTES_MAX};
    struct rbwp_sink sink = memory_sink(&second);
    struct rbwp_recover_result result;
    char path[32];
    int fd = memory_file("", 0);
    put(fd, first->bytes, first->size, 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    REQUIRE(rbwp_recover(path, NULL, &sink, NULL, NULL, &result, NULL) == RBWP_OK);
    REQUIRE((result.unchanged || !clean) && second.size == first->size);
    REQUIRE(memcmp(second.bytes, first->bytes, first->size) == 0);
    free(second.bytes);
    close(fd);
}

static void check_result(const struct memory *memory, struct rbwp_recover_result *result)
{
    struct rbwp_verify_result found;
    REQUIRE(rbwp_verify_memory(memory->bytes, memory->size,
                               result->unchanged ? NULL : only_in_kept_blocks, result, &found,
                               NULL) == RBWP_OK);
    REQUIRE(found.finalised && !found.cut);
    REQUIRE(result->bytes == memory->size && result->records == found.records);
    REQUIRE(result->unchanged || result->records == result->kept_records + result->live_records);
    recover_again(memory, found.breaks == 0);
}

static void recover(const struct files *files)
{
    struct memory memory = {.bytes_max = RESULT_BYTES_MAX};
    struct rbwp_sink sink = memory_sink(&memory);
    struct rbwp_recover_result result;
    struct rbwp_error error;
    enum rbwp_status status =
        rbwp_recover(files->file_path, files->live < 0 ? NULL : files->live_path, &sink, NULL, NULL,
                     &result, &error);
    if (status == RBWP_OK)
        check_result(&memory, &result);
    else
        REQUIRE(error.status == status && error.text[0] && !strchr(error.text, '\n') &&
                status != RBWP_E_MEMORY);
    free(memory.bytes);
}

static void look(const struct files *files)
{
    struct rbwp_live *live;
    struct rbwp_error error;
    enum rbwp_status status = rbwp_live_open(files->live_path, &live, &error);
    if (status != RBWP_OK) {
        REQUIRE(!live && error.text[0] && status != RBWP_E_MEMORY && status != RBWP_E_IO);
        return;
    }
    const struct rbwp_tables *tables = rbwp_live_tables(live);
    for (uint32_t i = 0; i < tables->work_item_count; i++)
        REQUIRE(!tables->work_items[i].name_bytes || tables->work_items[i].name);
    REQUIRE(rbwp_live_trailer(live));
    rbwp_live_close(live);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 65536)
        return 0;
    struct files files = make_files((struct supply){data, size});
    if (files.live >= 0)
        look(&files);
    recover(&files);
    if (files.file >= 0)
        close(files.file);
    if (files.live >= 0)
        close(files.live);
    return 0;
}
