/* SPDX-License-Identifier: Apache-2.0 */
/*
 * starve.c - linked with the tools in place of their main, it runs a command once as it is and then
 * again for each place that allocates memory, with that allocation failing or, at every other
 * place, that one and all that follow it. With STARVE_TWICE in the environment each place has both;
 * with SHARE, "2/3", it is every third place, from the second on.
 *
 *   rbwp-starved [-o FILE] ARGUMENT...    rbwp ARGUMENT...; FILE is what it writes
 *
 * Each run must either end with exit status 1 or 3 and a message that speaks of memory, or be as
 * the one that had it. No signal, no report of a sanitizer (leaks of the way out included), no
 * hang. A place is the calls that led to it: the same line is tried once for each way there.
 */
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FRAMES = 5, PLACES_MAX = 4000, SECONDS_MAX = 60 };
enum mode { COUNT, FAIL_ONE, FAIL_REST };

/* Mapped shared between the runs. */
struct places {
    atomic_uint count;
    _Atomic uint64_t place[PLACES_MAX];
    atomic_bool failed;
};

static struct places *places;
static enum mode mode;
static uint64_t target;
static _Thread_local bool inside;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t bytes);
int __real_main(int argc, char **argv);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t bytes);
int __wrap_main(int argc, char **argv);

static uint64_t this_place(void)
{
    void *frame[FRAMES + 2];
    uint64_t hash = 14695981039346656037u;
    int frames = backtrace(frame, FRAMES + 2);
    for (int i = 2; i < frames; i++) /* not these two */
        hash = (hash ^ (uint64_t)(uintptr_t)frame[i]) * 1099511628211u;
    return hash | 1;
}

static void note(uint64_t place)
{
    unsigned count = atomic_load(&places->count);
    for (unsigned i = 0; i < count; i++)
        if (atomic_load(&places->place[i]) == place)
            return;
    count = atomic_fetch_add(&places->count, 1); /* twice the same does no harm */
    if (count < PLACES_MAX)
        atomic_store(&places->place[count], place);
}

/* True if this allocation shall fail. */
__attribute__((noinline)) static bool is_refused(void)
{
    if (!places || inside)
        return false;
    if (mode == FAIL_REST && atomic_load(&places->failed))
        return true;
    if (mode == FAIL_ONE && atomic_load(&places->failed))
        return false;
    inside = true;
    uint64_t place = this_place();
    if (mode == COUNT)
        note(place);
    inside = false;
    if (mode == COUNT || place != target)
        return false;
    atomic_store(&places->failed, true);
    if (getenv("STARVED_TRACE")) { /* to look a place up: addr2line -e rbwp-starved */
        void *frame[12];
        backtrace_symbols_fd(frame, backtrace(frame, 12), STDERR_FILENO);
    }
    return true;
}

static bool refuse(void)
{
    bool refused = is_refused();
    if (refused)
        errno = ENOMEM;
    return refused;
}

void *__wrap_malloc(size_t bytes)
{
    return refuse() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return refuse() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *memory, size_t bytes)
{
    return refuse() ? NULL : __real_realloc(memory, bytes);
}

char *__wrap_strdup(const char *text)
{
    return refuse() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t bytes)
{
    return refuse() ? NULL : __real_strndup(text, bytes);
}

/* ---- runs ---------------------------------------------------------------------------------- */

struct run {
    int status;
    char *out, *err, *file;
    size_t out_bytes, err_bytes, file_bytes;
};

static char *slurp(const char *path, size_t *bytes_out)
{
    FILE *file = path ? fopen(path, "rb") : NULL;
    char *text = __real_calloc(1, 1);
    *bytes_out = 0;
    for (char part[4096]; file;) {
        size_t bytes = fread(part, 1, sizeof part, file);
        if (bytes == 0)
            break;
        text = __real_realloc(text, *bytes_out + bytes + 1);
        memcpy(text + *bytes_out, part, bytes);
        *bytes_out += bytes;
        text[*bytes_out] = 0;
    }
    if (file)
        fclose(file);
    return text;
}

