/* SPDX-License-Identifier: Apache-2.0 */
#include "record.h"

#include "message.h"
#include "ptx_folder.h"
#include "record_child.h"
#include "record_files.h"
#include "report.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

/* ---- libraries of ours in the program -------------------------------------------------------- */
/* What GPUs did, ranges, threads; and what it records itself. */

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
    return message_fail("%s is not beside it (%s names it): nothing is recorded", libraries[i].name,
                        libraries[i].variable);
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
    if (strpbrk(library, ": "))
        return message_fail(
            "%s: a library with a blank or colon in its name cannot be preloaded: nothing is "
            "recorded",
            library);
    return count < (int)sizeof value && record_set(environment, "LD_PRELOAD", value);
}

/* The program may go elsewhere before programs that it starts look. */
static bool set_file(const char *variable, const char *before, const char *file, const char *behind,
                     struct record_environment *environment)
{
    char here[PATH_MAX] = "", value[3 * PATH_MAX];
    if (file[0] != '/' && !getcwd(here, sizeof here))
        return message_fail("%s: %s: nothing is recorded", file, strerror(errno));
    int count =
        snprintf(value, sizeof value, "%s%s%s%s%s", before, here, *here ? "/" : "", file, behind);
    return count < (int)sizeof value && record_set(environment, variable, value);
}

/* 0: it is not set. */
static bool set_number(const char *variable, uint64_t number,
                       struct record_environment *environment)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, number);
    return number == 0 || record_set(environment, variable, text);
}

/* Likewise of the form that a duration has in flags. */
static bool set_duration(const char *variable, int64_t ns, struct record_environment *environment)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRId64 "ns", ns);
    return ns == 0 || record_set(environment, variable, text);
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

/* Flags of its own, and those on its command line, count more; but for where a repeated run records
 * to. */
static bool set_work(const struct record_options *options, struct record_environment *environment)
{
    const char *theirs = getenv("RBWP_FLAGS"), *flags = theirs ? theirs : "";
    char path[PATH_MAX], behind[PATH_MAX], stacks[64] = "", before[PATH_MAX];
    if (strlen(flags) > PATH_MAX - 256)
        return message_fail("RBWP_FLAGS is too long: nothing is recorded");
    if (!work_file(options, path))
        return true;
    if (strpbrk(path, " \t")) {
        message("%s: with a blank in its name it cannot be given to the program", path);
        return wanted(options) != RECORD_WORK;
    }
    if (options->stacks_ns)
        snprintf(stacks, sizeof stacks, " -bgworkprofile_stacks %" PRId64 "ns", options->stacks_ns);
    snprintf(behind, sizeof behind, "%s%s", theirs && !options->repeated ? " " : "",
             options->repeated ? "" : flags);
    snprintf(before, sizeof before, "-bgworkprofile %" PRIu32 "%s %s%s-bgworkprofile_logfile ",
             options->level ? options->level : 2, stacks, options->repeated ? flags : "",
             options->repeated && theirs ? " " : "");
    return set_file("RBWP_FLAGS", before, path, behind, environment);
}

/* Of a run of this command. False with the message given: nothing would be recorded. */
static bool record_sources_set_up(const struct record_options *options, const char *command,
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
            !set_duration("RBWP_THREADS_STACKS", options->stacks_ns, environment) ||
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

/* Makes the profiles whole, if the program did not get to it, and says what is in them. since: when
 * the program was started. False: there are none. */
static bool record_sources_finish(const struct record_options *options,
                                  const struct timespec *since)
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
        return false;
    }
    if (sources & (RECORD_THREADS | RECORD_WORK) && (options->after_ns || options->for_ns))
        record_files_cut(&files, from_ns, options->for_ns ? from_ns + options->for_ns : INT64_MAX);
    const struct operands all = {files.paths, (int)files.count};
    if (!options->repeated && record_summary_say(all, options->sources) && options->report)
        (void)record_page(options, all);
    record_files_free(&files);
    return true;
}

/* ---- kernels with probes --------------------------------------------------------------------- */
/* Rbwp-ptxas puts them in, librbwp-inject.so collects. */

#define LINES_SHOWN 5

/* ---- options --------------------------------------------------------------------------- */

static bool add_word(char *words, size_t room, const char *name, const char *value)
{
    size_t used = strlen(words);
    if (!value)
        return true;
    if (!*value || value[strcspn(value, " \t\n")]) {
        message_usage("--%s '%s': a blank cannot be in it", name, value);
        return false;
    }
    int count = snprintf(words + used, room - used, "%s--%s %s", used ? " " : "", name, value);
    if (count < 0 || (size_t)count >= room - used) {
        message_usage("--%s: this is too long", name);
        return false;
    }
    return true;
}

