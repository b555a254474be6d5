/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verifier: whatever the bytes are, it ends, says each break in one line with a rule of
 * SPEC.md, counts what the reader hands out, and calls no file good of which a reader complains.
 */
#include "fuzz.h"
#include "rbwp_verify.h"

#include <string.h>
#include <unistd.h>

struct said {
    uint64_t breaks, cuts;
};

static bool note(void *context, const struct rbwp_problem *problem)
{
    struct said *said = context;
    REQUIRE(problem->error.rule > 0 && problem->error.text[0]);
    REQUIRE(!strchr(problem->error.text, '\n') && problem->error.section[0]);
    if (problem->cut_tail)
        said->cuts++;
    else
        said->breaks++;
    return true;
}

static bool stop_at_once(void *context, const struct rbwp_problem *problem)
{
    (void)problem;
    return ++*(unsigned *)context > 1; /* once more would be wrong */
}

static void compare_with_reader(const uint8_t *copy, size_t size, enum rbwp_status verified,
                                const struct rbwp_verify_result *result)
{
    struct rbwp_reader *reader;
    struct rbwp_block block;
    uint64_t blocks = 0, opaque = 0, records = 0;
    enum rbwp_status status = rbwp_reader_open_memory(copy, size, NULL, &reader, NULL);
    if (status != RBWP_OK) {
        REQUIRE(status == verified && result->breaks == 1);
        return;
    }
    while ((status = rbwp_reader_next_block(reader, &block)) == RBWP_OK) {
        opaque += block.header.records == 0;
        blocks += block.header.records != 0;
        records += block.header.records;
    }
    REQUIRE(verified == (status == RBWP_END ? RBWP_OK : status));
    REQUIRE(result->blocks == blocks && result->opaque_blocks == opaque);
    REQUIRE(result->records == records);
    REQUIRE(result->breaks + result->cut >= rbwp_reader_problem_count(reader));
    rbwp_reader_close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *copy = guarded_copy(data, size);
    if (!copy)
        return 0;
    struct rbwp_verify_result result, again;
    struct said said = {0};
    enum rbwp_status status = rbwp_verify_memory(copy, size, note, &said, &result, NULL);
    REQUIRE(status != RBWP_E_IO && status != RBWP_E_MEMORY && status <= RBWP_OK);
    REQUIRE(said.cuts == result.cut && said.breaks <= result.breaks);
    REQUIRE(said.breaks == result.breaks || result.breaks > 1000);
    compare_with_reader(copy, size, status, &result);

    unsigned calls = 0;
    status = rbwp_verify_memory(copy, size, stop_at_once, &calls, &again, NULL);
    REQUIRE(calls == (result.breaks + result.cut > 0));
    int file = memory_file(data, size);
    (void)!rbwp_verify_fd(file, NULL, NULL, &again, NULL);
    REQUIRE(again.breaks == result.breaks && again.records == result.records);
    close(file);
    return 0;
}
