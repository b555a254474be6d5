/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flags out of argv and the environment: a refusal changes nothing and is one line; otherwise
 * what is left of argv is what was there, in order, and every value lies in its range.
 *
 * The input is words, each ended by a zero byte: the environment's text, then argv.
 */
#include "flags.h"
#include "fuzz.h"
#include "rbwp_session.h"
#include "rbwp_work.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct config {
    int number;
    int64_t wide;
    uint32_t small;
    uint64_t large;
    bool yes;
    const char *text;
};

#define FIELD(name) offsetof(struct config, name)
static const struct flag table[] = {
    {"n", FLAG_INT, FIELD(number), INT_MIN, INT_MAX, 1, "a number"},
    {"wide", FLAG_I64, FIELD(wide), INT64_MIN, INT64_MAX, 1000, NULL},
    {"small", FLAG_U32, FIELD(small), 1, INT64_MAX, 1024, "kilobytes"},
    {"large", FLAG_U64, FIELD(large), 0, INT64_MAX, 1u << 20, "megabytes"},
    {"yes", FLAG_BOOL, FIELD(yes), 0, 1, 1, "0 or 1"},
    {"text", FLAG_STRING, FIELD(text), 0, 0, 1, "a word"},
};
static const struct flag_table flags = {table, sizeof table / sizeof table[0], 0, NULL};

/* flags.c keeps each text of the environment for good, so not too many of them here. */
static bool may_keep(const char *environment)
{
    static unsigned kept;
    return (!strstr(environment, "text") && !strstr(environment, "logfile")) || kept++ < 2000;
}

static void check_left(const struct words *before, char *const *after, int count)
{
    REQUIRE(count >= 0 && count <= before->count && after[count] == NULL);
    for (int i = 0, from = 0; i < count; i++, from++) {
        while (from < before->count && before->word[from] != after[i])
            from++;
        REQUIRE(from < before->count);
    }
}

static void check_refusal(const struct words *before, char *const *after, int count,
                          const struct rbwp_error *error)
{
    REQUIRE(error->status == RBWP_E_USAGE && error->text[0] && !strchr(error->text, '\n'));
    REQUIRE(count == before->count);
    REQUIRE(memcmp(after, before->word, sizeof before->word) == 0);
}

static void own_table(const struct words *words)
{
    static const char nothing[] = "nothing";
    struct config config = {.text = nothing}, before = config;
    struct words copy = *words;
    struct rbwp_error error;
    if (flags_apply(&flags, &config, sizeof config, &copy.count, copy.word, &error) == RBWP_OK) {
        check_left(words, copy.word, copy.count);
        REQUIRE(config.wide % 1000 == 0 && config.small % 1024 == 0);
        REQUIRE(config.large % (1u << 20) == 0 && config.text[0]);
    } else {
        check_refusal(words, copy.word, copy.count, &error);
        REQUIRE(memcmp(&config, &before, sizeof config) == 0);
    }
}

static void tables_of_the_runtime(const struct words *words)
{
    struct words copy = *words;
    struct rbwp_error error;
    struct rbwp_session_config session;
    rbwp_session_defaults(&session);
    if (rbwp_session_parse(&session, &copy.count, copy.word, &error) == RBWP_OK) {
        check_left(words, copy.word, copy.count);
        REQUIRE(session.level >= 0 && session.level <= 2 &&
                (!session.logfile || session.logfile[0]));
        REQUIRE(session.compression >= 0 && session.compression <= 9);
        REQUIRE(session.block_bytes == 0 || session.block_bytes >= 1024);
        REQUIRE(session.block_bytes <= RBWP_BLOCK_BYTES_MAX);
    } else {
        check_refusal(words, copy.word, copy.count, &error);
    }
    struct words rest = *words;
    struct rbwp_work_config work = {.size = sizeof work};
    if (rbwp_work_parse(&work, &rest.count, rest.word, &error) == RBWP_OK)
        check_left(words, rest.word, rest.count);
    else
        check_refusal(words, rest.word, rest.count, &error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct words words = words_split(data, size);
    if (words.count && may_keep(words.word[0])) {
        set_environment(1, (const char *const[][2]){{"RBWP_FLAGS", words.word[0]}});
        own_table(&words);
        tables_of_the_runtime(&words);
        set_environment(0, NULL);
    }
    words_free(&words);
    return 0;
}
