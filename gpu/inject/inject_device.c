/* SPDX-License-Identifier: Apache-2.0 */
#include "inject_device.h"

#include "bytes.h"
#include "held.h"
#include "inject_session.h"
#include "inject_log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* ---- inject folder --------------------------------------------------------------------------- */
/*
 * What recorded launches leave in the folder of RBWP_PTX_DIR.
 *
 * PID-N.raw, a buffer as it was (zero pages are holes), and a line for each in launches-PID.ndjson,
 * which is appended with one write, so that what was recorded before a crash is whole. Its first
 * line says what the host's clock was worth. docs/design/ptx.md has the members.
 */

#define PAGE_BYTES 4096
#define NAME_BYTES_MAX 1024 /* of a kernel; longer ones are cut */

static char folder[PATH_MAX];
static struct held lines = {.fd = -1}; /* launches-PID.ndjson */
static atomic_uint launches;

/* Appends to a file of its own: a process that executes another program has it already. Who else
 * may write to the folder could have put another file, or a link, in its place. */
static int open_own(const char *path)
{
    const int flags = O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    struct stat file;
    int fd = open(path, flags, 0666);
    if (fd < 0 || (fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && file.st_nlink == 1 &&
                   file.st_uid == geteuid()))
        return fd;
    close(fd);
    errno = EEXIST;
    return -1;
}

/* The descriptor is above those that a program closes and opens again by number. */
static int open_high(const char *path)
{
    int fd = open_own(path);
    int high = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 100) : -1;
    if (high >= 0)
        close(fd);
    return high >= 0 ? high : fd;
}

/* ---- lines ----------------------------------------------------------------------------- */

struct text {
    char *bytes;
    size_t used, room;
};

