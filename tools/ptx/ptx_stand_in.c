/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the real one says about our text is kept from the caller until it is known that it takes it:
 * its errors would name lines that nobody wrote.
 */
#include "ptx_stand_in.h"

#include "message.h"
#include "ptx_instrument.h"
#include "temporary_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the ptxas that would have been called, had the stand-in not stood there ----------------- */
/*
 * Triton brings a ptxas, of a version that need not be the toolkit's, and often there is no
 * toolkit. What it would have called is found by what its process has loaded: its assembler lies
 * beside its library.
 */

#define TRITON_LIBRARY "/_C/libtriton.so"
#define BLACKWELL 100 /* from this architecture on Triton has another assembler */

static bool same_file(const char *a, const struct stat *own)
{
    struct stat status;
    return stat(a, &status) == 0 && status.st_dev == own->st_dev && status.st_ino == own->st_ino;
}

/* Opened: under an emulator the name alone means that. */
static struct stat own_file(void)
{
    struct stat own = {0};
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &own) != 0)
        memset(&own, 0, sizeof own);
    if (fd >= 0)
        close(fd);
    return own;
}

/* A ptxas of PATH that is not this program. */
static bool on_path(char found[PATH_MAX])
{
    const char *path = getenv("PATH");
    const struct stat own = own_file();
    while (path && *path) {
        size_t count = strcspn(path, ":");
        int made = snprintf(found, PATH_MAX, "%.*s/ptxas", (int)count, path);
        if (count > 0 && made > 0 && made < PATH_MAX && access(found, X_OK) == 0 &&
            !same_file(found, &own))
            return true;
        path += count + (path[count] == ':');
    }
    return false;
}

/* ---- Triton's -------------------------------------------------------------------------- */

/* The architecture that is assembled for; 0: none is named. */
static int architecture(char *const *argv)
{
    static const char *const options[] = {"--gpu-name=sm_", "-arch=sm_"};
    for (; *argv; argv++)
        for (size_t i = 0; i < sizeof options / sizeof *options; i++)
            if (strncmp(*argv, options[i], strlen(options[i])) == 0)
                return atoi(*argv + strlen(options[i]));
    return 0;
}

/* The folder of the package Triton that this process has loaded, from a line of its maps. */
static bool package_of(char *line, char folder[PATH_MAX])
{
    char *path = strchr(line, '/'), *end = path ? strstr(path, TRITON_LIBRARY) : NULL;
    if (!end || (end[strlen(TRITON_LIBRARY)] != '\n' && end[strlen(TRITON_LIBRARY)] != '\0'))
        return false;
    *end = '\0';
    return snprintf(folder, PATH_MAX, "%s", path) < PATH_MAX;
}

static bool caller_has_triton(char folder[PATH_MAX])
{
    char path[64], *line = NULL;
    size_t room = 0;
    bool has = false;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)getppid());
    FILE *maps = fopen(path, "re");
    while (maps && !has && getline(&line, &room, maps) > 0)
        has = package_of(line, folder);
    free(line);
    if (maps)
        fclose(maps);
    return has;
}

static bool of_triton(char *const *argv, char found[PATH_MAX])
{
    char folder[PATH_MAX];
    const char *names[] = {"ptxas-blackwell", "ptxas"};
    const struct stat own = own_file();
    if (!caller_has_triton(folder))
        return false;
    for (int i = architecture(argv) >= BLACKWELL ? 0 : 1; i < 2; i++) {
        int made = snprintf(found, PATH_MAX, "%s/backends/nvidia/bin/%s", folder, names[i]);
        if (made < PATH_MAX && access(found, X_OK) == 0 && !same_file(found, &own))
            return true;
    }
    return false;
}

/* By RBWP_PTXAS; else Triton's own, if a process with Triton called us; else that of PATH, else of
 * /usr/local/cuda. argv is what we were called with. */
static bool ptx_real_find(char *const *argv, char found[PATH_MAX])
{
    const char *given = getenv("RBWP_PTXAS");
    if (given && *given)
        return snprintf(found, PATH_MAX, "%s", given) < PATH_MAX;
    if (of_triton(argv, found) || on_path(found))
        return true;
    snprintf(found, PATH_MAX, "/usr/local/cuda/bin/ptxas");
    return access(found, X_OK) == 0;
}

/* ---- ptx stand in ---------------------------------------------------------------------------- */

#define OPTION_WORDS_MAX 64
#define CAPTURE_BYTES_MAX (16u << 20)
#define NO_PTXAS 127