/* The options as words for rbwp-ptxas. False with the usage shown. */
static bool record_ptx_options(const struct record_options *options, char *words, size_t room)
{
    words[0] = '\0';
    return add_word(words, room, "mode", options->mode ? options->mode : "warp") &&
           add_word(words, room, "kernel", options->kernel ? options->kernel : "*") &&
           add_word(words, room, "file", options->file) &&
           add_word(words, room, "threads", options->threads) &&
           add_word(words, room, "capacity", options->capacity);
}

/* ---- before ---------------------------------------------------------------------------- */

static bool make_below(const char *folder, const char *name, char path[PATH_MAX])
{
    int count = snprintf(path, PATH_MAX, "%s/%s", folder, name);
    return count < PATH_MAX && (mkdir(path, 0777) == 0 || access(path, W_OK) == 0);
}

/* What is compiled with probes is for this run alone: the user's caches neither get it nor give. */
static bool set_caches(const char *folder, struct record_environment *environment)
{
    char triton[PATH_MAX], inductor[PATH_MAX];
    if (!make_below(folder, "triton-cache", triton) ||
        !make_below(folder, "inductor-cache", inductor))
        return message_fail("%s: no room for a cache: nothing is recorded", folder);
    return record_set(environment, "TRITON_CACHE_DIR", triton) &&
           record_set(environment, "TORCHINDUCTOR_CACHE_DIR", inductor) &&
           record_set(environment, "TRITON_CACHE_MANAGER", NULL) &&
           record_set(environment, "TRITON_REMOTE_CACHE_BACKEND", NULL);
}

/* Ours in the place of the one that would have been called. */
static bool set_assembler(const char *ours, struct record_environment *environment)
{
    const char *theirs = getenv("TRITON_PTXAS_PATH"), *real = getenv("RBWP_PTXAS");
    const char *name = theirs ? strrchr(theirs, '/') : NULL;
    if (theirs && *theirs && (!real || !*real) && strcmp(name ? name + 1 : theirs, "rbwp-ptxas"))
        if (!record_set(environment, "RBWP_PTXAS", theirs))
            return false;
    return record_set(environment, "TRITON_PTXAS_PATH", ours) &&
           record_set(environment, "TRITON_PTXAS_BLACKWELL_PATH", ours);
}

static bool set_collector(const struct record_options *options, const char *library,
                          const char *folder, struct record_environment *environment)
{
    char launches[16];
    snprintf(launches, sizeof launches, "%" PRIu32, options->launches);
    return record_set(environment, "CUDA_INJECTION64_PATH", library) &&
           record_set(environment, "RBWP_PTX_DIR", folder) &&
           (options->launches == 0 || record_set(environment, "RBWP_PTX_LAUNCHES", launches));
}

/* Of a run that leaves its launches in folder. active: NULL, or a folder with lists of probes.
 * False with the message given: nothing would be recorded. */
static bool record_ptx_set_up(const struct record_options *options, const char *folder,
                              const char *active, struct record_environment *environment)
{
    char stand_in[PATH_MAX], library[PATH_MAX], words[1024];
    const char *other = getenv("CUDA_INJECTION64_PATH");
    if (!record_find("RBWP_PTXAS_STAND_IN", "rbwp-ptxas", stand_in) ||
        !record_find("RBWP_INJECT", "librbwp-inject.so", library))
        return message_fail(
            "rbwp-ptxas and librbwp-inject.so are not beside it (RBWP_PTXAS_STAND_IN and "
            "RBWP_INJECT name them): nothing is recorded");
    if (other && *other && strcmp(other, library) != 0)
        message("in the place of %s (CUDA_INJECTION64_PATH)", other);
    return record_ptx_options(options, words, sizeof words) && set_caches(folder, environment) &&
           set_assembler(stand_in, environment) &&
           set_collector(options, library, folder, environment) &&
           record_set(environment, "RBWP_PTX_OPTIONS", words) &&
           record_set(environment, "RBWP_PTX_ACTIVE", active);
}

/* ---- behind ---------------------------------------------------------------------------- */

static bool record_ends_with(const char *text, const char *end)
{
    size_t count = strlen(text), end_count = strlen(end);
    return count > end_count && strcmp(text + count - end_count, end) == 0;
}

