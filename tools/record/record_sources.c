/* SPDX-License-Identifier: Apache-2.0 */
#include "record_sources.h"

#include "message.h"
#include "record_children.h"
#include "record_files.h"
#include "record_places.h"
#include "record_summary.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

/* ---- whether a library can be preloaded into a program --------------------------------------- */

/* As execvp looks for it. False: it is not there. */
static bool find_program(const char *command, char path[PATH_MAX])
{
    const char *folders = getenv("PATH");
    if (strchr(command, '/') || !folders)
        return snprintf(path, PATH_MAX, "%s", command) < PATH_MAX;
    for (const char *end; *folders; folders = *end ? end + 1 : end) {
        end = strchrnul(folders, ':');
        int count = snprintf(path, PATH_MAX, "%.*s%s%s", (int)(end - folders), folders,
                             end == folders ? "" : "/", command);
        if (count < PATH_MAX && access(path, X_OK) == 0)
            return true;
    }
    return false;
}

/* The loader leaves preloaded libraries out where the program has more rights than who runs it. */
static bool gains_rights(const char *path, const struct stat *file)
{
    if (((file->st_mode & S_ISUID) && file->st_uid != getuid()) ||
        ((file->st_mode & S_ISGID) && file->st_gid != getgid()))
        return true;
    return getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0;
}

/* What of the file is looked at. */
struct image {
    const uint8_t *bytes;
    size_t count;
};

/* So many bytes from there on; NULL: the file has not got them. */
static const void *at(const struct image *image, uint64_t offset, uint64_t count)
{
    return offset <= image->count && count <= image->count - offset ? image->bytes + offset : NULL;
}

/* The n-th of a kind; NULL: there is none. */
static const ElfW(Phdr) * find_part(const struct image *image, uint32_t type, unsigned n)
{
    const ElfW(Ehdr) *head = at(image, 0, sizeof *head);
    const ElfW(Phdr) *parts = at(image, head->e_phoff, head->e_phnum * sizeof *parts);
    for (unsigned i = 0; parts && i < head->e_phnum; i++)
        if (parts[i].p_type == type && n-- == 0)
            return &parts[i];
    return NULL;
}

/* Of what the loader maps to that address. */
static const void *at_address(const struct image *image, uint64_t address, uint64_t count)
{
    const ElfW(Phdr) * part;
    for (unsigned n = 0; (part = find_part(image, PT_LOAD, n)); n++)
        if (address >= part->p_vaddr && address - part->p_vaddr < part->p_filesz)
            return at(image, part->p_offset + (address - part->p_vaddr), count);
    return NULL;
}

/* Whether the program takes a function of that name from a library, or gives it to one. */
static bool names(const struct image *image, const char *name)
{
    const ElfW(Phdr) *part = find_part(image, PT_DYNAMIC, 0);
    const ElfW(Dyn) *entry = part ? at(image, part->p_offset, part->p_filesz) : NULL;
    uint64_t address = 0, count = 0;
    for (size_t left = entry ? part->p_filesz / sizeof *entry : 0;
         left > 0 && entry->d_tag != DT_NULL; left--, entry++) {
        address = entry->d_tag == DT_STRTAB ? entry->d_un.d_ptr : address;
        count = entry->d_tag == DT_STRSZ ? entry->d_un.d_val : count;
    }
    const void *texts = count ? at_address(image, address, count) : NULL;
    return texts && memmem(texts, count, name, strlen(name) + 1);
}

/* A script is run by a program that the system looks up: not looked at. */
static const char *refused_image(const struct image *image)
{
    static const unsigned char class = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
    const ElfW(Ehdr) *head = at(image, 0, sizeof *head);
    if (!head || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0)
        return NULL;
    if (head->e_ident[EI_CLASS] != class)
        return "is a program of another word size";
    const ElfW(Phdr) *loader = find_part(image, PT_INTERP, 0);
    if (!loader)
        return "is linked statically, so no library can be preloaded";
    const char *path = at(image, loader->p_offset, loader->p_filesz);
    if (path && memmem(path, loader->p_filesz, "/ld-musl-", 9))
        return "is linked with musl, and the library to be preloaded with glibc";
    if (names(image, "__asan_init") || names(image, "__tsan_init") || names(image, "__msan_init"))
        return "is built with a sanitizer, which stands in for the same calls";
    return NULL;
}

