/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz.h - what the fuzz targets share.
 *
 * A target is one file fuzz_TOPIC.c that defines LLVMFuzzerTestOneInput and
 * states its property with REQUIRE. The same file is linked with libFuzzer (run.sh)
 * and, by every compiler, with replay.c, which runs it over kept inputs.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include "rbwp_writer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);
/* Of mutate_file.c, in the targets whose input is an RBWP file. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t size_max, unsigned seed);
/* Of libFuzzer, or of replay.c. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t size_max);

/* Ends the process with one line when a property does not hold. */
#define REQUIRE(condition) ((condition) ? (void)0 : require_failed(#condition, __FILE__, __LINE__))
_Noreturn void require_failed(const char *condition, const char *file, int line);

/* More than this no target looks at. */
#define INPUT_BYTES_MAX (1u << 20)

/*
 * A copy of the input whose last byte is the last one before memory that cannot be touched: a look
 * behind it is seen in code that no sanitizer instruments too. Valid until the next call. NULL for
 * an input that is too large.
 */
const uint8_t *guarded_copy(const void *data, size_t size);

/* An anonymous file of these bytes, at its beginning. The caller closes it. */
int memory_file(const void *data, size_t size);

/* What a sink got. bytes are the caller's to free. */
struct memory {
    uint8_t *bytes;
    size_t size, capacity;
    size_t bytes_max; /* the sink refuses more than this; 0: it takes all */
};
struct rbwp_sink memory_sink(struct memory *memory);

/* The input, taken apart; zeros when it is used up. */
struct supply {
    const uint8_t *next;
    size_t left;
};
uint64_t supply_number(struct supply *supply, unsigned bytes);

/* The input as words that end with a zero byte each (the last one with the input). */
#define WORDS_MAX 64
struct words {
    char *text;                /* all of it */
    char *word[WORDS_MAX + 1]; /* ends with NULL */
    int count;
};
struct words words_split(const uint8_t *data, size_t size);
void words_free(struct words *words);

/* The whole environment, of so many names and values. setenv would keep each value for ever. */
void set_environment(size_t count, const char *const pairs[][2]);

#endif /* FUZZ_H */
