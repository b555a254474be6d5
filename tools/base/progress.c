/* SPDX-License-Identifier: Apache-2.0 */
/* The progress line. */
#include "progress.h"
#include "message.h"
#include "terminal_text.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FIRST_NS 1000000000
#define NEXT_NS 100000000

static struct {
    bool allowed;
    atomic_bool shown; /* whoever writes takes it away, on any thread */
    int64_t next_ns;   /* not before */
} progress;

static int64_t progress_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void progress_put(const char *text, size_t count)
{
    ssize_t ignored = write(STDERR_FILENO, text, count);
    (void)ignored; /* nobody is there to read it */
}

void progress_allow(const struct terminal_options *options)
{
    progress.allowed = !options->no_progress && isatty(STDERR_FILENO);
    progress.next_ns = progress_now_ns() + FIRST_NS;
}

void progress_at(const char *name, uint64_t done, uint64_t all)
{
    char shown[80], line[160];
    if (message_is_held() || !progress.allowed)
        return;
    int64_t now = progress_now_ns();
    if (now < progress.next_ns)
        return;
    progress.next_ns = now + NEXT_NS;
    atomic_store(&progress.shown, true);
    size_t bytes = terminal_text(name, strlen(name), shown, sizeof shown);
    int count = all ? snprintf(line, sizeof line, "\r\033[K%.*s: %" PRIu64 " %%", (int)bytes, shown,
                               (uint64_t)((double)done / (double)all * 100))
                    : snprintf(line, sizeof line, "\r\033[K%.*s: %" PRIu64 " MB", (int)bytes, shown,
                               done / 1000000);
    progress_put(line, (size_t)count);
}

void progress_clear(void)
{
    static const char clear[] = "\r\033[K";
    if (atomic_exchange(&progress.shown, false))
        progress_put(clear, sizeof clear - 1);
}