struct stand_in {
    char **argv;
    int count, input; /* input: which argument is the PTX, 0: none */
    char real[PATH_MAX];
    char text_path[PATH_MAX]; /* of the text with probes */
};

/* ---- the real one ---------------------------------------------------------------------- */

/* The real one in the place of this program, with what it was called with. */
static int become_real(const struct stand_in *self)
{
    signal(SIGPIPE, SIG_DFL);
    execv(self->real, self->argv);
    message("%s: %s", self->real, strerror(errno));
    return NO_PTXAS;
}

/* ---- the text with probes -------------------------------------------------------------- */

static bool ptx_stand_in_ends_with(const char *text, const char *end)
{
    size_t count = strlen(text), end_count = strlen(end);
    return count > end_count && strcmp(text + count - end_count, end) == 0;
}

/* The one argument that is a file of PTX and no option's value. */
static int find_input(char **argv, int count)
{
    int input = 0;
    for (int i = 1; i < count; i++) {
        bool value =
            i > 1 && (strcmp(argv[i - 1], "-o") == 0 || strcmp(argv[i - 1], "--output-file") == 0);
        if (argv[i][0] == '-' || value || !ptx_stand_in_ends_with(argv[i], ".ptx"))
            continue;
        if (input)
            return 0;
        input = i;
    }
    return input;
}

/* Options from the environment; words must stay as long as they are used. */
static bool take_options(struct ptx_tool_options *tool, char *text)
{
    char *words[OPTION_WORDS_MAX], *rest = NULL;
    int count = 0;
    struct option_error error = {"it has too many words"};
    for (char *word = strtok_r(text, " \t\n", &rest); word; word = strtok_r(NULL, " \t\n", &rest)) {
        if (count == OPTION_WORDS_MAX)
            break;
        words[count++] = word;
    }
    if (count < OPTION_WORDS_MAX &&
        options_parse(ptx_option_groups, tool, words, &count, &error) == OPTIONS_DONE) {
        if (count == 0)
            return true;
        snprintf(error.text, sizeof error.text, "'%.100s' is no option", words[0]);
    }
    return message_fail("RBWP_PTX_OPTIONS: %s", error.text);
}

/* One file of the folder, named by the hash. */
struct leaf {
    char path[PATH_MAX];
    struct out_options output;
};

static bool name_leaf(struct leaf *leaf, const struct ptx_probes *probes, const char *end)
{
    int count = snprintf(leaf->path, sizeof leaf->path, "%s/%016" PRIx64 "%s",
                         getenv("RBWP_PTX_DIR"), probes->hash, end);
    leaf->output = (struct out_options){leaf->path, true};
    if (count >= (int)sizeof leaf->path)
        message("RBWP_PTX_DIR: this path is too long");
    return count < (int)sizeof leaf->path;
}

static bool keep_text(const struct ptx_probes *probes, const char *end, const char *text,
                      size_t bytes)
{
    struct leaf leaf;
    return name_leaf(&leaf, probes, end) &&
           ptx_write_text(&leaf.output, (struct operands){0}, text, bytes) == EXIT_GOOD;
}

/* HASH.map.json in the folder for maps, by which the module's rbwp_ptx_shape names it, and both
 * texts if they are asked for. */
static bool write_map(const struct ptx_instrumented *made)
{
    const char *folder = getenv("RBWP_PTX_DIR"), *keep = getenv("RBWP_PTX_KEEP");
    struct leaf leaf;
    if (!folder || !*folder)
        return true;
    if (!ptx_make_folder(folder) || !name_leaf(&leaf, &made->probes, ".map.json") ||
        ptx_instrumented_map(made, &leaf.output, (struct operands){0}) != EXIT_GOOD)
        return false;
    return !keep || strcmp(keep, "1") != 0 ||
           (keep_text(&made->probes, ".original.ptx", made->source.text, made->source.bytes) &&
            keep_text(&made->probes, ".probes.ptx", made->probes.text, made->probes.bytes));
}

/* A file of its own that only this user reads. */
static bool write_text(struct stand_in *self, const struct ptx_probes *probes)
{
    const char *folder = getenv("TMPDIR");
    int count = snprintf(self->text_path, sizeof self->text_path, "%s/rbwp-XXXXXX.ptx",
                         folder && *folder ? folder : "/tmp");
    int fd = count < PATH_MAX ? mkostemps(self->text_path, 4, O_CLOEXEC) : -1;
    if (fd < 0) {
        self->text_path[0] = '\0';
        return message_fail("no temporary file: %s", strerror(errno));
    }
    bool written = write_all(fd, probes->text, probes->bytes);
    if (!written)
        message("%s: %s", self->text_path, strerror(errno));
    close(fd);
    return written;
}

