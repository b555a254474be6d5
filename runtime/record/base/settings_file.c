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
