/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tar archives: whatever is in one, its files lie inside it, in its order, have names that fit, and
 * none shares bytes with another. Sums of headers are set right first, else nothing behind them
 * would ever be read.
 */
#include "fuzz.h"
#include "tar_input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAGIC_AT = 257, SUM_AT = 148, SUM_BYTES = 8 };

struct seen {
    uint64_t size, end;
};

static bool take(void *context, const struct tar_member *member)
{
    struct seen *seen = context;
    REQUIRE(strlen(member->name) < TAR_NAME_BYTES_MAX);
    REQUIRE(member->offset >= seen->end + TAR_BLOCK_BYTES);
    REQUIRE(member->offset <= seen->size && member->bytes <= seen->size - member->offset);
    seen->end = member->offset + member->bytes;
    return true;
}

static void set_sum(uint8_t *head)
{
    char text[SUM_BYTES];
    unsigned sum = 0;
    memset(head + SUM_AT, ' ', SUM_BYTES);
    for (unsigned i = 0; i < TAR_BLOCK_BYTES; i++)
        sum += head[i];
    snprintf(text, sizeof text, "%06o", sum);
    memcpy(head + SUM_AT, text, sizeof text - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > INPUT_BYTES_MAX)
        return 0;
    uint8_t *archive = malloc(size + 1);
    REQUIRE(archive);
    memcpy(archive, data, size);
    for (size_t at = 0; at + TAR_BLOCK_BYTES <= size; at += TAR_BLOCK_BYTES)
        if (memcmp(archive + at + MAGIC_AT, "ustar", 5) == 0)
            set_sum(archive + at);
    struct seen seen = {.size = size};
    int fd = memory_file(archive, size);
    (void)tar_recognises(archive, size);
    (void)tar_members(fd, take, &seen);
    close(fd);
    free(archive);
    return 0;
}
