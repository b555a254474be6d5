/* SPDX-License-Identifier: Apache-2.0 */
#include "stall_proc.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE_BYTES 4096u  /* or a part of a page */
#define READ_PAGES_MAX 16 /* at once */

/* ---- numbers in texts ------------------------------------------------------------------------ */

static int proc_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 16;
}

/* The number that *text begins with, behind which it is left. False: there is none. */
static bool take_number(const char **text, const char *end, int base, uint64_t *number_out)
{
    const char *at = *text;
    uint64_t number = 0;
    for (; at < end && proc_digit(*at) < base; at++)
        number = number * (unsigned)base + (unsigned)proc_digit(*at);
    const bool has_any = at > *text && at - *text <= 20;
    *text = at;
    *number_out = number;
    return has_any;
}

static bool take_char(const char **text, const char *end, char c)
{
    const bool is_there = *text < end && **text == c;
    *text += is_there;
    return is_there;
}

/* A blank and a number of the form 0xabc. */
static bool take_pointer(const char **text, const char *end, uint64_t *pointer_out)
{
    return take_char(text, end, ' ') && take_char(text, end, '0') && take_char(text, end, 'x') &&
           take_number(text, end, 16, pointer_out);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* The first bytes of a file as a text. False: there is none. */
static bool read_text(const char *path, char *text, size_t room)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t bytes = fd < 0 ? -1 : pread(fd, text, room - 1, 0);
    if (fd >= 0)
        close(fd);
    text[bytes > 0 ? bytes : 0] = '\0';
    return bytes > 0;
}

static bool read_of_thread(uint64_t os_id, const char *name, char *text, size_t room)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%u/%s", (unsigned)os_id, name);
    return read_text(path, text, room);
}

/* ---- threads --------------------------------------------------------------------------------- */

struct thread_state proc_parse_state(const char *text)
{
    struct thread_state state = {.system_call = -1};
    const char *end = text + strlen(text);
    uint64_t number;
    if (strncmp(text, "running", 7) == 0)
        return (struct thread_state){.is_known = true, .runs = true, .system_call = -1};
    bool good = true;
    if (take_char(&text, end, '-')) {
        good = take_number(&text, end, 10, &number) && number == 1;
    } else {
        good = take_number(&text, end, 10, &number) && number < INT32_MAX;
        state.system_call = (int64_t)number;
        for (int i = 0; good && i < 6; i++)
            good = take_pointer(&text, end, &state.arguments[i]);
    }
    state.is_known = good && take_pointer(&text, end, &state.stack) &&
                     take_pointer(&text, end, &state.code) && take_char(&text, end, '\n');
    return state.is_known ? state : (struct thread_state){.system_call = -1};
}

struct thread_state proc_thread_state(uint64_t os_id)
{
    char text[256];
    return proc_parse_state(read_of_thread(os_id, "syscall", text, sizeof text) ? text : "");
}

bool proc_is_same_state(const struct thread_state *a, const struct thread_state *b)
{
    return a->is_known == b->is_known && a->runs == b->runs && a->system_call == b->system_call &&
           a->stack == b->stack && a->code == b->code &&
           memcmp(a->arguments, b->arguments, sizeof a->arguments) == 0;
}

/* The number of a line "NAME:<tab>NUMBER". */
static bool take_field(const char *text, const char *name, int base, uint64_t *number_out)
{
    const char *at = strstr(text, name);
    if (!at)
        return false;
    at += strlen(name);
    return take_number(&at, at + strlen(at), base, number_out);
}

bool proc_parse_status(const char *text, int signal, uint64_t *waits_out, bool *is_held_out)
{
    uint64_t held;
    if (!take_field(text, "\nSigBlk:\t", 16, &held) ||
        !take_field(text, "\nvoluntary_ctxt_switches:\t", 10, waits_out))
        return false;
    *is_held_out = held >> (signal - 1) & 1;
    return true;
}

bool proc_thread_status(uint64_t os_id, int signal, uint64_t *waits_out, bool *is_held_out)
{
    char text[4096];
    return read_of_thread(os_id, "status", text, sizeof text) &&
           proc_parse_status(text, signal, waits_out, is_held_out);
}

