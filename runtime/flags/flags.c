/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flags.c - command-line flags from tables.
 *
 * Works in two steps so that a wrong value changes nothing: all words are read
 * into a copy of the config, and only when every word was good are the config
 * and argv written. RBWP_FLAGS and argv may hold the flags of several tables at
 * once, so those of other tables are passed over. Any other word of argv is the
 * program's and is passed over as well, unless it begins as most of our flags
 * do; that one, and each in RBWP_FLAGS, which is the library's alone, is
 * refused: it would be a misspelt flag that does nothing. A bare
 * "--" ends our flags: it and all that follows is left alone, and it is never
 * the value of a flag.
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
#include "settings_file.h"

#define ENVIRONMENT_NAME "RBWP_FLAGS"
#define REALM_PREFIX "ll:"
#define OWN_PREFIX "bgworkprof"
#define LIKE_BYTES_MIN 5 /* that a misspelt name has in common with the one that was meant */
#define BLANKS " \t\r\n"

/* Words to read, and where they come from. */
struct words {
    char **word;
    size_t count;
    const char *where; /* what is the library's alone: the environment's variable, or a file */
};

/* A table and the config that its entries set. */
struct target {
    const struct flag_table *table;
    char *config;
    struct rbwp_error *error;
};

/* ---- messages -------------------------------------------------------------- */

/* A value as it may be shown on one line: cut short, unprintable bytes as '?'. */
struct shown {
    char text[64];
};

static struct shown show_bytes(const char *value, size_t bytes)
{
    struct shown shown;
    size_t i = 0;
    for (; i < bytes && i < sizeof shown.text - 4; i++)
        shown.text[i] = value[i] >= ' ' && value[i] <= '~' ? value[i] : '?';
    memcpy(shown.text + i, i < bytes ? "..." : "", i < bytes ? 4 : 1);
    return shown;
}

