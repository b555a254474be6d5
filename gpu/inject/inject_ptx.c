/* SPDX-License-Identifier: Apache-2.0 */
#include "inject_ptx.h"

#include "bytes.h"
#include "inject_session.h"
#include "ptx_cell.h"
#include "ptx_probe.h"

#include <stdlib.h>
#include <string.h>

/* ---- one launch with its module's variable set ----------------------------------------------- */
/*
 * What its probes stored, on the disk.
 *
 * The variable is set and cleared on the launch's stream, right before and behind it, so what the
 * program put there earlier runs with probes that are off. Then it is waited for: recorded launches
 * are synchronous, up to RBWP_PTX_WAIT_MS, when it is given up (a kernel may wait for what this
 * very thread does next).
 */

#define INJECT_RECORDED (-1)

struct inject_recording {
    struct inject_site site;
    struct inject_launch launch;
    struct inject_launch_line line;
};

enum { STAMP_BEFORE, STAMP_BEHIND };

/* ---- streams --------------------------------------------------------------------------- */

/* The handle of streams per thread means another one on each: it goes by the thread, odd. */
static void *pending_name(const struct inject_launch *launch)
{
    static _Thread_local char thread[2] __attribute__((aligned(2)));
    return launch->stream == CUDA_STREAM_PER_THREAD ? (void *)&thread[1] : launch->stream;
}

static bool other_thread(const void *pending)
{
    return (uintptr_t)pending > 2 && ((uintptr_t)pending & 1);
}

/* What to keep of a launch that is not recorded. */
static void inject_record_pending(const struct inject_site *site,
                                  const struct inject_launch *launch)
{
    struct inject_module *module = site->module;
    void *name = pending_name(launch), *none;
    driver_capture_status status = DRIVER_CAPTURE_NONE;
    if (atomic_load(&module->closed))
        return;
    if (cu.cuStreamIsCapturing(launch->stream, &status) != DRIVER_OK ||
        status != DRIVER_CAPTURE_NONE) {
        atomic_store(&module->closed, true);
        return;
    }
    for (int i = 0; i < INJECT_PENDING; i++)
        if (atomic_load(&module->pending[i]) == name)
            return;
    for (int i = 0; i < INJECT_PENDING; i++) {
        none = NULL;
        if (atomic_compare_exchange_strong(&module->pending[i], &none, name))
            return;
    }
    atomic_store(&module->closed, true);
}

/* Attached. What could still be running with the variable that we are about to set is over. */
static bool wait_pending(const struct inject_recording *recording, uint64_t until_ns)
{
    struct inject_module *module = recording->site.module;
    for (int i = 0; i < INJECT_PENDING; i++) {
        void *stream = atomic_load(&module->pending[i]);
        driver_capture_status status = DRIVER_CAPTURE_NONE;
        if (!stream || stream == pending_name(&recording->launch))
            continue; /* the stream's own order is enough */
        if (other_thread(stream) || cu.cuStreamIsCapturing(stream, &status) != DRIVER_OK ||
            status != DRIVER_CAPTURE_NONE ||
            cu.cuEventRecord(module->device->done, stream) != DRIVER_OK ||
            inject_wait(module->device->done, until_ns) != DRIVER_OK)
            return false;
        atomic_store(&module->pending[i], NULL);
    }
    return true;
}

/* ---- before ---------------------------------------------------------------------------- */

/* In one piece where that can be: half an address would be one that nobody has. */
static int set_variable(const struct inject_recording *recording, uint64_t value)
{
    cuda_pointer variable = recording->site.module->buffer;
    void *stream = recording->launch.stream;
    if (cu.cuStreamWriteValue64_v2 &&
        cu.cuStreamWriteValue64_v2(stream, variable, value, 0) == DRIVER_OK)
        return DRIVER_OK;
    int code = cu.cuMemsetD32Async(variable, (unsigned)value, 1, stream);
    int high = cu.cuMemsetD32Async(variable + 4, (unsigned)(value >> 32), 1, stream);
    return code != DRIVER_OK ? code : high;
}

static void add_anchor(struct inject_recording *recording)
{
    struct inject_launch_line *line = &recording->line;
    line->anchor_count +=
        inject_anchor(recording->site.module->device, &line->anchors[line->anchor_count]);
}

