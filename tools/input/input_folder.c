/* SPDX-License-Identifier: Apache-2.0 */
#include "input_folder.h"
#include "message.h"
#include "rbwp_format.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- a list of words that owns them ---------------------------------------------------------- */

/* Takes the word, of malloc; NULL is what failed for want of memory. False with the message given,
 * and the word freed. */
static bool input_words_add(struct operands *words, char *word)
{
    char **moved =
        word ? realloc(words->words, ((size_t)words->count + 1) * sizeof *words->words) : NULL;
    if (!moved) {
        message("out of memory");
        free(word);
        return false;
    }
    words->words = moved;
    words->words[words->count++] = word;
    return true;
}

bool input_words_copy(struct operands *words, const char *word)
{
    return input_words_add(words, strdup(word));
}

/* ---- input folder ---------------------------------------------------------------------------- */

bool input_is_folder(const char *word)
{
    struct stat status;
    return strcmp(word, "-") != 0 && stat(word, &status) == 0 && S_ISDIR(status.st_mode);
}

bool input_folder_takes(const char *name)
{
    static const char *const suffixes[] = {".bin", ".rbwa"};
    size_t bytes = strlen(name);
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        size_t suffix = strlen(suffixes[i]);
        if (name[0] != '.' && bytes > suffix && strcmp(name + bytes - suffix, suffixes[i]) == 0)
            return true;
    }
    return false;
}

static int is_named(const struct dirent *entry)
{
    return input_folder_takes(entry->d_name);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static bool input_folder_has_magic(const char *path)
{
    char magic[sizeof RBWP_MAGIC - 1];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    bool same = fd >= 0 && read(fd, magic, sizeof magic) == (ssize_t)sizeof magic &&
                memcmp(magic, RBWP_MAGIC, sizeof magic) == 0;
    if (fd >= 0)
        close(fd);
    return same;
}

/* NULL without memory. */
static char *path_in(const char *folder, const char *name)
{
    char *path;
    size_t bytes = strlen(folder);
    const char *slash = bytes > 0 && folder[bytes - 1] == '/' ? "" : "/";
    return asprintf(&path, "%s%s%s", folder, slash, name) < 0 ? NULL : path;
}

/* One file of the folder, if it is what is looked for. */
static bool input_folder_add_file(struct operands *files, const char *folder, const char *name)
{
    char *path = path_in(folder, name);
    if (!path || input_folder_has_magic(path))
        return input_words_add(files, path);
    message_plain("%s: skipped: no RBWP file", path);
    free(path);
    return true;
}

bool input_folder_add(struct operands *files, const char *folder)
{
    struct dirent **names;
    int before = files->count, count = scandir(folder, &names, is_named, by_name);
    if (count < 0)
        return message_fail("%s: cannot be opened: %s", folder, strerror(errno));
    bool good = true;
    for (int i = 0; i < count; i++) {
        good = good && input_folder_add_file(files, folder, names[i]->d_name);
        free(names[i]);
    }
    free(names);
    if (good && files->count == before)
        return message_fail(
            "%s: is a folder without RBWP files named *.bin or *.rbwa; name the files", folder);
    return good;
}

static int is_shown(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

bool input_folder_below(struct operands *folders, const char *folder)
{
    struct dirent **names;
    const int count = scandir(folder, &names, is_shown, by_name);
    bool good = true, files = false;
    for (int i = 0; i < count; i++)
        files |= input_folder_takes(names[i]->d_name);
    for (int i = 0; i < count; i++) {
        char *path = path_in(folder, names[i]->d_name);
        if (path && (files || !good || !input_is_folder(path)))
            free(path);
        else
            good = input_words_add(folders, path) && good;
        free(names[i]);
    }
    if (count >= 0)
        free(names);
    return good;
}