static struct shown flags_show(const char *value)
{
    return show_bytes(value, strlen(value));
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

/* A word that is a flag of a table. */
struct named {
    const struct flag *flag; /* NULL: of no table that was asked for */
    const char *word;
    size_t name_bytes;
    const char *value; /* behind its "=", or NULL: the next word */
};

static enum rbwp_status fail_value(struct rbwp_error *error, const struct words *words,
                                   const struct named *named, const char *problem,
                                   const char *value)
{
    const struct flag *flag = named->flag;
    char what[96] = "text that is not empty";
    if (flag->type != FLAG_STRING) {
        struct range range = allowed(flag);
        snprintf(what, sizeof what, "a whole number from %lld to %lld", (long long)range.min,
                 (long long)range.max);
    }
    char got[80] = "";
    if (value)
        snprintf(got, sizeof got, " '%s'", flags_show(value).text);
    return failure(error, RBWP_E_USAGE, 0, "flag %s%s%s: value%s %s; allowed is %s (%s)",
                   show_bytes(named->word, named->name_bytes).text, words->where ? " in " : "",
                   words->where ? words->where : "", got, problem, what,
                   flag->meaning ? flag->meaning : flag->name);
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

static const char *flags_keep(const char *text)
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
                                  const struct named *named, const char *value)
{
    const struct flag *flag = named->flag;
    char *field = target->config + flag->field_offset;
    if (flag->type == FLAG_STRING) {
        if (*value == '\0')
            return fail_value(target->error, words, named, "is empty", NULL);
        const char *text = words->where ? flags_keep(value) : value;
        if (!text)
            return failure(target->error, RBWP_E_MEMORY, 0, "no memory for the value of a flag");
        memcpy(field, &text, sizeof text);
        return RBWP_OK;
    }
    int64_t number;
    struct range range = allowed(flag);
    if (!read_number(value, &number))
        return fail_value(target->error, words, named, "is not a whole number", value);
    if (number < range.min || number > range.max)
        return fail_value(target->error, words, named, "is out of range", value);
    store_number(flag, field, number);
    return RBWP_OK;
}

/* ---- words ----------------------------------------------------------------- */

/* The name in a word that may be a flag, without what stands before it; NULL if it is none. */
static const char *name_in(const char *word)
{
    if (word[0] != '-')
        return NULL;
    const char *name = word + (word[1] == '-' ? 2 : 1);
    size_t prefix_bytes = strlen(REALM_PREFIX);
    return strncmp(name, REALM_PREFIX, prefix_bytes) == 0 ? name + prefix_bytes : name;
}

static struct named find_flag(const struct flag_table *table, const char *word)
{
    struct named named = {.word = word, .name_bytes = strcspn(word, "=")};
    const char *name = name_in(word);
    if (!name)
        return named;
    size_t name_bytes = (size_t)(word + named.name_bytes - name);
    for (size_t i = 0; i < table->count && !named.flag; i++)
        if (strlen(table->flag[i].name) == name_bytes &&
            memcmp(name, table->flag[i].name, name_bytes) == 0)
            named.flag = &table->flag[i];
    if (word[named.name_bytes] == '=')
        named.value = word + named.name_bytes + 1;
    return named;
}

static const struct flag_table *const all_tables[] = {&session_flags, &work_flags};
#define TABLES (sizeof all_tables / sizeof all_tables[0])

static struct named find_flag_of_others(const char *word)
{
    struct named named = {0};
    for (size_t i = 0; i < TABLES && !named.flag; i++)
        named = find_flag(all_tables[i], word);
    return named;
}

static size_t common_bytes(const char *a, const char *b)
{
    size_t bytes = 0;
    while (a[bytes] != '\0' && a[bytes] == b[bytes])
        bytes++;
    return bytes;
}

/* The flag whose name begins most like the word, or NULL. */
static const char *flag_like(const char *word)
{
    const char *like = NULL, *name = name_in(word);
    size_t best_bytes = LIKE_BYTES_MIN - 1;
    for (size_t i = 0; name && i < TABLES; i++)
        for (size_t j = 0; j < all_tables[i]->count; j++) {
            const char *candidate = all_tables[i]->flag[j].name;
            if (common_bytes(name, candidate) > best_bytes) {
                best_bytes = common_bytes(name, candidate);
                like = candidate;
            }
        }
    return like;
}

static enum rbwp_status fail_word(struct rbwp_error *error, const char *where, const char *word)
{
    const char *like = flag_like(word);
    return failure(error, RBWP_E_USAGE, 0, "%s: '%s' is no flag; %s%s%s", where,
                   flags_show(word).text,
                   like ? "did you mean '-" : "rbwp_session.h and rbwp_work.h list them",
                   like ? like : "", like ? "'?" : "");
}

/* A word that can be nothing but one of our flags. */
static bool is_meant_for_us(const char *word)
{
    const char *name = name_in(word);
    return name && strncmp(name, OWN_PREFIX, strlen(OWN_PREFIX)) == 0;
}

/*
 * Sets the fields that the words name. taken, if given, has a byte for each word, set for those
 * that were ours.
 */
static enum rbwp_status read_words(const struct target *target, const struct words *words,
                                   bool *taken)
{
    for (size_t i = 0; i < words->count; i++) {
        const char *word = words->word[i];
        if (strcmp(word, "--") == 0)
            break;
        struct named named = find_flag(target->table, word);
        bool is_ours = named.flag != NULL;
        if (!is_ours)
            named = find_flag_of_others(word);
        if (!named.flag && (words->where || is_meant_for_us(word)))
            return fail_word(target->error, words->where ? words->where : "command line", word);
        if (!named.flag)
            continue;
        size_t last = named.value ? i : i + 1;
        if (last == words->count || (last > i && strcmp(words->word[last], "--") == 0))
            return fail_value(target->error, words, &named, "is missing", NULL);
        const char *value = named.value ? named.value : words->word[last];
        enum rbwp_status status = is_ours ? set_field(target, words, &named, value) : RBWP_OK;
        if (status != RBWP_OK)
            return status;
        if (taken && is_ours)
            taken[i] = taken[last] = true;
        i = last;
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
        struct words words = {.word = word, .where = ENVIRONMENT_NAME};
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

/* Lines that are no flags are commands, which others read. */
static enum rbwp_status read_file(const struct target *target, const char *path)
{
    char *text, *word[SETTINGS_WORDS_MAX];
    enum rbwp_status status = settings_read(path, &text, target->error);
    char *rest = text;
    for (size_t count; status == RBWP_OK && (count = settings_line(&rest, word)) > 0;) {
        const struct words words = {word, count, path};
        if (word[0][0] != '-')
            continue;
        status = find_flag(target->table, word[0]).flag ? read_words(target, &words, NULL)
                                                        : fail_word(target->error, path, word[0]);
    }
    free(text);
    return status;
}

/* The file that was named, if one was: its flags come before all others. */
static enum rbwp_status read_all(const struct target *target, const void *config,
                                 size_t config_bytes, const struct words *words, bool *taken)
{
    const char *path = NULL;
    enum rbwp_status status = read_environment(target);
    if (status == RBWP_OK)
        status = read_words(target, words, taken);
    if (target->table->file_offset)
        memcpy(&path, target->config + target->table->file_offset, sizeof path);
    if (status != RBWP_OK || !path)
        return status;
    memcpy(target->config, config, config_bytes);
    status = read_file(target, path);
    if (status == RBWP_OK)
        status = read_environment(target);
    return status == RBWP_OK ? read_words(target, words, taken) : status;
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

enum rbwp_status flags_apply(const struct flag_table *table, void *config, size_t config_bytes,
                             int *argc, char **argv, struct rbwp_error *error)
{
    size_t word_count = argc && argv && *argc > 0 ? (size_t)*argc : 0;
    bool *taken = calloc(word_count + 2, sizeof *taken);
    char *scratch = malloc(config_bytes);
    enum rbwp_status status = RBWP_E_MEMORY;
    if (!taken || !scratch) {
        failure(error, status, 0, "no memory to read the flags");
        goto out;
    }
    memcpy(scratch, config, config_bytes);
    struct target target = {table, scratch, error};
    struct words words = {0};
    if (word_count > 1)
        words = (struct words){.word = argv + 1, .count = word_count - 1}; /* argv[0] is no flag */
    status = read_all(&target, config, config_bytes, &words, taken + 1);
    if (status == RBWP_OK && table->finish)
        status = table->finish(scratch, error);
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