static void device_add(struct text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void device_add(struct text *text, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int count = vsnprintf(text->bytes + text->used, text->room - text->used, format, list);
    va_end(list);
    text->used += count > 0 ? (size_t)count : 0;
    if (text->used >= text->room)
        text->used = text->room - 1;
}

/* A string of JSON; bytes that are no ASCII are written as Latin 1. */
static void add_string(struct text *text, const char *name, const char *value)
{
    device_add(text, "\"%s\":\"", name);
    for (size_t i = 0; value[i] && i < NAME_BYTES_MAX; i++) {
        unsigned char byte = (unsigned char)value[i];
        if (byte == '"' || byte == '\\')
            device_add(text, "\\%c", byte);
        else
            device_add(text, byte < ' ' || byte > '~' ? "\\u%04x" : "%c", byte);
    }
    device_add(text, "\",");
}

static void add_who(struct text *text, uint64_t hash, const char *kernel)
{
    char thread[32] = "";
    prctl(PR_GET_NAME, thread);
    device_add(text, "\"map\":\"%016" PRIx64 ".map.json\",", hash);
    add_string(text, "kernel", kernel);
    device_add(text, "\"pid\":%d,\"tid\":%ld,", (int)getpid(), syscall(SYS_gettid));
    add_string(text, "thread", thread);
}

static void add_launch(struct text *text, const struct inject_launch_line *line)
{
    device_add(text, "\"device\":%d,\"sms\":%d,\"clock_hz\":%d000,", line->device, line->sms,
               line->clock_khz);
    add_string(text, "device_name", line->device_name);
    device_add(text, "\"stream\":%" PRIu64 ",", line->stream);
    device_add(text, "\"grid\":[%u,%u,%u],\"block\":[%u,%u,%u],", line->grid[0], line->grid[1],
               line->grid[2], line->block[0], line->block[1], line->block[2]);
    device_add(text, "\"correlation\":%" PRIu32 ",", line->correlation);
    device_add(text, "\"launch_ns\":%" PRIu64 ",\"launched_ns\":%" PRIu64 ",\"done_ns\":%" PRIu64,
               line->launch_ns, line->launched_ns, line->done_ns);
    device_add(text, ",\"anchors\":[");
    for (int i = 0; i < line->anchor_count; i++)
        device_add(text,
                   "%s{\"device_ns\":%" PRIu64 ",\"host_ns\":%" PRIu64 ",\"bound_ns\":%" PRIu64 "}",
                   i ? "," : "", line->anchors[i].device_ns, line->anchors[i].host_ns,
                   line->anchors[i].bound_ns);
    device_add(text,
               "],\"dropped\":%" PRIu64 ",\"start_ns\":%" PRIu64 ",\"stop_ns\":%" PRIu64 "}\n",
               line->dropped, line->start_ns, line->stop_ns);
}

static bool write_bytes(int fd, const void *bytes, size_t count)
{
    for (size_t done = 0; done < count;) {
        ssize_t wrote = write(fd, (const char *)bytes + done, count - done);
        if (wrote < 0 && errno != EINTR)
            return false;
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    return true;
}

/* ---- beginning ------------------------------------------------------------------------- */

static void add_command(struct text *text)
{
    char command[NAME_BYTES_MAX] = "";
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t count = fd >= 0 ? read(fd, command, sizeof command - 1) : 0;
    for (ssize_t i = 0; i + 1 < count; i++)
        command[i] = command[i] ? command[i] : ' ';
    if (fd >= 0)
        close(fd);
    add_string(text, "command", command);
}

/* Both clocks at one instant, and who counts by them. */
static bool write_clock(void)
{
    char room[8 * NAME_BYTES_MAX], host[256] = "";
    struct text text = {room, 0, sizeof room};
    struct timespec steady, wall;
    gethostname(host, sizeof host - 1);
    device_add(&text, "{\"clock\":\"CLOCK_MONOTONIC\",\"pid\":%d,", (int)getpid());
    add_string(&text, "host", host);
    add_command(&text);
    add_string(&text, "title", program_invocation_short_name);
    clock_gettime(CLOCK_MONOTONIC, &steady);
    clock_gettime(CLOCK_REALTIME, &wall);
    device_add(&text, "\"monotonic_ns\":%lld%09ld,\"wall_ns\":%lld%09ld}\n",
               (long long)steady.tv_sec, steady.tv_nsec, (long long)wall.tv_sec, wall.tv_nsec);
    return write_bytes(held_fd(&lines), text.bytes, text.used);
}

bool inject_folder_open(const char *path)
{
    static char name[PATH_MAX];
    bool good = (mkdir(path, 0777) == 0 || errno == EEXIST) &&
                realpath(path, folder); /* the program may go elsewhere */
    if (good && snprintf(name, sizeof name, "%s/launches-%d.ndjson", folder, (int)getpid()) <
                    (int)sizeof name) {
        held_take(&lines, open_high(name));
        held_name(&lines, NULL, name, O_WRONLY | O_APPEND);
    }
    good = lines.fd >= 0 && write_clock();
    if (!good)
        inject_log_once("kernels are not recorded: %s: %s", path, strerror(errno));
    return good;
}

static bool device_fail(void)
{
    return inject_log_once("%s: %s: launches are missing", folder, strerror(errno));
}

/* ---- raw files ------------------------------------------------------------------------- */

static bool is_zero(const uint8_t *bytes, size_t count)
{
    return bytes[0] == 0 && memcmp(bytes, bytes + 1, count - 1) == 0;
}

static bool write_sparse(int fd, const uint8_t *bytes, size_t count)
{
    for (size_t at = 0, some; at < count; at += some) {
        some = count - at < PAGE_BYTES ? count - at : PAGE_BYTES;
        if (is_zero(bytes + at, some) ? lseek(fd, (off_t)some, SEEK_CUR) < 0
                                      : !write_bytes(fd, bytes + at, some))
            return false;
    }
    return ftruncate(fd, (off_t)count) == 0;
}

/* A new file by the next number that is free; its path. */
static int open_raw(char path[PATH_MAX], unsigned *number_out)
{
    int fd;
    do {
        *number_out = atomic_fetch_add(&launches, 1) + 1;
        if (snprintf(path, PATH_MAX, "%s/%d-%u.raw", folder, (int)getpid(), *number_out) >=
            PATH_MAX) {
            errno = ENAMETOOLONG;
            return -1;
        }
        fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0666);
    } while (fd < 0 && errno == EEXIST);
    return fd;
}

static bool write_raw(unsigned *number_out, const uint8_t *buffer, size_t bytes,
                      const uint8_t *tail, size_t tail_bytes)
{
    char path[PATH_MAX];
    int fd = open_raw(path, number_out);
    if (fd < 0)
        return false;
    bool good = write_sparse(fd, buffer, bytes) && lseek(fd, 0, SEEK_END) >= 0 &&
                write_bytes(fd, tail, tail_bytes);
    good = close(fd) == 0 && good;
    if (!good)
        unlink(path);
    return good;
}

bool inject_folder_launch(const struct inject_launch_line *line, const uint8_t *buffer,
                          size_t bytes, const uint8_t *tail, size_t tail_bytes)
{
    char room[8 * NAME_BYTES_MAX];
    struct text text = {room, 0, sizeof room};
    unsigned number;
    if (write_raw(&number, buffer, bytes, tail, tail_bytes)) {
        device_add(&text, "{\"raw\":\"%d-%u.raw\",", (int)getpid(), number);
        add_who(&text, line->hash, line->kernel);
        add_launch(&text, line);
        if (write_bytes(held_fd(&lines), text.bytes, text.used))
            return true;
    }
    return device_fail();
}

void inject_folder_skipped(uint64_t hash, const char *kernel, const char *why, uint64_t count)
{
    char room[8 * NAME_BYTES_MAX];
    struct text text = {room, 0, sizeof room};
    device_add(&text, "{\"skipped\":\"%s\",", why);
    add_who(&text, hash, kernel);
    if (count)
        device_add(&text, "\"count\":%" PRIu64 "}\n", count);
    else
        text.bytes[text.used - 1] = '}', device_add(&text, "\n");
    if (!write_bytes(held_fd(&lines), text.bytes, text.used))
        device_fail();
}

/* ---- inject device --------------------------------------------------------------------------- */

#define ANCHOR_TRIES 4
#define ANCHOR_NS 50000000 /* no answer by then: the device is full, or gone */
#define SPIN_NS 50000
#define BUFFER_BYTES_MIN (1u << 20)
#define NAP_NS 50000

static const char stamp_ptx[] = ".version 6.0\n"
                                ".target sm_50\n"
                                ".address_size 64\n"
                                ".visible .entry rbwp_clock(.param .u64 to)\n"
                                "{\n"
                                "    .reg .u64 %rd<3>;\n"
                                "    ld.param.u64 %rd1, [to];\n"
                                "    cvta.to.global.u64 %rd1, %rd1;\n"
                                "    mov.u64 %rd2, %globaltimer;\n"
                                "    st.volatile.global.u64 [%rd1], %rd2;\n"
                                "    ret;\n"
                                "}\n";

/* None is ever taken out: a context's end comes while the driver may hold locks of its own, so
 * that side takes none of ours. */
static _Atomic(struct inject_device *) device_devices;
static pthread_mutex_t device_making = PTHREAD_MUTEX_INITIALIZER;

bool inject_attach(void *context, struct inject_attached *saved)
{
    if (!context || cu.cuCtxPushCurrent_v2(context) != DRIVER_OK)
        return false;
    saved->mode = DRIVER_CAPTURE_RELAXED;
    (void)cu.cuThreadExchangeStreamCaptureMode(&saved->mode);
    return true;
}

void inject_detach(const struct inject_attached *saved)
{
    driver_capture_mode mode = saved->mode;
    cuda_context popped;
    (void)cu.cuThreadExchangeStreamCaptureMode(&mode);
    (void)cu.cuCtxPopCurrent_v2(&popped);
}

/* ---- contexts -------------------------------------------------------------------------- */

/* Without it there are no anchors, and the records have all the same. */
static void make_stamp(struct inject_device *device)
{
    void *module = NULL, *stamped = NULL;
    if (cu.cuMemAllocHost_v2(&stamped, INJECT_STAMPS * sizeof(uint64_t)) != DRIVER_OK)
        return;
    memset(stamped, 0, INJECT_STAMPS * sizeof(uint64_t));
    device->stamped = stamped;
    if (cu.cuModuleLoadData(&module, stamp_ptx) != DRIVER_OK ||
        cu.cuModuleGetFunction(&device->stamp, module, "rbwp_clock") != DRIVER_OK)
        device->stamp = NULL;
}

/* What is not known stays 0 or empty. */
static void device_describe(struct inject_device *device)
{
    if (cu.cuDeviceGetAttribute(&device->clock_khz, CUDA_ATTRIBUTE_CLOCK_KHZ, device->number) !=
            DRIVER_OK ||
        device->clock_khz < 0)
        device->clock_khz = 0;
    if (cu.cuDeviceGetAttribute(&device->sms, CUDA_ATTRIBUTE_MULTIPROCESSOR_COUNT,
                                device->number) != DRIVER_OK)
        device->sms = 0;
    if (cu.cuDeviceGetName(device->name, sizeof device->name - 1, device->number) != DRIVER_OK)
        device->name[0] = '\0';
}

static struct inject_device *make_device(void *context)
{
    struct inject_device *device = calloc(1, sizeof *device);
    if (!device)
        return NULL;
    device->context = context;
    pthread_mutex_init(&device->lock, NULL);
    if (cu.cuCtxGetDevice(&device->number) != DRIVER_OK ||
        cu.cuStreamCreate(&device->stream, DRIVER_STREAM_NON_BLOCKING) != DRIVER_OK ||
        cu.cuEventCreate(&device->done, DRIVER_EVENT_DISABLE_TIMING) != DRIVER_OK) {
        free(device); /* what was made goes with the context */
        return NULL;
    }
    device_describe(device);
    make_stamp(device);
    return device;
}

static struct inject_device *find_device(void *context)
{
    struct inject_device *device = atomic_load(&device_devices);
    while (device && (device->context != context || atomic_load(&device->gone)))
        device = device->next;
    return device;
}

struct inject_device *inject_device_get(void *context)
{
    struct inject_device *device = find_device(context);
    if (device)
        return device;
    pthread_mutex_lock(&device_making);
    device = find_device(context);
    if (!device && (device = make_device(context))) {
        device->next = atomic_load(&device_devices);
        atomic_store(&device_devices, device);
    }
    pthread_mutex_unlock(&device_making);
    return device;
}

void inject_device_gone(void *context)
{
    struct inject_device *device = atomic_load(&device_devices);
    for (; device; device = device->next)
        if (device->context == context)
            atomic_store(&device->gone, true);
}

/* ---- waiting, memory ------------------------------------------------------------------- */

/* The driver's own waiting could not be given up. */
int inject_wait(void *event, uint64_t until_ns)
{
    uint64_t spin_until_ns = inject_now_ns() + SPIN_NS;
    for (;;) {
        int code = cu.cuEventQuery(event);
        uint64_t now_ns = inject_now_ns();
        if (code != DRIVER_NOT_READY || now_ns >= until_ns)
            return code;
        if (now_ns > spin_until_ns)
            nanosleep(&(struct timespec){0, NAP_NS}, NULL);
    }
}

int inject_read(struct inject_device *device, void *to, cuda_pointer from, size_t bytes)
{
    driver_event copied;
    int code = cu.cuEventCreate(&copied, DRIVER_EVENT_DISABLE_TIMING);
    if (code != DRIVER_OK)
        return code;
    code = cu.cuMemcpyDtoHAsync_v2(to, from, bytes, device->stream);
    if (code == DRIVER_OK)
        code = cu.cuEventRecord(copied, device->stream);
    if (code == DRIVER_OK)
        code = inject_wait(copied, UINT64_MAX);
    (void)cu.cuEventDestroy_v2(copied);
    return code;
}

bool inject_buffer(struct inject_device *device, size_t bytes)
{
    size_t left = 0, all, room = BUFFER_BYTES_MIN;
    if (bytes <= device->buffer_bytes)
        return true;
    while (room < bytes) /* so all that were ever made are no more than the last twice */
        room *= 2;
    cuda_pointer buffer;
    if (cu.cuMemGetInfo_v2(&left, &all) != DRIVER_OK || room > left / 2 ||
        cu.cuMemAlloc_v2(&buffer, room) != DRIVER_OK)
        return false;
    device->buffer = buffer;
    device->buffer_bytes = room;
    return true;
}

/* ---- the clock ------------------------------------------------------------------------- */

void inject_stamp(struct inject_device *device, unsigned which, void *stream)
{
    volatile uint64_t *to = device->stamped ? device->stamped + which : NULL;
    void *arguments[] = {&to};
    if (!device->stamp)
        return;
    *to = 0;
    if (cu.cuLaunchKernel(device->stamp, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL) != DRIVER_OK)
        device->stamp = NULL;
}

uint64_t inject_stamped(const struct inject_device *device, unsigned which)
{
    const uint64_t word = device->stamped[which];
    return load_le64(&word);
}

/* One reading, on our own stream; false: it does not answer, and shall not be asked again. */
static bool read_clock(struct inject_device *device, struct inject_anchor *anchor)
{
    const unsigned which = INJECT_STAMPS - 1;
    uint64_t before_ns = inject_now_ns(), after_ns;
    inject_stamp(device, which, device->stream);
    do
        after_ns = inject_now_ns();
    while (device->stamp && !inject_stamped(device, which) && after_ns - before_ns < ANCHOR_NS);
    after_ns = inject_now_ns();
    uint64_t device_ns = inject_stamped(device, which);
    if (!device->stamp || !device_ns) {
        device->stamp = NULL;
        return false;
    }
    *anchor = (struct inject_anchor){device_ns, before_ns + (after_ns - before_ns) / 2,
                                     (after_ns - before_ns + 1) / 2};
    return true;
}

bool inject_anchor(struct inject_device *device, struct inject_anchor *anchor)
{
    struct inject_anchor one;
    bool any = false;
    for (int i = 0; i < ANCHOR_TRIES && device->stamp && read_clock(device, &one); i++) {
        if (!any || one.bound_ns < anchor->bound_ns)
            *anchor = one;
        any = true;
    }
    return any;
}