static void forget(struct run *run)
{
    free(run->out);
    free(run->err);
    free(run->file);
}

static void redirect(const char *path, int as)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0 || dup2(fd, as) < 0)
        _exit(99);
    close(fd);
}

static struct run run_command(const char *written, int argc, char **argv)
{
    struct run run;
    atomic_store(&places->failed, false);
    if (written)
        (void)unlink(written);
    pid_t child = fork();
    if (child == 0) {
        redirect("starved.out", STDOUT_FILENO);
        redirect("starved.err", STDERR_FILENO);
        alarm(SECONDS_MAX);
        exit(__real_main(argc, argv));
    }
    if (child < 0 || waitpid(child, &run.status, 0) != child)
        exit(98);
    run.out = slurp("starved.out", &run.out_bytes);
    run.err = slurp("starved.err", &run.err_bytes);
    run.file = slurp(written, &run.file_bytes);
    return run;
}

static bool same(const struct run *a, const struct run *b)
{
    return a->status == b->status && a->out_bytes == b->out_bytes &&
           a->file_bytes == b->file_bytes && memcmp(a->out, b->out, a->out_bytes) == 0 &&
           memcmp(a->file, b->file, a->file_bytes) == 0;
}

/* NULL if it is as it should be. */
static const char *wrong(const struct run *run, const struct run *good)
{
    if (WIFSIGNALED(run->status))
        return WTERMSIG(run->status) == SIGALRM ? "no end" : "a signal";
    if (strstr(run->err, "Sanitizer") || strstr(run->err, "runtime error"))
        return "a sanitizer's report";
    if (same(run, good))
        return NULL;
    int code = WEXITSTATUS(run->status);
    if (code == 0 || (code != 1 && code != 3))
        return "exit status";
    return strstr(run->err, "memory") ? NULL : "no word of memory";
}

int __wrap_main(int argc, char **argv)
{
    const char *written = NULL;
    unsigned faults = 0;
    if (argc > 2 && strcmp(argv[1], "-o") == 0) {
        written = argv[2];
        argv += 2;
        argc -= 2;
    }
    argv[0] = (char[]){"rbwp"};
    void *frame[2];
    (void)backtrace(frame, 2); /* the first call allocates */
    places = mmap(NULL, sizeof *places, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (places == MAP_FAILED)
        return 97;
    struct run good = run_command(written, argc, argv);
    unsigned count = atomic_load(&places->count);
    if (WIFSIGNALED(good.status) || WEXITSTATUS(good.status) == 2 || count > PLACES_MAX)
        fprintf(stderr, "status %x, %u places: %s", (unsigned)good.status, count, good.err),
            exit(1);
    bool twice = getenv("STARVE_TWICE");
    const char *share = getenv("SHARE");
    unsigned part = 1, parts = 1;
    if (share && sscanf(share, "%u/%u", &part, &parts) != 2)
        return 96;
    for (unsigned i = 0; i < 2 * count; i++) {
        if ((!twice && (i / 2 + i) % 2) || i / 2 % parts != part - 1)
            continue;
        mode = i % 2 ? FAIL_REST : FAIL_ONE;
        target = atomic_load(&places->place[i / 2]);
        struct run run = run_command(written, argc, argv);
        const char *what = wrong(&run, &good);
        if (what) {
            fprintf(stderr, "place %u%s: %s: exit %d, says: %.2000s\n", i / 2,
                    mode == FAIL_REST ? " and all after" : "", what,
                    WIFEXITED(run.status) ? WEXITSTATUS(run.status) : -WTERMSIG(run.status),
                    run.err);
            faults++;
        }
        forget(&run);
    }
    printf("%u places\n", count);
    forget(&good);
    return faults ? 1 : 0;
}