/* device->lock is held. */
static int ptx_prepare(struct inject_recording *recording, uint64_t until_ns)
{
    struct inject_module *module = recording->site.module;
    struct inject_device *device = module->device;
    void *stream = recording->launch.stream;
    size_t bytes = inject_buffer_bytes(module);
    if (device->unfinished && cu.cuEventQuery(device->done) != DRIVER_OK)
        return SKIP_BUSY;
    device->unfinished = false;
    if (!wait_pending(recording, until_ns))
        return SKIP_BUSY;
    if (!inject_buffer(device, bytes))
        return SKIP_MEMORY;
    add_anchor(recording);
    if (cu.cuMemsetD8Async(device->buffer, 0, bytes, stream) != DRIVER_OK ||
        (module->dropped &&
         cu.cuMemsetD8Async(module->dropped, 0, sizeof(uint64_t), stream) != DRIVER_OK))
        return SKIP_ERROR;
    inject_stamp(device, STAMP_BEFORE, stream);
    if (set_variable(recording, device->buffer) == DRIVER_OK)
        return INJECT_RECORDED;
    (void)set_variable(recording, 0);
    return SKIP_ERROR;
}

static int begin_attached(struct inject_recording *recording, uint64_t until_ns)
{
    struct inject_device *device = recording->site.module->device;
    driver_capture_status status = DRIVER_CAPTURE_NONE;
    if (cu.cuStreamIsCapturing(recording->launch.stream, &status) != DRIVER_OK ||
        status != DRIVER_CAPTURE_NONE) {
        atomic_store(&recording->site.module->closed, true);
        return SKIP_CAPTURE;
    }
    if (pthread_mutex_trylock(&device->lock) != 0)
        return SKIP_BUSY;
    int skip = ptx_prepare(recording, until_ns);
    if (skip != INJECT_RECORDED)
        pthread_mutex_unlock(&device->lock);
    return skip;
}

/* Before the launch; the thread has module->lock for writing. INJECT_RECORDED: record_end must
 * follow. Else why it is not (enum inject_skip), and nothing is changed. */
static int inject_record_begin(struct inject_recording *recording, uint64_t wait_ns)
{
    struct inject_attached saved;
    if (atomic_load(&recording->site.module->device->gone) ||
        !inject_attach(recording->launch.context, &saved))
        return SKIP_ERROR;
    recording->line = (struct inject_launch_line){0};
    int skip = begin_attached(recording, inject_now_ns() + wait_ns);
    inject_detach(&saved);
    recording->line.launch_ns = inject_now_ns();
    return skip;
}

/* ---- behind ---------------------------------------------------------------------------- */

/* What the device's timer says of the launch, and how many records found no room. */
static void scan_wide(struct inject_recording *recording, const uint8_t *bytes)
{
    const struct ptx_shape *shape = &recording->site.module->shape;
    struct inject_launch_line *line = &recording->line;
    const uint8_t *at = bytes + PTX_WIDE_BYTES, *end = bytes + shape->buffer_bytes;
    uint64_t begin_ns = 0, last_ns = 0, cells = shape->capacity;
    while (cells < shape->buffer_bytes && (uint64_t)(end - at) >= PTX_WIDE_BYTES * (cells + 1)) {
        uint64_t lane_ns = ptx_load_u64(at);
        begin_ns = lane_ns && (!begin_ns || lane_ns < begin_ns) ? lane_ns : begin_ns;
        line->dropped += ptx_load_u32(at + 24);
        for (uint64_t cell = 1; cell <= cells; cell++) {
            uint64_t cell_ns = ptx_load_u64(at + PTX_WIDE_BYTES * cell + 16);
            last_ns = cell_ns > last_ns ? cell_ns : last_ns;
        }
        at += PTX_WIDE_BYTES * (cells + 1);
    }
    if (begin_ns)
        line->start_ns = begin_ns;
    if (!line->stop_ns)
        line->stop_ns = last_ns;
    if (line->anchor_count == 0 && begin_ns) /* it began between these two */
        line->anchors[line->anchor_count++] = (struct inject_anchor){
            begin_ns, line->launch_ns + (line->done_ns - line->launch_ns) / 2,
            (line->done_ns - line->launch_ns + 1) / 2};
}

