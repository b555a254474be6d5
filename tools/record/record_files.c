/* SPDX-License-Identifier: Apache-2.0 */
#include "record_files.h"

#include "live_memory.h"
#include "message.h"
#include "recover_part.h"
#include "split.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- names ----------------------------------------------------------------------------- */

bool record_files_name(const char *file, const char *word, char *path, size_t bytes)
{
    const char *slash = strrchr(file, '/'), *dot = strrchr(file, '.');
    if (!dot || dot <= (slash ? slash + 1 : file))
        dot = file + strlen(file);
    int count = snprintf(path, bytes, "%.*s.%s%s", (int)(dot - file), file, word, dot);
    return count >= 0 && (size_t)count < bytes;
}

/* The glob for a name: its keys are anything. False: too long. */
static bool pattern_of(const char *name, char *pattern, size_t bytes)
{
    size_t used = 0;
    for (; *name && used + 3 < bytes; name++) {
        if (*name == '%' && name[1] == '%') {
            pattern[used++] = *++name;
        } else if (*name == '%') {
            pattern[used++] = '*';
            if (name[1] == '{')
                name = strchrnul(name, '}') - (strchr(name, '}') ? 0 : 1);
            else if (strchr("nhpjr", name[1]) && name[1])
                name++;
        } else {
            if (strchr("*?[\\", *name))
                pattern[used++] = '\\';
            pattern[used++] = *name;
        }
    }
    pattern[used] = '\0';
    return !*name;
}

/* ---- what is whole --------------------------------------------------------------------- */

enum whole { WHOLE, WRITTEN, BROKEN };

/* In the place of FILE and FILE.live: all that was in both. WRITTEN: by a process that goes on,
 * which may be another's altogether (a rank beside this one). */
static enum whole make_whole(const char *file, const char *live, const struct recover_end *ended)
{
    char whole[PATH_MAX];
    struct rbwp_recover_result result;
    struct rbwp_error error;
    if (snprintf(whole, sizeof whole, "%s.XXXXXX", file) >= (int)sizeof whole)
        return BROKEN;
    mode_t mask = umask(0);
    umask(mask);
    int fd = mkstemp(whole);
    if (fd < 0) {
        message("%s: %s", whole, strerror(errno));
        return BROKEN;
    }
    struct rbwp_sink sink = rbwp_sink_fd(&fd);
    bool good = recover_ended(file, live, &sink, ended, &result, &error) == RBWP_OK;
    good = fchmod(fd, 0666 & ~mask) == 0 && good;
    good = close(fd) == 0 && good;
    const bool written = good && result.is_written;
    if (written || !good || rename(whole, file) != 0) {
        unlink(whole);
        return written ? WRITTEN : BROKEN;
    }
    live_memory_remove(AT_FDCWD, live);
    return WHOLE;
}

/* ---- whose it is ----------------------------------------------------------------------- */

/* Other ranks report theirs themselves. */
static bool is_of_rank(const char *path, struct shard own)
{
    struct rbwp_reader *reader;
    if (own.of < 2 || rbwp_reader_open(path, NULL, &reader, NULL) != RBWP_OK)
        return true;
    const bool is_own = rbwp_reader_header(reader)->node == own.number;
    rbwp_reader_close(reader);
    return is_own;
}

/* ---- what is there --------------------------------------------------------------------- */

static bool has_end(const char *path, const char *end)
{
    size_t bytes = strlen(path), end_bytes = strlen(end);
    return bytes > end_bytes && strcmp(path + bytes - end_bytes, end) == 0;
}

static void files_add(struct record_files *files, const char *path, const struct timespec *since,
                      const struct recover_end *ended)
{
    char live[PATH_MAX];
    struct stat status;
    if (has_end(path, ".live") || stat(path, &status) != 0 || !S_ISREG(status.st_mode) ||
        status.st_mtim.tv_sec < since->tv_sec ||
        (status.st_mtim.tv_sec == since->tv_sec && status.st_mtim.tv_nsec < since->tv_nsec))
        return;
    for (size_t i = 0; i < files->count; i++)
        if (strcmp(files->paths[i], path) == 0)
            return;
    if (!is_of_rank(path, files->rank))
        return;
    snprintf(live, sizeof live, "%s.live", path);
    const enum whole whole = access(live, F_OK) == 0 ? make_whole(path, live, ended) : WHOLE;
    if (whole == BROKEN)
        message("%s: it is as the program left it: rbwp repair %s", path, path);
    if (whole != WHOLE)
        return;
    if (!grow_array(&files->paths, &files->room, files->count + 2, sizeof *files->paths) ||
        !(files->paths[files->count] = strdup(path)))
        return;
    files->paths[++files->count] = NULL;
}

