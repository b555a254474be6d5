/* SPDX-License-Identifier: Apache-2.0 */
#include "inject_record.h"
#include "inject_clock.h"
#include "inject_say.h"

#include "bytes.h"
#include "ptx_cell.h"
#include "ptx_probe.h"

#include <stdlib.h>
#include <string.h>

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

void inject_record_pending(const struct inject_site *site, const struct inject_launch *launch)
{
    struct inject_module *module = site->module;
    void *name = pending_name(launch), *none;
    inject_capture_status status = CUDA_NOTHING_CAPTURED;
    if (atomic_load(&module->closed))
        return;
    if (cu.cuStreamIsCapturing(launch->stream, &status) != CUDA_OK ||
        status != CUDA_NOTHING_CAPTURED) {
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
        inject_capture_status status = CUDA_NOTHING_CAPTURED;
        if (!stream || stream == pending_name(&recording->launch))
            continue; /* the stream's own order is enough */
        if (other_thread(stream) || cu.cuStreamIsCapturing(stream, &status) != CUDA_OK ||
            status != CUDA_NOTHING_CAPTURED ||
            cu.cuEventRecord(module->device->done, stream) != CUDA_OK ||
            inject_wait(module->device->done, until_ns) != CUDA_OK)
            return false;
        atomic_store(&module->pending[i], NULL);
    }
    return true;
}

/* ---- before ---------------------------------------------------------------------------- */

/* In one piece where that can be: half an address would be one that nobody has. */
static int set_variable(const struct inject_recording *recording, uint64_t value)
{
    inject_address variable = recording->site.module->buffer;
    void *stream = recording->launch.stream;
    if (cu.cuStreamWriteValue64_v2 &&
        cu.cuStreamWriteValue64_v2(stream, variable, value, 0) == CUDA_OK)
        return CUDA_OK;
    int code = cu.cuMemsetD32Async(variable, (unsigned)value, 1, stream);
    int high = cu.cuMemsetD32Async(variable + 4, (unsigned)(value >> 32), 1, stream);
    return code != CUDA_OK ? code : high;
}

static void add_anchor(struct inject_recording *recording)
{
    struct inject_launch_line *line = &recording->line;
    line->anchor_count +=
        inject_anchor(recording->site.module->device, &line->anchors[line->anchor_count]);
}

/* device->lock is held. */
static int prepare(struct inject_recording *recording, uint64_t until_ns)
{
    struct inject_module *module = recording->site.module;
    struct inject_device *device = module->device;
    void *stream = recording->launch.stream;
    size_t bytes = inject_buffer_bytes(module);
    if (device->unfinished && cu.cuEventQuery(device->done) != CUDA_OK)
        return SKIP_BUSY;
    device->unfinished = false;
    if (!wait_pending(recording, until_ns))
        return SKIP_BUSY;
    if (!inject_buffer(device, bytes))
        return SKIP_MEMORY;
    add_anchor(recording);
    if (cu.cuMemsetD8Async(device->buffer, 0, bytes, stream) != CUDA_OK ||
        (module->dropped &&
         cu.cuMemsetD8Async(module->dropped, 0, sizeof(uint64_t), stream) != CUDA_OK))
        return SKIP_ERROR;
    inject_stamp(device, STAMP_BEFORE, stream);
    if (set_variable(recording, device->buffer) == CUDA_OK)
        return INJECT_RECORDED;
    (void)set_variable(recording, 0);
    return SKIP_ERROR;
}

static int begin_attached(struct inject_recording *recording, uint64_t until_ns)
{
    struct inject_device *device = recording->site.module->device;
    inject_capture_status status = CUDA_NOTHING_CAPTURED;
    if (cu.cuStreamIsCapturing(recording->launch.stream, &status) != CUDA_OK ||
        status != CUDA_NOTHING_CAPTURED) {
        atomic_store(&recording->site.module->closed, true);
        return SKIP_CAPTURE;
    }
    if (pthread_mutex_trylock(&device->lock) != 0)
        return SKIP_BUSY;
    int skip = prepare(recording, until_ns);
    if (skip != INJECT_RECORDED)
        pthread_mutex_unlock(&device->lock);
    return skip;
}

int inject_record_begin(struct inject_recording *recording, uint64_t wait_ns)
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
    if (!cu.cuStreamGetId || cu.cuStreamGetId(launch->stream, &stream) != CUDA_OK)
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

static int keep(struct inject_recording *recording, uint8_t *bytes)
{
    const struct inject_module *module = recording->site.module;
    struct inject_device *device = module->device;
    uint8_t tail[16] = {0}; /* what was dropped, the hash */
    bool tailed = module->shape.cells == PTX_CELLS_COMPAT && module->shape.mode != PTX_MODE_CONFIG;
    if (inject_read(device, bytes, device->buffer, inject_buffer_bytes(module)) != CUDA_OK ||
        (module->dropped && inject_read(device, tail, module->dropped, 8) != CUDA_OK))
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
static int finish(struct inject_recording *recording, int result, uint64_t wait_ns)
{
    struct inject_module *module = recording->site.module;
    struct inject_device *device = module->device;
    void *stream = recording->launch.stream;
    (void)set_variable(recording, 0);
    inject_stamp(device, STAMP_BEHIND, stream);
    if (cu.cuEventRecord(device->done, stream) != CUDA_OK)
        return SKIP_ERROR;
    int code = inject_wait(device->done, inject_now_ns() + wait_ns);
    recording->line.done_ns = inject_now_ns();
    if (code == CUDA_NOT_READY) {
        device->unfinished = true;
        device->buffer = 0; /* it goes on storing there */
        device->buffer_bytes = 0;
        atomic_store(&recording->site.kernel->closed, true);
        return SKIP_WAIT;
    }
    if (code != CUDA_OK || result != CUDA_OK)
        return SKIP_ERROR;
    uint8_t *bytes = malloc(inject_buffer_bytes(module));
    int skip = bytes ? keep(recording, bytes) : SKIP_MEMORY;
    free(bytes);
    return skip;
}

int inject_record_end(struct inject_recording *recording, int result, uint64_t wait_ns)
{
    struct inject_attached saved;
    int skip = SKIP_ERROR;
    recording->line.launched_ns = inject_now_ns();
    if (inject_attach(recording->launch.context, &saved)) {
        skip = finish(recording, result, wait_ns);
        inject_detach(&saved);
    }
    pthread_mutex_unlock(&recording->site.module->device->lock);
    return skip;
}
