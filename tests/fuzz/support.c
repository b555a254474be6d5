/* SPDX-License-Identifier: Apache-2.0 */
/* support.c - see fuzz.h. A failure in here is the machine's: it ends the process too. */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ENVIRONMENT_MAX 4

void require_failed(const char *condition, const char *file, int line)
{
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
    abort();
}

const uint8_t *guarded_copy(const void *data, size_t size)
{
    static uint8_t *end; /* of the memory that can be touched */
    if (size > INPUT_BYTES_MAX)
        return NULL;
    if (!end) {
        size_t guard = (size_t)sysconf(_SC_PAGESIZE);
        uint8_t *map = mmap(NULL, INPUT_BYTES_MAX + guard, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        REQUIRE(map != MAP_FAILED);
        end = map + INPUT_BYTES_MAX;
        REQUIRE(mprotect(end, guard, PROT_NONE) == 0);
    }
    if (size)
        memcpy(end - size, data, size);
    return end - size;
}

int memory_file(const void *data, size_t size)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    REQUIRE(fd >= 0);
    REQUIRE(pwrite(fd, data, size, 0) == (ssize_t)size);
    return fd;
}

static enum rbwp_status append(void *context, const void *bytes, size_t count)
{
    struct memory *memory = context;
    if (memory->bytes_max && count > memory->bytes_max - memory->size)
        return RBWP_E_LIMIT;
    if (memory->size + count > memory->capacity) {
        memory->capacity = 2 * (memory->size + count);
        memory->bytes = realloc(memory->bytes, memory->capacity);
        REQUIRE(memory->bytes);
    }
    if (count)
        memcpy(memory->bytes + memory->size, bytes, count);
    memory->size += count;
    return RBWP_OK;
}

static enum rbwp_status overwrite(void *context, uint64_t offset, const void *bytes, size_t count)
{
    struct memory *memory = context;
    REQUIRE(offset <= memory->size && count <= memory->size - offset);
    memcpy(memory->bytes + offset, bytes, count);
    return RBWP_OK;
}

struct rbwp_sink memory_sink(struct memory *memory)
{
    return (struct rbwp_sink){.context = memory, .write = append, .patch = overwrite};
}

uint64_t supply_number(struct supply *supply, unsigned bytes)
{
    uint64_t number = 0;
    for (unsigned i = 0; i < bytes && supply->left; i++, supply->left--)
        number |= (uint64_t)*supply->next++ << 8 * i;
    return number;
}

struct words words_split(const uint8_t *data, size_t size)
{
    struct words words = {.text = malloc(size + 1)};
    REQUIRE(words.text);
    if (size)
        memcpy(words.text, data, size);
    words.text[size] = '\0';
    for (size_t at = 0; at < size && words.count < WORDS_MAX; at += strlen(words.text + at) + 1)
        words.word[words.count++] = words.text + at;
    return words;
}

void words_free(struct words *words)
{
    free(words->text);
}

void set_environment(size_t count, const char *const pairs[][2])
{
    static char *entries[ENVIRONMENT_MAX + 1];
    REQUIRE(count <= ENVIRONMENT_MAX);
    for (size_t i = 0; i < ENVIRONMENT_MAX; i++) {
        free(entries[i]);
        entries[i] = NULL;
    }
    for (size_t i = 0; i < count; i++) {
        size_t bytes = strlen(pairs[i][0]) + strlen(pairs[i][1]) + 2;
        entries[i] = malloc(bytes);
        REQUIRE(entries[i]);
        snprintf(entries[i], bytes, "%s=%s", pairs[i][0], pairs[i][1]);
    }
    environ = entries;
}