/* How many files of the folder end so. */
static unsigned count_files(const char *folder, const char *end)
{
    unsigned count = 0;
    DIR *opened = opendir(folder);
    for (const struct dirent *entry; opened && (entry = readdir(opened));)
        count += record_ends_with(entry->d_name, end);
    if (opened)
        closedir(opened);
    return count;
}

/* Whether a run left any launch; false with the message that says which part of the chain did
 * nothing. */
static bool record_ptx_left(const char *folder)
{
    if (count_files(folder, ".raw") > 0)
        return true;
    if (count_files(folder, ".map.json") == 0)
        message("nothing is recorded: no kernel was compiled by TRITON_PTXAS_PATH");
    else if (count_files(folder, ".ndjson") == 0)
        message("nothing is recorded: no GPU was used, or its driver did not load the collector");
    else
        message("nothing is recorded: no kernel with probes was launched to its end");
    return false;
}

static unsigned count_kernels(const struct ptx_folder_summary *summary)
{
    unsigned kernels = 0;
    for (uint32_t i = 0; i < summary->line_count; i++) {
        uint32_t before = 0;
        while (before < i && summary->lines[before].kernel != summary->lines[i].kernel)
            before++;
        kernels += before == i;
    }
    return kernels;
}

static void print_summary(const char *path, const struct ptx_folder_summary *summary)
{
    unsigned kernels = count_kernels(summary);
    message_plain("%s: %" PRIu64 " launch%s of %u kernel%s, %" PRIu64 " records%s", path,
                  summary->launches, summary->launches == 1 ? "" : "es", kernels,
                  kernels == 1 ? "" : "s", summary->records,
                  summary->dropped ? " (some found no room: --capacity)" : "");
    if (summary->skipped)
        message_plain("%" PRIu64
                      " launches are not in it (--ptx-launches, captured graphs, memory)",
                      summary->skipped);
    if (summary->line_count && summary->cycles)
        message_plain("  share     cycles     count  hottest lines");
    for (uint32_t i = 0; i < summary->line_count && i < LINES_SHOWN && summary->cycles; i++) {
        const struct ptx_hot_line *line = &summary->lines[i];
        message_plain("%6.1f%% %10" PRIu64 " %9" PRIu64 "  %.200s in %.200s",
                      100.0 * (double)line->cycles / (double)summary->cycles, line->cycles,
                      line->count, line->place_name, line->kernel_name);
    }
}

/* Makes the profile and says what is in it. False with the message given. */
static bool record_ptx_finish(const struct record_options *options, const char *folder)
{
    struct ptx_folder_summary summary = {0};
    enum exit_code code = ptx_folder_write(folder, &options->output, &summary);
    if (code != EXIT_BAD_DATA)
        print_summary(options->output.path, &summary);
    ptx_folder_summary_free(&summary);
    return code != EXIT_BAD_DATA;
}

/* ---- record ---------------------------------------------------------------------------------- */

/* Whether a file can be made there; else the message is given. */
static bool may_create(const char *path, bool force)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    int count = slash ? (int)(slash - path) + 1 : 1;
    snprintf(folder, sizeof folder, "%.*s", count, slash ? path : ".");
    if (access(folder, W_OK | X_OK) != 0) {
        message_plain("%s: %s: nothing is recorded", path, strerror(errno));
        return false;
    }
    return out_may_create(&(struct out_options){path, force}, (struct operands){0});
}

bool record_page(const struct record_options *options, struct operands files)
{
    struct report_options report = {0};
    report.reading.output = (struct out_options){options->report, options->output.force};
    report.reading.terminal.no_progress = true;
    report.reading.align.quiet = true;
    return report_files(&report, files) != EXIT_BAD_DATA;
}

/* The profile of what lies in folder, and its page. */
static void record_finish(const struct record_options *options, const char *folder)
{
    char *file[] = {(char *)(uintptr_t)options->output.path, NULL};
    if (record_ptx_finish(options, folder) && options->report)
        (void)record_page(options, (struct operands){file, 1});
}

/* One run of the program; status as record_run gives it. False: it was not set up. */
static bool run_once(const struct record_options *options, struct operands program,
                     const char *folder, const char *active, int *status_out)
{
    struct record_environment environment = {0};
    bool set_up = record_ptx_set_up(options, folder, active, &environment);
    if (!set_up)
        record_environment_free(&environment);
    *status_out = record_run(program.words, &environment);
    record_environment_free(&environment);
    return set_up;
}

/* Below folder, for one pass. */
static bool pass_folder(const char *folder, const char *name, char path[PATH_MAX])
{
    char wanted[PATH_MAX];
    return snprintf(wanted, sizeof wanted, "%s/%s", folder, name) < PATH_MAX &&
           record_folder_make(wanted, path);
}

