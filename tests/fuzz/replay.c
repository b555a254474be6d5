/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay.c - runs a fuzz target without a fuzzer.
 *
 *   fuzz_TOPIC_replay [--mutate N] [--keep FOLDER] FILE|FOLDER...
 *
 * Each file is one input. With --mutate each is also changed N times, with fixed
 * seeds, through the target's own mutator if it has one, and the changed files are
 * run as well; --keep writes them to a folder. An input may use a second of processor time, ten
 * under a sanitizer, and RBWP_TIMES_AS_LONG times as much where a machine is emulated.
 */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SECONDS_MAX 10.0
#else
#define SECONDS_MAX 1.0
#endif

#pragma weak LLVMFuzzerInitialize
#pragma weak LLVMFuzzerCustomMutator

static uint64_t random_state;
static unsigned mutations;
static const char *keep_folder;
static unsigned long inputs;

static uint32_t next_number(void)
{
    random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)(random_state >> 33);
}

/* What libFuzzer would do, in small: one change. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t size_max)
{
    static const uint8_t special[] = {0, 1, 0x7f, 0x80, 0xff};
    if (size == 0) {
        if (size_max)
            data[0] = (uint8_t)next_number();
        return size_max ? 1 : 0;
    }
    size_t at = next_number() % size, length = 1 + next_number() % 16;
    switch (next_number() % 5) {
    case 0:
        data[at] ^= (uint8_t)(1u << next_number() % 8);
        return size;
    case 1:
        data[at] = special[next_number() % sizeof special];
        return size;
    case 2: /* a piece is missing */
        if (length > size - at)
            length = size - at;
        memmove(data + at, data + at + length, size - at - length);
        return size - length;
    case 3: /* a piece is there twice */
        if (length > size_max - size || length > size - at)
            return size;
        memmove(data + at + length, data + at, size - at);
        return size + length;
    default:
        for (size_t i = at; i < size && i < at + 8; i++)
            data[i] = (uint8_t)next_number();
        return size;
    }
}

static double processor_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double seconds_max(void)
{
    const char *times = getenv("RBWP_TIMES_AS_LONG");
    return times ? SECONDS_MAX * strtod(times, NULL) : SECONDS_MAX;
}

/* Runs a copy of just the input's size. False, with a message, if it took too long. */
static bool run(const char *name, unsigned mutation, const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    REQUIRE(copy);
    if (size)
        memcpy(copy, data, size);
    double begin = processor_seconds();
    LLVMFuzzerTestOneInput(copy, size);
    double took = processor_seconds() - begin;
    free(copy);
    inputs++;
    if (took <= seconds_max())
        return true;
    printf("FAILED: %s, change %u: took %.1f s\n", name, mutation, took);
    return false;
}

static bool keep(const uint8_t *data, size_t size)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/changed_%05lu.bin", keep_folder, inputs);
    FILE *file = fopen(path, "wb");
    bool good = file && fwrite(data, 1, size, file) == size;
    if (file && fclose(file) != 0)
        good = false;
    if (!good)
        perror(path);
    return good;
}

static bool run_file(const char *path)
{
    static uint8_t data[INPUT_BYTES_MAX], changed[INPUT_BYTES_MAX];
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        return false;
    }
    size_t size = fread(data, 1, sizeof data, file);
    fclose(file);
    printf("%s\n", path); /* the last one printed is the one that crashed */
    fflush(stdout);
    bool good = run(path, 0, data, size);
    for (unsigned i = 1; i <= mutations; i++) {
        random_state = UINT64_C(0x9e3779b97f4a7c15) * i + size;
        memcpy(changed, data, size);
        size_t changed_size = LLVMFuzzerCustomMutator
                                  ? LLVMFuzzerCustomMutator(changed, size, sizeof changed, i)
                                  : LLVMFuzzerMutate(changed, size, sizeof changed);
        good = (!keep_folder || keep(changed, changed_size)) && good;
        good = run(path, i, changed, changed_size) && good;
    }
    return good;
}

static bool run_path(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISDIR(status.st_mode))
        return run_file(path);
    struct dirent **entries;
    int count = scandir(path, &entries, NULL, alphasort);
    bool good = count >= 0;
    for (int i = 0; i < count; i++) {
        char inner[4096];
        int length = snprintf(inner, sizeof inner, "%s/%s", path, entries[i]->d_name);
        const char *ending = strrchr(entries[i]->d_name, '.');
        bool text = ending && (strcmp(ending, ".md") == 0 || strcmp(ending, ".json") == 0);
        if (entries[i]->d_name[0] != '.' && !text && length < (int)sizeof inner)
            good = run_path(inner) && good;
        free(entries[i]);
    }
    free(entries);
    return good;
}

int main(int argc, char **argv)
{
    bool good = true;
    int at = 1;
    if (argc > 2 && strcmp(argv[1], "--mutate") == 0) {
        mutations = (unsigned)strtoul(argv[2], NULL, 10);
        at = 3;
    }
    if (argc > at + 1 && strcmp(argv[at], "--keep") == 0) {
        keep_folder = argv[at + 1];
        at += 2;
    }
    if (LLVMFuzzerInitialize)
        LLVMFuzzerInitialize(&argc, &argv);
    for (; at < argc; at++)
        good = run_path(argv[at]) && good;
    printf("%lu inputs\n", inputs);
    return good && inputs ? EXIT_SUCCESS : EXIT_FAILURE;
}
