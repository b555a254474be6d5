/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Option tables: parse and help. Written here rather than on getopt_long so
 * that one table is enough, messages name the option as it was typed, and
 * unknown ones get a suggestion.
 */
#include "options.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct option common_options[] = {
    {"help", 'h', NULL, NULL, "show this help and exit", 0, NULL},
    {"version", 0, NULL, NULL, "show the version and exit", 0, NULL},
    {0},
};
static const struct option_group common_group = {"Other", common_options, 0};

bool option_wrong(struct option_error *error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return false;
}

bool option_store_text(void *value, const char *text, struct option_error *error)
{
    if (text[0] == '\0')
        return option_wrong(error, "is empty");
    *(const char **)value = text;
    return true;
}

bool option_number(const char *text, uint32_t low, uint32_t high, uint32_t *number_out,
                   struct option_error *error)
{
    size_t digits = strspn(text, "0123456789");
    uint64_t number = 0;
    for (size_t i = 0; i < digits && number <= high; i++)
        number = number * 10 + (uint64_t)(text[i] - '0');
    *number_out = (uint32_t)number;
    if (digits > 0 && text[digits] == '\0' && number >= low && number <= high)
        return true;
    return option_wrong(error, "is no number from %u to %u", low, high);
}

const char *option_words(const struct option *option)
{
    return option->choices && strstr(option->choices, "..") ? NULL : option->choices;
}

bool option_choice(const char *text, const char *choices, uint32_t *number_out,
                   struct option_error *error)
{
    uint32_t low, high;
    if (sscanf(choices, "%" SCNu32 "..%" SCNu32, &low, &high) == 2)
        return option_number(text, low, high, number_out, error);
    int used = snprintf(error->text, sizeof error->text, "is none of ");
    *number_out = 0;
    for (const char *at = choices; *at; ++*number_out) {
        const int bytes = (int)strcspn(at, " ");
        if (strncmp(text, at, (size_t)bytes) == 0 && text[bytes] == '\0')
            return true;
        used += snprintf(error->text + used, sizeof error->text - (size_t)used, "%s%.*s",
                         *number_out ? ", " : "", bytes, at);
        at += bytes + (at[bytes] == ' ');
    }
    return false;
}

/* ---- finding an option -------------------------------------------------- */

struct cursor {
    const struct option_group *group;
    const struct option *option;
    bool common; /* the common group comes last */
};

static struct cursor cursor_start(const struct option_group *groups)
{
    return (struct cursor){groups, groups->options, false};
}

/* The next option of all groups, NULL at the end; cursor->group is its group. */
static const struct option *cursor_next(struct cursor *cursor)
{
    for (;;) {
        if (cursor->option && cursor->option->name)
            return cursor->option++;
        if (cursor->common)
            return NULL;
        if (cursor->option)
            cursor->group++;
        if (!cursor->group->options) {
            cursor->group = &common_group;
            cursor->common = true;
        }
        cursor->option = cursor->group->options;
    }
}

static const char *next_name(void *context)
{
    const struct option *option = cursor_next(context);
    return option ? option->name : NULL;
}

static const struct option *find_name(struct cursor *cursor, const char *name, size_t count)
{
    const struct option *option;
    while ((option = cursor_next(cursor)))
        if (strlen(option->name) == count && memcmp(option->name, name, count) == 0)
            return option;
    return NULL;
}

static const struct option *find_letter(struct cursor *cursor, char letter)
{
    const struct option *option;
    while ((option = cursor_next(cursor)))
        if (option->letter == letter)
            return option;
    return NULL;
}

/* ---- suggestions -------------------------------------------------------- */

#define WORD_MAX 32

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Letters to be changed, put in, dropped or swapped with their neighbour; words longer than
 * WORD_MAX are taken as far apart. */
static size_t distance(const char *a, const char *b)
{
    size_t a_count = strlen(a), b_count = strlen(b);
    if (a_count > WORD_MAX || b_count > WORD_MAX)
        return WORD_MAX;
    size_t rows[3][WORD_MAX + 1]; /* of the last letters of a */
    for (size_t j = 0; j <= b_count; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_count; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b_count; j++) {
            row[j] = least(above[j - 1] + (a[i - 1] != b[j - 1]), least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], before[j - 2] + 1);
        }
    }
    return rows[a_count % 3][b_count];
}

const char *options_nearest(const char *word, const char *(*next)(void *context), void *context)
{
    const char *best = NULL, *candidate;
    size_t best_distance = (strlen(word) + 1) / 3 + 1; /* of three letters one may be wrong */
    while ((candidate = next(context))) {
        size_t d = distance(word, candidate);
        if (d < best_distance) {
            best_distance = d;
            best = candidate;
        }
    }
    return best;
}

/* ---- parsing ------------------------------------------------------------ */

struct parse {
    const struct option_group *groups;
    void *config;
    char **words;
    int count, at;
    struct option_error *error;
};

static enum option_result apply(struct parse *parse, const struct cursor *cursor,
                                const struct option *option, const char *text)
{
    if (option == &common_options[0])
        return OPTIONS_HELP;
    if (option == &common_options[1])
        return OPTIONS_VERSION;
    void *value = (char *)parse->config + cursor->group->offset + option->offset;
    struct option_error why = {""};
    bool good = true;
    if (option->store)
        good = option->store(value, text, &why);
    else if (!option->argument)
        *(bool *)value = true;
    else if (!option->choices)
        good = option_store_text(value, text, &why);
    else
        good = option_choice(text, option->choices, value, &why);
    if (good)
        return OPTIONS_DONE;
    snprintf(parse->error->text, sizeof parse->error->text, "--%s '%.80s' %.150s", option->name,
             text ? text : "", why.text);
    return OPTIONS_WRONG;
}

