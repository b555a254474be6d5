/* SPDX-License-Identifier: Apache-2.0 */
/* All words are copies, so that they can be freed alike. */
#include "input_list.h"
#include "input_folder.h"
#include "message.h"
#include "tar_input.h"
#include "temporary_file.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIST_BYTES_MAX (64u << 20) /* of names that come from a file */

const struct option input_option_table[] = {
    {"files0-from", 0, "FILE", NULL,
     "files whose names stand in FILE, each with a zero byte behind",
     offsetof(struct input_options, files0_from), NULL},
    {"shard", 0, "I/N", "auto",
     "the part I (from 0) of N of the files; auto: as srun or mpirun say",
     offsetof(struct input_options, shard), shard_store},
    {0},
};

static bool input_list_add_file(struct operands *files, const char *word)
{
    return input_is_folder(word) ? input_folder_add(files, word) : input_words_copy(files, word);
}

/* ---- patterns ------------------------------------------------------------------------ */

static bool add_matches(struct operands *files, const char *pattern)
{
    glob_t found = {0};
    int failed = glob(pattern, 0, NULL, &found);
    bool good = failed == 0;
    for (size_t i = 0; good && i < found.gl_pathc; i++)
        good = input_list_add_file(files, found.gl_pathv[i]);
    globfree(&found);
    if (failed == GLOB_NOMATCH)
        message("%s: there is no such file, and none that it matches", pattern);
    else if (failed)
        message("%s: %s", pattern,
                failed == GLOB_NOSPACE ? "out of memory" : "cannot be looked up");
    return good;
}

static bool add_word(struct operands *files, const char *word)
{
    if (strcmp(word, "-") == 0 && tar_is(STDIN_FILENO))
        return tar_input_add(files);
    return strpbrk(word, "*?[") && access(word, F_OK) != 0 ? add_matches(files, word)
                                                           : input_list_add_file(files, word);
}

/* ---- names from a file ----------------------------------------------------------------- */

static bool add_names(struct operands *files, const char *name, const char *list, size_t bytes)
{
    if (bytes > 0 && strlen(list) == bytes && strchr(list, '\n'))
        return message_fail(
            "%s: its names end in new lines; they are to end in zero bytes, as 'find -print0' "
            "writes them",
            name);
    for (size_t at = 0; at < bytes; at += strlen(list + at) + 1) {
        if (strcmp(list + at, "-") == 0 || list[at] == '\0')
            return message_fail("%s: %s", name,
                                list[at] ? "standard input is no name" : "a name in it is empty");
        if (!input_list_add_file(files, list + at))
            return false;
    }
    if (files->count == 0)
        message("%s: there is no name in it", name);
    return files->count > 0;
}

static bool add_list(struct operands *files, const char *path)
{
    bool is_stdin = strcmp(path, "-") == 0;
    const char *name = is_stdin ? "standard input" : path;
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return message_fail("%s: cannot be opened: %s", name, strerror(errno));
    size_t bytes;
    char *list = read_to_end(fd, LIST_BYTES_MAX, &bytes);
    if (!list)
        message("%s: cannot be read: %s", name,
                errno == EFBIG ? "it is no list of names" : strerror(errno));
    bool good = list && add_names(files, name, list, bytes);
    free(list);
    if (!is_stdin)
        close(fd);
    return good;
}

/* ---- all together ------------------------------------------------------------------------ */

bool input_list_open(const struct input_options *options, struct operands words,
                     struct operands *files_out, bool *usage_out)
{
    *files_out = (struct operands){0};
    *usage_out = options->files0_from && words.count > 0;
    if (*usage_out) {
        message_usage("'%s' beside --files0-from: the list names all files", words.words[0]);
        return false;
    }
    if (options->files0_from)
        return add_list(files_out, options->files0_from);
    for (int i = 0; i < words.count; i++)
        if (!add_word(files_out, words.words[i]))
            return false;
    return true;
}

void input_list_close(struct operands *files)
{
    for (int i = 0; i < files->count; i++)
        free(files->words[i]);
    free(files->words);
    *files = (struct operands){0};
    tar_input_close();
}

void input_list_keep(struct operands *files, struct shard shard)
{
    int kept = 0;
    for (int i = 0; i < files->count; i++)
        if (shard_has(shard, (uint32_t)i))
            files->words[kept++] = files->words[i];
        else
            free(files->words[i]);
    files->count = kept;
}

/* ---- shard ----------------------------------------------------------------------------------- */

static const struct launcher {
    const char *number, *of;
} launchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"PMI_RANK", "PMI_SIZE"},
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
    {"PALS_RANKID", "PALS_SIZE"},
    {"PALS_RANKID", "PMI_SIZE"},
    {"SLURM_PROCID", "SLURM_NTASKS"},
};
enum { LAUNCHERS = sizeof launchers / sizeof launchers[0] };

static bool shard_set(struct shard *shard, const char *number, const char *of,
                      struct option_error *error)
{
    return option_number(of, 1, SHARDS_MAX, &shard->of, error) &&
           option_number(number, 0, shard->of - 1, &shard->number, error);
}

static bool parse(struct shard *shard, const char *text, struct option_error *error)
{
    char number[16];
    const char *slash = strchr(text, '/');
    size_t bytes = slash ? (size_t)(slash - text) : sizeof number;
    if (bytes >= sizeof number)
        return option_wrong(error, "is not auto or i/N, the first of four being 0/4");
    memcpy(number, text, bytes);
    number[bytes] = '\0';
    return shard_set(shard, number, slash + 1, error);
}

/* The text of an error begins with the option's value: what is wrong is said of the variables. */
static bool shard_find(struct shard *shard, struct option_error *error)
{
    struct option_error why;
    const char *text = getenv("RBWP_SHARD");
    if (text && *text) {
        if (parse(shard, text, &why))
            return true;
        return option_wrong(error, "takes RBWP_SHARD, which is '%.20s': %.80s", text, why.text);
    }
    for (int i = 0; i < LAUNCHERS; i++) {
        const char *number = getenv(launchers[i].number), *of = getenv(launchers[i].of);
        if (!number || !of)
            continue;
        if (shard_set(shard, number, of, &why))
            return true;
        return option_wrong(error, "takes %s and %s, which are '%.20s' and '%.20s'",
                            launchers[i].number, launchers[i].of, number, of);
    }
    return option_wrong(
        error,
        "finds no launcher: neither RBWP_SHARD nor a rank and size of Open MPI, PMI or Slurm "
        "are set; start it with srun or mpirun, or say which part it is");
}

bool shard_store(void *value, const char *text, struct option_error *error)
{
    struct shard *shard = value;
    return strcmp(text, "auto") == 0 ? shard_find(shard, error) : parse(shard, text, error);
}
