/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flags.c - command-line flags from tables.
 *
 * Works in two steps so that a wrong value changes nothing: all words are read
 * into a copy of the config, and only when every word was good are the config
 * and argv written. Words that no entry of the table knows are somebody else's
 * and are passed over; so RBWP_FLAGS and argv may hold the flags of several
 * tables at once. A bare "--" ends our flags: it and all that follows is left
 * alone, and it is never the value of a flag.
 *
 * In a program that runs with more rights than its caller (set-user-id), the
 * environment is not read.
 */
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "failure.h"
#include "flags.h"

#define ENVIRONMENT_NAME "RBWP_FLAGS"
#define LONG_PREFIX "-ll:"
#define BLANKS " \t\r\n"

/* Words to read, and where they come from. */
struct words {
    char **word;
    size_t count;
    bool are_environment;
};

/* A table and the config that its entries set. */
struct target {
    const struct flag *table;
    size_t count;
    char *config;
    struct rbwp_error *error;
};

/* ---- messages -------------------------------------------------------------- */

/* A value as it may be shown on one line: cut short, unprintable bytes as '?'. */
struct shown {
    char text[64];
};

static struct shown show(const char *value)
{
    struct shown shown;
    size_t i = 0;
    for (; value[i] != '\0' && i < sizeof shown.text - 4; i++)
        shown.text[i] = value[i] >= ' ' && value[i] <= '~' ? value[i] : '?';
    memcpy(shown.text + i, value[i] ? "..." : "", value[i] ? 4 : 1);
    return shown;
}

/* ---- values ---------------------------------------------------------------- */

struct range {
    int64_t min, max; /* of the value as written */
};

/* The table's range, cut to what the field's type can hold after scaling. */
static struct range allowed(const struct flag *flag)
{
    struct range of_type = {INT64_MIN, INT64_MAX};
    switch (flag->type) {
    case FLAG_INT:
    case FLAG_ENUM:
        of_type = (struct range){INT_MIN, INT_MAX};
        break;
    case FLAG_U32:
        of_type = (struct range){0, UINT32_MAX};
        break;
    case FLAG_U64:
        of_type.min = 0;
        break;
    case FLAG_BOOL:
        return (struct range){0, 1};
    case FLAG_I64:
    case FLAG_STRING:
        break;
    }
    if (flag->scale > 1) {
        int64_t scale = flag->scale > INT64_MAX ? INT64_MAX : (int64_t)flag->scale;
        of_type.min /= scale;
        of_type.max /= scale;
    }
    return (struct range){flag->min > of_type.min ? flag->min : of_type.min,
                          flag->max < of_type.max ? flag->max : of_type.max};
}

/* Decimal digits, maybe after a minus, and nothing else. A number too large is INT64_MIN/MAX. */
static bool read_number(const char *text, int64_t *value_out)
{
    const char *digits = text + (*text == '-');
    if (*digits == '\0' || digits[strspn(digits, "0123456789")] != '\0')
        return false;
    *value_out = strtoll(text, NULL, 10); /* saturates when out of range */
    return true;
}

static enum rbwp_status fail_value(struct rbwp_error *error, const struct words *words,
                                   const char *name, const struct flag *flag, const char *problem,
                                   const char *value)
{
    char what[96] = "text that is not empty";
    if (flag->type != FLAG_STRING) {
        struct range range = allowed(flag);
        snprintf(what, sizeof what, "a whole number from %lld to %lld", (long long)range.min,
                 (long long)range.max);
    }
    char got[80] = "";
    if (value)
        snprintf(got, sizeof got, " '%s'", show(value).text);
    return failure(error, RBWP_E_USAGE, 0, "flag %s%s: value%s %s; allowed is %s (%s)",
                   show(name).text, words->are_environment ? " in " ENVIRONMENT_NAME : "", got,
                   problem, what, flag->meaning ? flag->meaning : flag->name);
}

static void store_number(const struct flag *flag, char *field, int64_t value)
{
    int64_t scaled = value * (int64_t)(flag->scale ? flag->scale : 1);
    switch (flag->type) {
    case FLAG_INT:
    case FLAG_ENUM:
        memcpy(field, &(int){(int)scaled}, sizeof(int));
        break;
    case FLAG_U32:
        memcpy(field, &(uint32_t){(uint32_t)scaled}, sizeof(uint32_t));
        break;
    case FLAG_BOOL:
        memcpy(field, &(bool){scaled != 0}, sizeof(bool));
        break;
    case FLAG_I64:
    case FLAG_U64:
        memcpy(field, &scaled, sizeof scaled);
        break;
    case FLAG_STRING:
        break;
    }
}

/*
 * Strings out of the environment are parts of its one string, so they need a terminated copy, and
 * a config has nobody to free it. Copies are kept for the life of the process, each text once.
 */
struct kept {
    struct kept *next;
    char text[];
};

