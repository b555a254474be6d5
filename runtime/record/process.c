/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From /proc: its files are short, and each is read at once.
 *
 * A process id is given again, but not twice in one tick of the start time;
 * the boot id is made anew by each start of the kernel, and is the same in all
 * containers on it.
 */
#include "process.h"

#include "live.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { FIELDS_BEFORE_START = 19 }; /* behind the name: state is the first */

static size_t read_file(const char *path, char *text, size_t room)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t bytes = fd < 0 ? 0 : read(fd, text, room);
    if (fd >= 0)
        close(fd);
    return bytes > 0 ? (size_t)bytes : 0;
}

/* The name may hold anything, blanks and brackets too: what counts is behind its last bracket. */
static int64_t read_start_ns(void)
{
    char text[1024];
    size_t bytes = read_file("/proc/self/stat", text, sizeof text - 1);
    text[bytes] = '\0';
    const char *at = strrchr(text, ')');
    for (int field = 0; at && field <= FIELDS_BEFORE_START; field++)
        at = strchr(at + 1, ' ');
    long per_second = sysconf(_SC_CLK_TCK);
    if (!at || per_second <= 0)
        return 0;
    return (int64_t)strtoll(at, NULL, 10) * (1000000000 / per_second);
}

static int hex_digit(char digit)
{
    const char *digits = "0123456789abcdef", *at = digit ? strchr(digits, digit) : NULL;
    return at ? (int)(at - digits) : -1;
}

static void read_boot_id(uint8_t *boot_id)
{
    char text[64];
    size_t bytes = read_file("/proc/sys/kernel/random/boot_id", text, sizeof text);
    unsigned digits = 0;
    uint8_t id[16] = {0};
    for (size_t i = 0; i < bytes && digits < 2 * sizeof id; i++) {
        int digit = hex_digit(text[i]);
        if (digit >= 0) {
            id[digits / 2] = (uint8_t)(id[digits / 2] << 4 | digit);
            digits++;
        }
    }
    if (digits == 2 * sizeof id)
        memcpy(boot_id, id, sizeof id);
}

static void read_command(struct process_facts *facts)
{
    size_t bytes = read_file("/proc/self/cmdline", facts->command, sizeof facts->command);
    if (bytes > 0 && facts->command[bytes - 1] == '\0')
        bytes--;
    facts->command_bytes = (uint32_t)bytes;
}

/* The first argument, which many servers write over, without the folder of the program. */
static void find_title(struct process_facts *facts)
{
    const char *text = facts->command;
    size_t bytes = strnlen(text, facts->command_bytes);
    const char *blank = memchr(text, ' ', bytes);
    const char *slash = memrchr(text, '/', blank ? (size_t)(blank - text) : bytes);
    const char *title = slash ? slash + 1 : text;
    bytes -= (size_t)(title - text);
    facts->info.title = title;
    facts->info.title_bytes =
        (uint16_t)(bytes < PROCESS_TITLE_BYTES_MAX ? bytes : PROCESS_TITLE_BYTES_MAX);
}

void process_look(struct process_facts *facts)
{
    *facts = (struct process_facts){.info = {.start_ns = read_start_ns()}};
    read_boot_id(facts->info.boot_id);
    read_command(facts);
    find_title(facts);
}

static int64_t now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

bool process_was_there(int64_t realtime_ns, int64_t monotonic_ns)
{
    const int64_t start_ns = read_start_ns(), age_ns = now_ns(CLOCK_BOOTTIME) - start_ns;
    const int64_t realtime_ago_ns = now_ns(CLOCK_REALTIME) - realtime_ns;
    const int64_t monotonic_ago_ns = now_ns(CLOCK_MONOTONIC) - monotonic_ns;
    return start_ns > 0 && realtime_ago_ns >= 0 && realtime_ago_ns <= age_ns &&
           monotonic_ago_ns >= 0 && monotonic_ago_ns <= age_ns;
}

void process_log(void)
{
    char host[256] = "";
    struct process_facts known;
    struct __attribute__((packed)) {
        uint8_t boot_id[16];
        int64_t start_ns;
    } entry;
    process_look(&known);
    memcpy(entry.boot_id, known.info.boot_id, sizeof entry.boot_id);
    entry.start_ns = known.info.start_ns;
    live_log(LIVE_PROCESS, &entry, sizeof entry, known.info.title, known.info.title_bytes);
    if (known.command_bytes)
        live_log(LIVE_COMMAND, NULL, 0, known.command, known.command_bytes);
    if (gethostname(host, sizeof host - 1) == 0)
        live_log(LIVE_HOST, NULL, 0, host, strlen(host));
}