static const char *refused_file(int fd, const struct stat *file)
{
    void *bytes = mmap(NULL, (size_t)file->st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return NULL;
    const char *why = refused_image(&(struct image){bytes, (size_t)file->st_size});
    munmap(bytes, (size_t)file->st_size);
    return why;
}

/* Why it cannot, to follow on the program's name; NULL: nothing speaks against it, or it is not
 * found, which shows when it is run. */
static const char *program_kind_refused(const char *command)
{
    char path[PATH_MAX];
    struct stat file;
    if (!find_program(command, path) || stat(path, &file) != 0)
        return NULL;
    if (gains_rights(path, &file))
        return "gets more rights than yours (set-user-id or the like), so no library is preloaded";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    const char *why = fd < 0 ? NULL : refused_file(fd, &file);
    if (fd >= 0)
        close(fd);
    return why;
}

/* ---- record sources -------------------------------------------------------------------------- */

/* Three libraries, since what stands in for the C library's calls is only in programs whose threads
 * are wanted; and one process has one file, so it has one of them. */
static const struct {
    unsigned sources;
    const char *variable, *name;
} libraries[] = {
    {RECORD_THREADS, "RBWP_THREADS", "librbwp-threads.so"},
    {RECORD_GPU | RECORD_RANGES, "RBWP_INJECT", "librbwp-inject.so"},
    {RECORD_GPU | RECORD_RANGES | RECORD_THREADS, "RBWP_RECORD", "librbwp-record.so"},
};
enum { LIBRARIES = sizeof libraries / sizeof libraries[0] };

/* ---- which ----------------------------------------------------------------------------- */

static unsigned wanted(const struct record_options *options)
{
    return options->sources ? options->sources : RECORD_ALL;
}

/* Of which file a program that records itself has its own. */
static bool work_file(const struct record_options *options, char path[PATH_MAX])
{
    const char *file = options->output.path;
    if (wanted(options) == RECORD_WORK)
        return snprintf(path, PATH_MAX, "%s", file) < PATH_MAX;
    return record_files_name(file, strchr(file, '%') ? "work" : "work-%p", path, PATH_MAX);
}

/* The smallest library with all of them. False with the message given: it is not there. */
static bool find_library(unsigned sources, char library[PATH_MAX])
{
    int i = 0;
    while (i < LIBRARIES - 1 && sources & ~libraries[i].sources)
        i++;
    if (record_find(libraries[i].variable, libraries[i].name, library))
        return true;
    message("%s is not beside it (%s names it): nothing is recorded", libraries[i].name,
            libraries[i].variable);
    return false;
}

/* ---- the environment ------------------------------------------------------------------- */

/* In front of what is preloaded already. */
static bool set_preload(const char *library, struct record_environment *environment)
{
    const char *others = getenv("LD_PRELOAD");
    char value[2 * PATH_MAX];
    bool some = others && *others;
    int count =
        snprintf(value, sizeof value, "%s%s%s", library, some ? ":" : "", some ? others : "");
    if (strpbrk(library, ": ")) {
        message("%s: a library with a blank or colon in its name cannot be preloaded: nothing is "
                "recorded",
                library);
        return false;
    }
    return count < (int)sizeof value && record_set(environment, "LD_PRELOAD", value);
}

/* The program may go elsewhere before programs that it starts look. */
static bool set_file(const char *variable, const char *before, const char *file, const char *behind,
                     struct record_environment *environment)
{
    char here[PATH_MAX] = "", value[3 * PATH_MAX];
    if (file[0] != '/' && !getcwd(here, sizeof here)) {
        message("%s: %s: nothing is recorded", file, strerror(errno));
        return false;
    }
    int count =
        snprintf(value, sizeof value, "%s%s%s%s%s", before, here, *here ? "/" : "", file, behind);
    return count < (int)sizeof value && record_set(environment, variable, value);
}

static bool set_number(const char *variable, uint64_t number,
                       struct record_environment *environment)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, number);
    return number == 0 || record_set(environment, variable, text);
}

/* A tool may be in the program already. */
static bool is_taken(const char *variable, const char *library)
{
    const char *other = getenv(variable);
    return other && *other && strcmp(other, library) != 0;
}

static bool set_ranges(const char *library, struct record_environment *environment)
{
    if (!is_taken("NVTX_INJECTION64_PATH", library))
        return record_set(environment, "NVTX_INJECTION64_PATH", library);
    message("NVTX_INJECTION64_PATH names another tool: ranges are not recorded");
    return true;
}

static bool set_gpu(const char *library, struct record_environment *environment)
{
    if (!is_taken("CUDA_INJECTION64_PATH", library))
        return record_set(environment, "CUDA_INJECTION64_PATH", library);
    if (getenv("RBWP_INJECT_EVENTS")) /* whoever says so */
        return true;
    message("CUDA_INJECTION64_PATH names another tool: kernels are timed by events around their "
            "launches, to some microseconds");
    return record_set(environment, "RBWP_INJECT_EVENTS", "1");
}