static const char *keep(const char *text)
{
    static struct kept *_Atomic list; /* entries are added in front and never taken out */

    struct kept *first = atomic_load_explicit(&list, memory_order_acquire); /* pairs with the add */
    for (const struct kept *entry = first; entry; entry = entry->next)
        if (strcmp(entry->text, text) == 0)
            return entry->text;
    size_t text_bytes = strlen(text) + 1;
    struct kept *entry = malloc(sizeof *entry + text_bytes);
    if (!entry)
        return NULL;
    memcpy(entry->text, text, text_bytes);
    do /* two threads that add the same text at once keep it twice: nothing but memory */
        entry->next = first;
    while (!atomic_compare_exchange_weak_explicit(&list, &first, entry, memory_order_release,
                                                  memory_order_relaxed));
    return entry->text;
}

static enum rbwp_status set_field(const struct target *target, const struct words *words,
                                  const char *name, const struct flag *flag, const char *value)
{
    char *field = target->config + flag->field_offset;
    if (flag->type == FLAG_STRING) {
        if (*value == '\0')
            return fail_value(target->error, words, name, flag, "is empty", NULL);
        const char *text = words->are_environment ? keep(value) : value;
        if (!text)
            return failure(target->error, RBWP_E_MEMORY, 0, "no memory for the value of a flag");
        memcpy(field, &text, sizeof text);
        return RBWP_OK;
    }
    int64_t number;
    struct range range = allowed(flag);
    if (!read_number(value, &number))
        return fail_value(target->error, words, name, flag, "is not a whole number", value);
    if (number < range.min || number > range.max)
        return fail_value(target->error, words, name, flag, "is out of range", value);
    store_number(flag, field, number);
    return RBWP_OK;
}

/* ---- words ----------------------------------------------------------------- */

static const struct flag *find_flag(const struct target *target, const char *word)
{
    if (word[0] != '-')
        return NULL;
    size_t prefix_bytes = strlen(LONG_PREFIX);
    const char *name = word + (strncmp(word, LONG_PREFIX, prefix_bytes) == 0 ? prefix_bytes : 1);
    for (size_t i = 0; i < target->count; i++)
        if (strcmp(name, target->table[i].name) == 0)
            return &target->table[i];
    return NULL;
}

/*
 * Sets the fields that the words name. taken, if given, has a byte for each word, set for those
 * that were ours.
 */
static enum rbwp_status read_words(const struct target *target, const struct words *words,
                                   bool *taken)
{
    for (size_t i = 0; i < words->count; i++) {
        const char *name = words->word[i];
        if (strcmp(name, "--") == 0)
            break;
        const struct flag *flag = find_flag(target, name);
        if (!flag)
            continue;
        if (i + 1 == words->count || strcmp(words->word[i + 1], "--") == 0)
            return fail_value(target->error, words, name, flag, "is missing", NULL);
        enum rbwp_status status = set_field(target, words, name, flag, words->word[i + 1]);
        if (status != RBWP_OK)
            return status;
        if (taken)
            taken[i] = taken[i + 1] = true;
        i++;
    }
    return RBWP_OK;
}

static enum rbwp_status read_environment(const struct target *target)
{
    const char *value = secure_getenv(ENVIRONMENT_NAME);
    if (!value)
        return RBWP_OK;
    char *copy = strdup(value);
    char **word = calloc(strlen(value) / 2 + 1, sizeof *word);
    enum rbwp_status status = RBWP_E_MEMORY;
    if (copy && word) {
        struct words words = {.word = word, .are_environment = true};
        char *rest = NULL;
        for (char *next = strtok_r(copy, BLANKS, &rest); next; next = strtok_r(NULL, BLANKS, &rest))
            word[words.count++] = next;
        status = read_words(target, &words, NULL);
    } else {
        failure(target->error, status, 0, "no memory to read " ENVIRONMENT_NAME);
    }
    free(word);
    free(copy);
    return status;
}

static void remove_taken(int *argc, char **argv, const bool *taken)
{
    int kept = 0;
    for (int i = 0; i < *argc; i++)
        if (!taken[i])
            argv[kept++] = argv[i];
    argv[kept] = NULL;
    *argc = kept;
}

enum rbwp_status flags_apply(const struct flag *table, size_t count, void *config,
                             size_t config_bytes, int *argc, char **argv, struct rbwp_error *error)
{
    size_t word_count = argc && argv && *argc > 0 ? (size_t)*argc : 0;
    bool *taken = calloc(word_count + 1, sizeof *taken);
    char *scratch = malloc(config_bytes);
    enum rbwp_status status = RBWP_E_MEMORY;
    if (!taken || !scratch) {
        failure(error, status, 0, "no memory to read the flags");
        goto out;
    }
    memcpy(scratch, config, config_bytes);
    struct target target = {table, count, scratch, error};
    status = read_environment(&target);
    if (status == RBWP_OK && word_count > 1) {
        struct words words = {.word = argv + 1, .count = word_count - 1}; /* argv[0] is no flag */
        status = read_words(&target, &words, taken + 1);
    }
    if (status == RBWP_OK) {
        memcpy(config, scratch, config_bytes);
        if (word_count > 0)
            remove_taken(argc, argv, taken);
    }
out:
    free(scratch);
    free(taken);
    return status;
}