/* With the probes that a first run showed to be of use, where it left a list of them. */
static bool instrument(struct ptx_instrumented *made, struct ptx_tool_options *tool,
                       const char *input)
{
    const char *folder = getenv("RBWP_PTX_ACTIVE");
    char path[PATH_MAX];
    if (!ptx_instrument(made, tool, input))
        return false;
    if (!folder || !*folder || tool->active)
        return true;
    int count =
        snprintf(path, sizeof path, "%s/%016" PRIx64 ".active.json", folder, made->probes.hash);
    if (count >= (int)sizeof path || access(path, F_OK) != 0)
        return true;
    ptx_instrumented_free(made);
    tool->active = path;
    return ptx_instrument(made, tool, input);
}

/* False with the message given. */
static bool make_text(struct stand_in *self)
{
    struct ptx_tool_options tool = {.probes.lane = PTX_LANE_MODE};
    struct ptx_instrumented made;
    const char *given = getenv("RBWP_PTX_OPTIONS");
    char *options = strdup(given ? given : "--mode warp --kernel *");
    if (!options)
        return message_fail("out of memory");
    bool good = take_options(&tool, options) && instrument(&made, &tool, self->argv[self->input]);
    if (good) {
        good = write_text(self, &made.probes) && write_map(&made);
        ptx_instrumented_free(&made);
    }
    free(options);
    return good;
}

/* ---- running --------------------------------------------------------------------------- */

static _Noreturn void child(const struct stand_in *self, int said)
{
    char **argv = calloc((size_t)self->count + 1, sizeof *argv);
    if (argv && dup2(said, STDOUT_FILENO) >= 0 && dup2(said, STDERR_FILENO) >= 0) {
        memcpy(argv, self->argv, (size_t)self->count * sizeof *argv);
        argv[self->input] = (char *)(uintptr_t)self->text_path;
        signal(SIGPIPE, SIG_DFL);
        execv(self->real, argv);
    }
    _exit(NO_PTXAS);
}

/* What the real one said, to standard error: it says all there, but -v and --help. */
static void hand_on(int said)
{
    char bytes[4096];
    ssize_t count;
    for (off_t at = 0; at < CAPTURE_BYTES_MAX; at += count) {
        count = pread(said, bytes, sizeof bytes, at);
        if (count <= 0 || !write_all(STDERR_FILENO, bytes, (size_t)count))
            return;
    }
}

/* Whether the real one took the text with probes; what it said goes to said. */
static bool run_real(const struct stand_in *self, int said)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0)
        child(self, said);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    bool took = pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!took)
        message("%s does not take the text with probes", self->real);
    return took;
}

/* ---- one warning ----------------------------------------------------------------------- */

/* Messages become one line: they go into a file (messages: its descriptor, -1: none), and the first
 * line of it stands in the warning. */
struct hush {
    int messages, standard_error;
};

static struct hush hush_begin(void)
{
    struct hush hush = {temporary_file(), dup(STDERR_FILENO)};
    if (hush.messages >= 0 && hush.standard_error >= 0)
        dup2(hush.messages, STDERR_FILENO);
    return hush;
}

static void hush_end(struct hush hush, char *first, size_t room)
{
    first[0] = '\0';
    if (hush.standard_error >= 0) {
        dup2(hush.standard_error, STDERR_FILENO);
        close(hush.standard_error);
    }
    if (hush.messages < 0)
        return;
    ssize_t count = pread(hush.messages, first, room - 1, 0);
    first[count > 0 ? count : 0] = '\0';
    first[strcspn(first, "\n")] = '\0';
    close(hush.messages);
}

int ptx_stand_in(int count, char **argv)
{
    struct stand_in self = {.argv = argv, .count = count, .input = find_input(argv, count)};
    char why[512];
    if (!ptx_real_find(argv, self.real)) {
        message("no ptxas: set RBWP_PTXAS to its path");
        return NO_PTXAS;
    }
    if (!self.input)
        return become_real(&self);
    struct hush hush = hush_begin();
    int said = temporary_file();
    bool took = said >= 0 && make_text(&self) && run_real(&self, said);
    hush_end(hush, why, sizeof why);
    if (*self.text_path)
        unlink(self.text_path);
    if (took) {
        hand_on(said);
        return 0;
    }
    const char *own = message_program();
    size_t skip = strncmp(why, own, strlen(own)) == 0 ? strlen(own) + 2 : 0;
    message("%s goes on without probes: %s", argv[self.input],
            skip <= strlen(why) ? why + skip : "");
    return become_real(&self);
}