static void fill_line(struct inject_recording *recording)
{
    const struct inject_launch *launch = &recording->launch;
    const struct inject_device *device = recording->site.module->device;
    struct inject_launch_line *line = &recording->line;
    unsigned long long stream = (uintptr_t)launch->stream;
    if (!cu.cuStreamGetId || cu.cuStreamGetId(launch->stream, &stream) != DRIVER_OK)
        stream = (uintptr_t)launch->stream;
    line->hash = recording->site.module->shape.hash;
    line->kernel = recording->site.kernel->name;
    line->device = device->number;
    line->device_name = device->name;
    line->sms = device->sms;
    line->clock_khz = device->clock_khz;
    line->stream = stream;
    line->correlation = launch->correlation;
    memcpy(line->grid, launch->grid, sizeof line->grid);
    memcpy(line->block, launch->block, sizeof line->block);
    if (device->stamp) {
        line->start_ns = inject_stamped(device, STAMP_BEFORE);
        line->stop_ns = inject_stamped(device, STAMP_BEHIND);
    }
}

static int ptx_keep(struct inject_recording *recording, uint8_t *bytes)
{
    const struct inject_module *module = recording->site.module;
    struct inject_device *device = module->device;
    uint8_t tail[16] = {0}; /* what was dropped, the hash */
    bool tailed = module->shape.cells == PTX_CELLS_COMPAT && module->shape.mode != PTX_MODE_CONFIG;
    if (inject_read(device, bytes, device->buffer, inject_buffer_bytes(module)) != DRIVER_OK ||
        (module->dropped && inject_read(device, tail, module->dropped, 8) != DRIVER_OK))
        return SKIP_ERROR;
    store_le64(tail + 8, module->shape.hash);
    fill_line(recording);
    add_anchor(recording);
    recording->line.dropped = load_le64(tail);
    if (module->shape.cells == PTX_CELLS_WIDE)
        scan_wide(recording, bytes);
    return inject_folder_launch(&recording->line, bytes, inject_buffer_bytes(module), tail,
                                tailed ? sizeof tail : 0)
               ? INJECT_RECORDED
               : SKIP_ERROR;
}

/* device->lock is held. */
static int ptx_finish(struct inject_recording *recording, int result, uint64_t wait_ns)
{
    struct inject_module *module = recording->site.module;
    struct inject_device *device = module->device;
    void *stream = recording->launch.stream;
    (void)set_variable(recording, 0);
    inject_stamp(device, STAMP_BEHIND, stream);
    if (cu.cuEventRecord(device->done, stream) != DRIVER_OK)
        return SKIP_ERROR;
    int code = inject_wait(device->done, inject_now_ns() + wait_ns);
    recording->line.done_ns = inject_now_ns();
    if (code == DRIVER_NOT_READY) {
        device->unfinished = true;
        device->buffer = 0; /* it goes on storing there */
        device->buffer_bytes = 0;
        atomic_store(&recording->site.kernel->closed, true);
        return SKIP_WAIT;
    }
    if (code != DRIVER_OK || result != DRIVER_OK)
        return SKIP_ERROR;
    uint8_t *bytes = malloc(inject_buffer_bytes(module));
    int skip = bytes ? ptx_keep(recording, bytes) : SKIP_MEMORY;
    free(bytes);
    return skip;
}

/* Behind it; result is what it returned. INJECT_RECORDED or why it is not after all. */
static int inject_record_end(struct inject_recording *recording, int result, uint64_t wait_ns)
{
    struct inject_attached saved;
    int skip = SKIP_ERROR;
    recording->line.launched_ns = inject_now_ns();
    if (inject_attach(recording->launch.context, &saved)) {
        skip = ptx_finish(recording, result, wait_ns);
        inject_detach(&saved);
    }
    pthread_mutex_unlock(&recording->site.module->device->lock);
    return skip;
}

/* ---- inject ptx ------------------------------------------------------------------------------ */

#define LAUNCHES 8
#define WAIT_MS 10000

/* The launch that a thread is in. */
struct self {
    struct inject_recording recording;
    bool recorded;
};

static atomic_uint launches_max = LAUNCHES;
static uint64_t wait_ns;

static unsigned ptx_number_of(const char *name, unsigned otherwise)
{
    const char *text = getenv(name);
    char *end;
    unsigned long number = text ? strtoul(text, &end, 10) : 0;
    return text && *text && *end == '\0' && number < UINT32_MAX ? (unsigned)number : otherwise;
}