static void add_pattern(struct record_files *files, const char *pattern,
                        const struct timespec *since, const struct recover_end *ended)
{
    glob_t found;
    if (glob(pattern, 0, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++)
        files_add(files, found.gl_pathv[i], since, ended);
    globfree(&found);
}

void record_files_find(struct record_files *files, const char *name, const struct timespec *since,
                       const struct recover_end *ended)
{
    static const char earlier[] =
        ".earlier-*"; /* what a process executed before its last program */
    char pattern[2 * PATH_MAX], others[2 * PATH_MAX];
    /* Which of several ranks that all record this one is. */
    struct shard own = {0};
    struct option_error unused;
    unsetenv("RBWP_SHARD"); /* that is a matter of files */
    if (!getenv("SLURM_STEP_ID"))
        unsetenv("SLURM_PROCID"); /* of a job's script, which is no rank */
    files->rank = shard_store(&own, "auto", &unused) ? own : (struct shard){0};
    if (!pattern_of(name, pattern, sizeof pattern))
        return;
    add_pattern(files, pattern, since, ended);
    if (strchr(name, '%') && strlen(pattern) + sizeof earlier <= sizeof others) {
        snprintf(others, sizeof others, "%s%s", pattern, earlier);
        add_pattern(files, others, since, NULL); /* it ended when the next one was executed */
    }
    if (!strchr(name, '%') && record_files_name(pattern, "[0-9]*", others, sizeof others))
        add_pattern(files, others, since, ended);
}

void record_files_free(struct record_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        free(files->paths[i]);
    free(files->paths);
}

/* ---- windows --------------------------------------------------------------------------- */

bool record_file_cut(const char *file, const char *to, bool live, int64_t from_ns, int64_t to_ns)
{
    struct split_options options = {.live = live, .output = to, .force = true};
    struct split_result result;
    struct input input;
    if (!(live ? input_open_live(&input, file) : input_open(&input, file, true)))
        return false;
    const int64_t zero_ns = rbwp_reader_header(input.reader)->zero_time_ns;
    options.filter.from = (struct filter_time){true, true, from_ns - zero_ns};
    if (to_ns != INT64_MAX)
        options.filter.to = (struct filter_time){true, true, to_ns - zero_ns};
    enum exit_code code = split_file(&options, &input, &result);
    bool any = false;
    for (uint32_t i = 0; code == EXIT_GOOD && i < result.count; i++)
        any |= result.parts[i].path != NULL;
    split_free(&result);
    (void)input_close(&input);
    return any;
}

void record_files_cut(const struct record_files *files, int64_t from_ns, int64_t to_ns)
{
    char part[PATH_MAX];
    for (size_t i = 0; i < files->count; i++) {
        const char *file = files->paths[i];
        if (record_files_name(file, "window", part, sizeof part) &&
            record_file_cut(file, part, false, from_ns, to_ns) && rename(part, file) != 0)
            message("%s: %s", part, strerror(errno));
    }
}

static bool own_folder(char path[PATH_MAX])
{
    ssize_t count = readlink("/proc/self/exe", path, PATH_MAX - 1);
    if (count <= 0)
        return false;
    path[count] = '\0';
    char *slash = strrchr(path, '/');
    if (slash)
        *slash = '\0';
    return slash != NULL;
}

/* Nobody but root, this user, and who could as well have put another rbwp there may have made the
 * file or can put another in its place. */
static bool is_trusted(const char *path)
{
    char folder[PATH_MAX];
    struct stat own, file, around;
    snprintf(folder, sizeof folder, "%.*s/.", (int)(strrchr(path, '/') - path), path);
    if (stat("/proc/self/exe", &own) != 0 || stat(path, &file) != 0 || stat(folder, &around) != 0)
        return false;
    const uid_t trusted[] = {0, geteuid(), own.st_uid};
    bool file_is = false, folder_is = false;
    for (size_t i = 0; i < sizeof trusted / sizeof *trusted; i++) {
        file_is |= file.st_uid == trusted[i];
        folder_is |= around.st_uid == trusted[i];
    }
    if (file_is && folder_is && !(file.st_mode & S_IWOTH) &&
        (!(around.st_mode & S_IWOTH) || (around.st_mode & S_ISVTX)))
        return true;
    return message_fail("%s: others than this user and root may write it: it is not taken", path);
}

/* The first file that a pattern names. A link stays one: rbwp-ptxas knows itself by its name. */
static bool take_first(const char *pattern, char path[PATH_MAX])
{
    glob_t found;
    bool taken = false;
    if (glob(pattern, 0, NULL, &found) != 0)
        return false;
    for (size_t i = 0; i < found.gl_pathc && !taken; i++)
        taken = access(found.gl_pathv[i], R_OK) == 0 && is_trusted(found.gl_pathv[i]) &&
                snprintf(path, PATH_MAX, "%s", found.gl_pathv[i]) < PATH_MAX;
    globfree(&found);
    return taken;
}

/* The program may go elsewhere before it looks. */
static bool take_given(const char *given, char path[PATH_MAX])
{
    char here[PATH_MAX] = "";
    if (given[0] != '/' && !getcwd(here, sizeof here))
        return false;
    return snprintf(path, PATH_MAX, "%s%s%s", here, *here ? "/" : "", given) < PATH_MAX &&
           access(path, R_OK) == 0;
}

bool record_find(const char *variable, const char *name, char path[PATH_MAX])
{
    static const char *const places[] = {".", "..", "../lib", "../lib64", "../lib/*"};
    const char *given = getenv(variable);
    char folder[PATH_MAX], pattern[PATH_MAX + 64];
    if (given && *given)
        return take_given(given, path);
    if (!own_folder(folder))
        return false;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(pattern, sizeof pattern, "%s/%s/%s", folder, places[i], name);
        if (take_first(pattern, path))
            return true;
    }
    return false;
}

bool record_folder_make(const char *given, char path[PATH_MAX])
{
    const char *temporary = getenv("TMPDIR");
    char name[PATH_MAX];
    bool made;
    if (given) {
        snprintf(name, sizeof name, "%s", given);
        made = mkdir(name, 0777) == 0 || errno == EEXIST;
    } else {
        snprintf(name, sizeof name, "%s/rbwp-record-XXXXXX",
                 temporary && *temporary ? temporary : "/tmp");
        made = mkdtemp(name) != NULL;
    }
    made = made && realpath(name, path) && access(path, W_OK | X_OK) == 0;
    if (!made)
        message("%s: %s: nothing is recorded", name, strerror(errno));
    return made;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status, (void)kind, (void)where;
    (void)remove(path);
    return 0;
}

void record_folder_remove(const char *path)
{
    (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