/* The first one says which probes the second needs. */
static int run_twice(const struct record_options *options, struct operands program,
                     const char *folder)
{
    char first[PATH_MAX], second[PATH_MAX], active[PATH_MAX];
    uint32_t lists = 0;
    int status;
    if (!pass_folder(folder, "first", first) || !pass_folder(folder, "active", active) ||
        !pass_folder(folder, "second", second))
        return record_run(program.words, &(struct record_environment){0});
    if (!run_once(options, program, first, NULL, &status) || !record_ptx_left(first))
        return status;
    if (status == -1 || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        message("it is not run again after a failure");
        record_finish(options, first);
        return status;
    }
    if (ptx_folder_active(first, active, (struct ptx_sanitizing){.dead = true, .merge = true},
                          &lists) == EXIT_BAD_DATA ||
        lists == 0) {
        message("there is nothing to run again for");
        record_finish(options, first);
        return status;
    }
    message("%s runs again, with the probes that it needs", program.words[0]);
    if (run_once(options, program, second, active, &status) && record_ptx_left(second))
        record_finish(options, second);
    return status;
}

static int record_in(const struct record_options *options, struct operands program,
                     const char *folder)
{
    int status;
    if (options->passes == 2)
        return run_twice(options, program, folder);
    if (run_once(options, program, folder, NULL, &status) && record_ptx_left(folder))
        record_finish(options, folder);
    return status;
}

/* Whoever finds a file there leaves it alone, as it may be another process's of the same run. */
static void make_way(const char *file)
{
    char live[PATH_MAX];
    struct stat status;
    if (stat(file, &status) != 0 || !S_ISREG(status.st_mode))
        return;
    snprintf(live, sizeof live, "%s.live", file);
    (void)unlink(live);
    (void)unlink(file);
}

/* Where flags of a program that records itself name its file, that of this run comes in its place.
 * named: that file, behind the flag's name and '='. */
static void name_file(const char *named, char **words)
{
    static const char flag[] = "bgworkprofile_logfile";
    for (; *words; words++) {
        const char *found = **words == '-' ? strstr(*words, flag) : NULL;
        const char *behind = found ? found + strlen(flag) : NULL;
        if (found && *behind == '=')
            *words = (char *)(uintptr_t)named;
        else if (found && *behind == '\0' && words[1])
            *++words = (char *)(uintptr_t)named + sizeof flag + 1;
    }
}

int record_sources(const struct record_options *options, struct operands program, bool *left_out)
{
    struct record_environment environment = {.repeated = options->repeated};
    struct timespec since;
    char path[PATH_MAX], named[PATH_MAX + 32];
    char **words = program.words, **own = NULL; /* own: of this run alone */
    *left_out = false;
    if (options->repeated && wanted(options) & RECORD_WORK && work_file(options, path)) {
        own = calloc((size_t)program.count + 1, sizeof *own);
        if (!own) {
            message("out of memory");
            return -1;
        }
        words = memcpy(own, words, (size_t)program.count * sizeof *own);
        snprintf(named, sizeof named, "-bgworkprofile_logfile=%s", path);
        name_file(named, words);
    }
    bool set_up = record_sources_set_up(options, program.words[0], &environment);
    if (!set_up)
        record_environment_free(&environment);
    if (options->output.force)
        make_way(options->output.path);
    clock_gettime(CLOCK_REALTIME_COARSE, &since); /* the one that files are marked by */
    int status = record_run(words, &environment);
    free(own);
    record_environment_free(&environment);
    bool ran = status != -1 && !(WIFEXITED(status) && WEXITSTATUS(status) >= 126);
    *left_out = set_up && ran && record_sources_finish(options, &since);
    record_children_say(options->output.path);
    return status;
}

int record_program(const struct record_options *options, struct operands program)
{
    char folder[PATH_MAX];
    bool left;
    program.words[program.count] = NULL; /* options stood there */
    /* They are looked at before the program runs, which may take hours. */
    if (!may_create(options->output.path, options->output.force) ||
        (options->report && !may_create(options->report, options->output.force)))
        return record_end_like(record_run(program.words, &(struct record_environment){0}));
    if (!options->ptx)
        return record_end_like(record_sources(options, program, &left));
    if (!record_folder_make(options->folder, folder))
        return record_end_like(record_run(program.words, &(struct record_environment){0}));
    int status = record_in(options, program, folder);
    if (!options->folder)
        record_folder_remove(folder);
    return record_end_like(status);
}