bool inject_ptx_open(const char *folder)
{
    atomic_store(&launches_max, ptx_number_of("RBWP_PTX_LAUNCHES", LAUNCHES));
    wait_ns = (uint64_t)ptx_number_of("RBWP_PTX_WAIT_MS", WAIT_MS) * 1000000;
    return inject_folder_open(folder);
}

/* ---- what is not recorded -------------------------------------------------------------- */

static const char *const skip_names[INJECT_SKIPS] = {"capture", "limit", "memory",
                                                     "busy",    "wait",  "error"};

/* The first of each kernel has a line at once: not all processes get to their end. */
static void skipped(struct inject_kernel *kernel, int why)
{
    if (atomic_fetch_add(&kernel->skipped[why], 1) == 0)
        inject_folder_skipped(kernel->hash, kernel->name, skip_names[why], 0);
}

void inject_ptx_close(void)
{
    for (struct inject_kernel *kernel = inject_kernels(); kernel; kernel = kernel->next)
        for (int why = 0; why < INJECT_SKIPS; why++) {
            uint64_t count = atomic_load(&kernel->skipped[why]);
            if (count > 1)
                inject_folder_skipped(kernel->hash, kernel->name, skip_names[why], count - 1);
        }
}

/* ---- launches -------------------------------------------------------------------------- */

/* Whether so many were taken that there is none for us. One that is under way may still give its
 * own back, behind rbwp_inject_ptx_again. */
static bool used_up(const struct inject_kernel *kernel, unsigned taken)
{
    int since = (int)(taken - atomic_load(&kernel->before));
    return since >= 0 && (unsigned)since >= atomic_load(&launches_max);
}

/* Takes one of the kernel's launches; else why not. */
static int ptx_take(struct inject_kernel *kernel, const struct inject_module *module)
{
    if (used_up(kernel, atomic_load(&kernel->taken)))
        return SKIP_LIMIT;
    if (atomic_load(&kernel->closed))
        return SKIP_WAIT;
    if (atomic_load(&module->closed))
        return SKIP_CAPTURE;
    if (!used_up(kernel, atomic_fetch_add(&kernel->taken, 1)))
        return INJECT_RECORDED;
    atomic_fetch_sub(&kernel->taken, 1);
    return SKIP_LIMIT;
}

__attribute__((visibility("default"))) void rbwp_inject_ptx_again(unsigned launches)
{
    atomic_store(&launches_max, launches);
    for (struct inject_kernel *kernel = inject_kernels(); kernel; kernel = kernel->next)
        atomic_store(&kernel->before, atomic_load(&kernel->taken));
}

/* The module's lock is held for writing if the launch is recorded, else nothing is. */
static int try_to_record(struct self *self)
{
    struct inject_site site = self->recording.site;
    int why = ptx_take(site.kernel, site.module);
    if (why != INJECT_RECORDED)
        return why;
    why = SKIP_BUSY;
    if (pthread_rwlock_trywrlock(&site.module->lock) == 0) {
        why = inject_record_begin(&self->recording, wait_ns);
        if (why != INJECT_RECORDED)
            pthread_rwlock_unlock(&site.module->lock);
    }
    if (why != INJECT_RECORDED)
        atomic_fetch_sub(&site.kernel->taken, 1);
    return why;
}

void inject_ptx_enter(const struct inject_launch *launch)
{
    struct inject_site site = inject_site_of(launch);
    struct self *self = site.module ? inject_own_make(INJECT_OWN_LAUNCH, sizeof *self) : NULL;
    if (!self)
        return;
    self->recording.site = site;
    self->recording.launch = *launch;
    int why = try_to_record(self);
    self->recorded = why == INJECT_RECORDED;
    if (self->recorded)
        return;
    skipped(site.kernel, why);
    pthread_rwlock_rdlock(&site.module->lock);
}

void inject_ptx_exit(int result)
{
    struct self *own = inject_own[INJECT_OWN_LAUNCH];
    struct inject_recording *recording = own ? &own->recording : NULL;
    if (!recording || !recording->site.module)
        return;
    struct inject_site site = recording->site;
    recording->site.module = NULL;
    if (own->recorded) {
        recording->site = site;
        int why = inject_record_end(recording, result, wait_ns);
        recording->site.module = NULL;
        if (why != INJECT_RECORDED) {
            atomic_fetch_sub(&site.kernel->taken, 1);
            skipped(site.kernel, why);
        }
    } else {
        inject_record_pending(&site, &recording->launch);
    }
    pthread_rwlock_unlock(&site.module->lock);
}
