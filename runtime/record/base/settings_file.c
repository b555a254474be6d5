/* SPDX-License-Identifier: Apache-2.0 */
#include "settings_file.h"

#include "failure.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum rbwp_status settings_file_judge(const char *path, const struct stat *status,
                                            struct rbwp_error *error)
{
    if (!S_ISREG(status->st_mode))
        return failure(error, RBWP_E_USAGE, 0, "settings \"%s\": no regular file", path);
    if ((status->st_uid != geteuid() && status->st_uid != 0) ||
        (status->st_mode & (S_IWGRP | S_IWOTH)))
        return failure(error, RBWP_E_USAGE, 0,
                       "settings \"%s\": others than this user and root may write it (chmod go-w)",
                       path);
    if (status->st_size > (off_t)SETTINGS_BYTES_MAX)
        return failure(error, RBWP_E_USAGE, 0, "settings \"%s\": more than %u bytes", path,
                       SETTINGS_BYTES_MAX);
    return RBWP_OK;
}

enum rbwp_status settings_read(const char *path, char **text_out, struct rbwp_error *error)
{
    struct stat status;
    *text_out = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &status) != 0) {
        int reason = errno;
        if (fd >= 0)
            close(fd);
        return failure(error, RBWP_E_USAGE, reason, "settings \"%s\" cannot be read", path);
    }
    enum rbwp_status good = settings_file_judge(path, &status, error);
    char *text = good == RBWP_OK ? calloc(1, SETTINGS_BYTES_MAX + 1) : NULL;
    if (good == RBWP_OK && !text)
        good = failure(error, RBWP_E_MEMORY, 0, "no memory for settings");
    ssize_t bytes = text ? read(fd, text, SETTINGS_BYTES_MAX) : 0;
    close(fd);
    if (bytes < 0 || (text && strlen(text) != (size_t)bytes)) {
        free(text);
        return failure(error, RBWP_E_USAGE, 0, "settings \"%s\": no text", path);
    }
    *text_out = text;
    return good;
}

/* Cuts a word off, which may stand between quotes; outside of them a "#" ends the line. */
static char *next_word(char **rest)
{
    char *word = *rest + strspn(*rest, " \t\r");
    bool quoted = *word == '"';
    word += quoted;
    char *end = word + strcspn(word, quoted ? "\"" : " \t\r#");
    if (*end == '#')
        end[1] = '\0';
    if (end == word && !quoted)
        return NULL;
    *rest = end + (*end != '\0');
    *end = '\0';
    return word;
}

size_t settings_line(char **rest, char *words[SETTINGS_WORDS_MAX])
{
    size_t count = 0;
    while (count == 0 && **rest) {
        char *line = *rest;
        size_t bytes = strcspn(line, "\n");
        *rest = line + bytes + (line[bytes] == '\n');
        line[bytes] = '\0';
        for (char *word; count < SETTINGS_WORDS_MAX && (word = next_word(&line));)
            words[count++] = word;
    }
    return count;
}

/* ---- sizes and durations --------------------------------------------------------------------- */

struct unit {
    char name[4];
    uint64_t times;
};

static const struct unit sizes[] = {
    {"K", UINT64_C(1) << 10}, {"M", UINT64_C(1) << 20}, {"G", UINT64_C(1) << 30}, {"", 0}};
static const struct unit durations[] = {{"ns", 1},
                                        {"us", 1000},
                                        {"ms", 1000000},
                                        {"s", 1000000000},
                                        {"min", UINT64_C(60000000000)},
                                        {"h", UINT64_C(3600000000000)},
                                        {"", 0}};

static bool limit_text_take(const char *text, size_t count, const struct unit *units,
                            uint64_t *value_out)
{
    uint64_t number = 0;
    size_t digits = 0;
    for (; digits < count && text[digits] >= '0' && text[digits] <= '9'; digits++)
        if (__builtin_mul_overflow(number, 10u, &number) ||
            __builtin_add_overflow(number, (uint64_t)(text[digits] - '0'), &number))
            return false;
    for (; digits && number && units->times; units++)
        if (strlen(units->name) == count - digits &&
            !memcmp(units->name, text + digits, count - digits))
            return !__builtin_mul_overflow(number, units->times, value_out);
    return false;
}

bool limit_text_bytes(const char *text, size_t count, uint64_t *bytes_out)
{
    return limit_text_take(text, count, sizes, bytes_out);
}

bool limit_text_ns(const char *text, size_t count, uint64_t *ns_out)
{
    return limit_text_take(text, count, durations, ns_out);
}

/* ---- rules ----------------------------------------------------------------------------------- */

static const char *const kind_names[RULE_KINDS] = {"call:", "queue:", "counter:"};

static bool read_number(const char *text, size_t count, uint64_t *value_out)
{
    *value_out = 0;
    for (size_t i = 0; i < count; i++)
        if (text[i] < '0' || text[i] > '9' || __builtin_mul_overflow(*value_out, 10u, value_out) ||
            __builtin_add_overflow(*value_out, (uint64_t)(text[i] - '0'), value_out))
            return false;
    return count > 0;
}

bool rule_text_read(const char *text, size_t count, struct rule_text *rule_out)
{
    const char *above = memrchr(text, '>', count);
    for (enum rule_kind kind = RULE_CALL; above && kind < RULE_KINDS; kind++) {
        size_t bytes = strlen(kind_names[kind]), left = (size_t)(text + count - above) - 1;
        if ((size_t)(above - text) <= bytes || memcmp(text, kind_names[kind], bytes) != 0)
            continue;
        *rule_out = (struct rule_text){kind, text + bytes, (size_t)(above - text) - bytes, 0};
        return kind == RULE_COUNTER ? read_number(above + 1, left, &rule_out->limit)
                                    : limit_text_ns(above + 1, left, &rule_out->limit);
    }
    return false;
}

enum rbwp_status rule_text_check(const char *text, struct rbwp_error *error)
{
    struct rule_text rule;
    for (const char *at = text; *at || at == text; at += *at == ',') {
        size_t count = strcspn(at, ",");
        if (!rule_text_read(at, count, &rule))
            return failure(error, RBWP_E_USAGE, 0,
                           "\"%.*s\" is no rule: call:NAME>10ms, queue:NAME>5ms or "
                           "counter:NAME>100, several with commas between them",
                           (int)(count < 100 ? count : 100), at);
        at += count;
    }
    return RBWP_OK;
}