/* The argument of an option is the next word. */
static const char *options_take_word(struct parse *parse)
{
    return parse->at < parse->count ? parse->words[parse->at++] : NULL;
}

static enum option_result parse_long(struct parse *parse, const char *word)
{
    const char *name = word + 2, *equals = strchr(name, '=');
    size_t name_bytes = equals ? (size_t)(equals - name) : strlen(name);
    struct cursor cursor = cursor_start(parse->groups);
    const struct option *option = find_name(&cursor, name, name_bytes);
    char *error = parse->error->text;
    size_t error_bytes = sizeof parse->error->text;
    if (!option) {
        struct cursor names = cursor_start(parse->groups);
        const char *near = options_nearest(name, next_name, &names);
        snprintf(error, error_bytes, "unknown option '--%.*s'%s%s%s", (int)name_bytes, name,
                 near ? ", did you mean '--" : "", near ? near : "", near ? "'?" : "");
        return OPTIONS_WRONG;
    }
    if (!option->argument && equals) {
        snprintf(error, error_bytes, "option '--%s' takes no value", option->name);
        return OPTIONS_WRONG;
    }
    const char *text = NULL;
    if (option->argument && !(text = equals ? equals + 1 : options_take_word(parse))) {
        snprintf(error, error_bytes, "option '--%s' needs a value: %s", option->name,
                 option->argument);
        return OPTIONS_WRONG;
    }
    return apply(parse, &cursor, option, text);
}

static enum option_result parse_letters(struct parse *parse, const char *word)
{
    for (const char *letter = word + 1; *letter; letter++) {
        struct cursor cursor = cursor_start(parse->groups);
        const struct option *option = find_letter(&cursor, *letter);
        if (!option) {
            snprintf(parse->error->text, sizeof parse->error->text, "unknown option '-%c'",
                     *letter);
            return OPTIONS_WRONG;
        }
        const char *text = NULL;
        if (option->argument && !(text = letter[1] ? letter + 1 : options_take_word(parse))) {
            snprintf(parse->error->text, sizeof parse->error->text,
                     "option '-%c' needs a value: %s", *letter, option->argument);
            return OPTIONS_WRONG;
        }
        enum option_result result = apply(parse, &cursor, option, text);
        if (result != OPTIONS_DONE || text)
            return result;
    }
    return OPTIONS_DONE;
}

enum option_result options_parse(const struct option_group *groups, void *config, char **words,
                                 int *count, struct option_error *error)
{
    struct parse parse = {groups, config, words, *count, 0, error};
    int kept = 0;
    while (parse.at < parse.count) {
        char *word = words[parse.at++];
        if (strcmp(word, "--") == 0)
            break;
        if (word[0] != '-' || word[1] == '\0') {
            words[kept++] = word;
            continue;
        }
        enum option_result result =
            word[1] == '-' ? parse_long(&parse, word) : parse_letters(&parse, word);
        if (result != OPTIONS_DONE)
            return result;
    }
    while (parse.at < parse.count)
        words[kept++] = words[parse.at++];
    *count = kept;
    return OPTIONS_DONE;
}

void options_each(const struct option_group *groups,
                  void (*take)(void *context, const struct option *option), void *context)
{
    struct cursor cursor = cursor_start(groups);
    const struct option *option;
    while ((option = cursor_next(&cursor)))
        take(context, option);
}

/* ---- help --------------------------------------------------------------- */

#define HELP_COLUMN 26
#define HELP_WIDTH 100

/* True when a word of the list is not in the help of its option. */
static bool tells_new_choice(const struct option *option)
{
    char word[WORD_MAX + 1];
    for (const char *at = option_words(option); at && *at;) {
        size_t bytes = strcspn(at, " ");
        snprintf(word, sizeof word, "%.*s", (int)bytes, at);
        if (!strstr(option->help, word))
            return true;
        at += bytes + strspn(at + bytes, " ");
    }
    return false;
}

/* As many words a line as it has room for. */
static void help_choices(const char *choices, void (*line)(void *context, const char *text),
                         void *context)
{
    char text[HELP_WIDTH + 1];
    size_t room = HELP_WIDTH - HELP_COLUMN;
    for (const char *at = choices; *at;) {
        size_t bytes = strlen(at);
        for (; bytes > room || (at[bytes] && at[bytes] != ' '); bytes--)
            ;
        snprintf(text, sizeof text, "%-*s%.*s", HELP_COLUMN, "", (int)bytes, at);
        line(context, text);
        at += bytes + strspn(at + bytes, " ");
    }
}

static void help_option(const struct option *option, void (*line)(void *context, const char *text),
                        void *context)
{
    char left[80], text[256];
    snprintf(left, sizeof left, "  %c%c%s --%s%s%s", option->letter ? '-' : ' ',
             option->letter ? option->letter : ' ', option->letter ? "," : " ", option->name,
             option->argument ? " " : "", option->argument ? option->argument : "");
    if (strlen(left) >= HELP_COLUMN) {
        line(context, left);
        left[0] = '\0';
    }
    snprintf(text, sizeof text, "%-*s%s", HELP_COLUMN, left, option->help);
    line(context, text);
    if (tells_new_choice(option))
        help_choices(option->choices, line, context);
}

void options_help(const struct option_group *groups, void (*line)(void *context, const char *text),
                  void *context)
{
    struct cursor cursor = cursor_start(groups);
    const struct option_group *group = NULL;
    const struct option *option;
    while ((option = cursor_next(&cursor))) {
        if (group != cursor.group) {
            char title[80];
            group = cursor.group;
            snprintf(title, sizeof title, "%s:", group->title);
            line(context, "");
            line(context, title);
        }
        help_option(option, line, context);
    }
}