bool proc_is_own_thread(uint64_t os_id)
{
    return os_id > 0 && os_id <= INT32_MAX && syscall(SYS_tgkill, getpid(), (pid_t)os_id, 0) == 0;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Where the other way is refused (seccomp). */
static size_t read_by_file(void *to, uint64_t address, size_t bytes)
{
    const int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    const ssize_t got = fd < 0 ? -1 : pread(fd, to, bytes, (off_t)address);
    if (fd >= 0)
        close(fd);
    return got > 0 ? (size_t)got : 0;
}

/* By pages: the call copies whole pieces, up to the first that is not all there. */
size_t proc_read_memory(void *to, uint64_t address, size_t bytes)
{
    struct iovec here = {to, bytes}, there[READ_PAGES_MAX];
    unsigned count = 0;
    for (size_t done = 0; done < bytes && count < READ_PAGES_MAX; count++) {
        const size_t left = PAGE_BYTES - (address + done) % PAGE_BYTES;
        there[count] = (struct iovec){(void *)(uintptr_t)(address + done), /* NOLINT */
                                      left < bytes - done ? left : bytes - done};
        done += there[count].iov_len;
    }
    const long got =
        syscall(SYS_process_vm_readv, getpid(), &here, 1ul, there, (unsigned long)count, 0ul);
    if (got < 0 && (errno == EPERM || errno == ENOSYS))
        return read_by_file(to, address, bytes);
    return got > 0 ? (size_t)got : 0;
}

/* START-END rwxp OFFSET MAJOR:MINOR INODE    PATH */
bool proc_parse_map(const char *line, size_t bytes, struct proc_map *map_out)
{
    const char *at = line, *end = line + bytes;
    uint64_t major, minor;
    *map_out = (struct proc_map){0};
    if (!take_number(&at, end, 16, &map_out->start) || !take_char(&at, end, '-') ||
        !take_number(&at, end, 16, &map_out->end) || end - at < 6)
        return false;
    map_out->is_code = at[3] == 'x';
    at += 6;
    if (!take_number(&at, end, 16, &map_out->offset) || !take_char(&at, end, ' ') ||
        !take_number(&at, end, 16, &major) || !take_char(&at, end, ':') ||
        !take_number(&at, end, 16, &minor) || !take_char(&at, end, ' ') ||
        !take_number(&at, end, 10, &map_out->inode))
        return false;
    map_out->device = major << 32 | minor;
    while (take_char(&at, end, ' '))
        ;
    map_out->path = at;
    map_out->path_bytes = (size_t)(end - at);
    return map_out->start < map_out->end;
}

/* The whole lines of text; how many bytes they have. */
static size_t each_line(const char *text, size_t bytes, proc_map_fn *each, void *context)
{
    size_t done = 0;
    const char *end;
    while ((end = memchr(text + done, '\n', bytes - done))) {
        const size_t line = (size_t)(end - text) - done;
        struct proc_map map;
        if (proc_parse_map(text + done, line, &map))
            each(context, &map);
        done += line + 1;
    }
    return done;
}

bool proc_each_map(proc_map_fn *each, void *context)
{
    static char text[32768]; /* a path may have 4096 bytes, each of them as \ooo */
    size_t have = 0;
    off_t offset = 0;
    ssize_t bytes;
    const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    while (have < sizeof text && (bytes = pread(fd, text + have, sizeof text - have, offset)) > 0) {
        offset += bytes;
        have += (size_t)bytes;
        const size_t done = each_line(text, have, each, context);
        memmove(text, text + done, have - done);
        have -= done;
    }
    close(fd);
    return offset > 0 && have == 0;
}

/* ---- holders --------------------------------------------------------------------------------- */

#define WAITED_FOR 2 /* what glibc's mutexes are while threads wait for them */

#if defined(__GLIBC__)
/* The kinds of mutexes have few bits (pthreadP.h). Other words that are 2 lie in locks of other
 * forms: none has a small number there, and a user of it besides. */
#define KIND_MAX 1023

static bool read_mutex(uint64_t object, pthread_mutex_t *mutex)
{
    return object && proc_read_memory(mutex, object, sizeof *mutex) == sizeof *mutex;
}

static uint64_t if_thread(int owner)
{
    return owner > 0 && proc_is_own_thread((uint64_t)owner) ? (uint64_t)owner : 0;
}

uint64_t holder_of(enum rbwp_extend_lock lock, uint64_t object)
{
    pthread_mutex_t mutex;
    pthread_rwlock_t rwlock;
    if (lock == RBWP_EXTEND_MUTEX && read_mutex(object, &mutex) && mutex.__data.__lock)
        return if_thread(mutex.__data.__owner);
    if (lock == RBWP_EXTEND_RWLOCK && object &&
        proc_read_memory(&rwlock, object, sizeof rwlock) == sizeof rwlock)
        return if_thread(rwlock.__data.__cur_writer);
    return 0;
}

static uint64_t holder_by_futex(uint64_t futex)
{
    pthread_mutex_t mutex;
    const uint64_t object = futex - offsetof(pthread_mutex_t, __data.__lock);
    if (!read_mutex(object, &mutex) || mutex.__data.__lock != WAITED_FOR ||
        mutex.__data.__kind < 0 || mutex.__data.__kind > KIND_MAX || mutex.__data.__nusers == 0)
        return 0;
    return if_thread(mutex.__data.__owner);
}

#else

uint64_t holder_of(enum rbwp_extend_lock lock, uint64_t object)
{
    (void)lock;
    (void)object;
    return 0;
}

static uint64_t holder_by_futex(uint64_t futex)
{
    (void)futex;
    return 0;
}

#endif

uint64_t holder_futex(const struct thread_state *state, uint64_t *holder_out)
{
    const int call = (int)state->arguments[1] & FUTEX_CMD_MASK;
    const bool waits = call == FUTEX_WAIT || call == FUTEX_WAIT_BITSET;
    *holder_out = 0;
    if (!state->is_known || state->system_call != SYS_futex || (!waits && call != FUTEX_LOCK_PI))
        return 0;
    if (waits && (uint32_t)state->arguments[2] == WAITED_FOR)
        *holder_out = holder_by_futex(state->arguments[0]);
    return state->arguments[0];
}