static bool set_inject(const struct record_options *options, unsigned sources, const char *library,
                       struct record_environment *environment)
{
    const bool gpu = sources & RECORD_GPU, ranges = sources & RECORD_RANGES;
    return set_file("RBWP_INJECT_FILE", "", options->output.path, "", environment) &&
           record_set(environment, "RBWP_INJECT_WHAT",
                      gpu && ranges ? "gpu,ranges"
                      : gpu         ? "gpu"
                                    : "ranges") &&
           (!gpu || set_gpu(library, environment)) &&
           (!ranges || set_ranges(library, environment)) &&
           set_number("RBWP_INJECT_AFTER_MS", (uint64_t)options->after_ns / 1000000, environment) &&
           set_number("RBWP_INJECT_FOR_MS", (uint64_t)options->for_ns / 1000000, environment) &&
           set_number("RBWP_INJECT_SIGNAL", (uint64_t)options->capture_signal, environment) &&
           (!options->capture_range ||
            record_set(environment, "RBWP_INJECT_RANGE", options->capture_range));
}

/* Flags of its own, and those on its command line, count more. */
static bool set_work(const struct record_options *options, struct record_environment *environment)
{
    const char *theirs = getenv("RBWP_FLAGS");
    char path[PATH_MAX], behind[PATH_MAX];
    if (!work_file(options, path))
        return true;
    if (strpbrk(path, " \t")) {
        message("%s: with a blank in its name it cannot be told to the program", path);
        return wanted(options) != RECORD_WORK;
    }
    snprintf(behind, sizeof behind, "%s%s", theirs ? " " : "", theirs ? theirs : "");
    return set_file("RBWP_FLAGS", "-bgworkprofile 2 -bgworkprofile_logfile ", path, behind,
                    environment);
}

bool record_sources_set_up(const struct record_options *options, const char *command,
                           struct record_environment *environment)
{
    char library[PATH_MAX];
    const unsigned loaded = RECORD_GPU | RECORD_RANGES | RECORD_THREADS;
    const char *why = program_kind_refused(command);
    unsigned sources = wanted(options);
    if (why && sources & loaded) {
        const bool work = sources & RECORD_WORK;
        message("%s %s: %s", command, why,
                work ? "only what it records itself is recorded" : "nothing is recorded");
        sources &= ~loaded;
    } else if (sources & loaded &&
               (!find_library(sources & loaded, library) || !set_preload(library, environment))) {
        sources &= ~loaded;
    }
    if (sources & RECORD_THREADS) {
        environment->own_number = "RBWP_THREADS_PID";
        if (!set_file("RBWP_THREADS_FILE", "", options->output.path, "", environment) ||
            (!strstr(options->output.path, "%p") && !record_children_set_up(environment)))
            return false;
    }
    if (sources & (RECORD_GPU | RECORD_RANGES) &&
        !set_inject(options, sources, library, environment))
        return false;
    return sources && (!(sources & RECORD_WORK) || set_work(options, environment));
}

/* ---- behind ---------------------------------------------------------------------------- */

static void say_nothing(unsigned sources)
{
    const bool gpu = sources & RECORD_GPU, ranges = sources & RECORD_RANGES;
    if (sources == RECORD_THREADS)
        message("nothing is recorded: the program did not load librbwp-threads.so");
    else if (sources == RECORD_WORK)
        message("nothing is recorded: the program does not record itself (librbwp)");
    else
        message("nothing is recorded: %s%s%s%s", gpu ? "no GPU was used" : "",
                gpu && ranges ? ", " : "", ranges ? "no range was marked" : "",
                sources & (RECORD_THREADS | RECORD_WORK) ? ", nor did the program load a library"
                                                         : "");
}

void record_sources_finish(const struct record_options *options, const struct timespec *since)
{
    struct record_files files = {0};
    const unsigned sources = wanted(options);
    const int64_t from_ns =
        (int64_t)since->tv_sec * 1000000000 + since->tv_nsec + options->after_ns;
    char path[PATH_MAX];
    const struct recover_end end = record_end_seen();
    record_files_find(&files, options->output.path, since, sources & RECORD_THREADS ? &end : NULL);
    if (sources & RECORD_WORK && work_file(options, path))
        record_files_find(&files, path, since, NULL);
    if (files.count == 0) {
        say_nothing(sources);
        return;
    }
    if (sources & (RECORD_THREADS | RECORD_WORK) && (options->after_ns || options->for_ns))
        record_files_cut(&files, from_ns, options->for_ns ? from_ns + options->for_ns : INT64_MAX);
    const struct operands all = {files.paths, (int)files.count};
    if (record_summary_say(all, options->sources) && options->report)
        (void)record_page(options, all);
    record_files_free(&files);
}
