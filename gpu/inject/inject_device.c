/* SPDX-License-Identifier: Apache-2.0 */
#include "inject_device.h"
#include "inject_clock.h"
#include "bytes.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

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

/* None is ever taken out: a context's end is told while the driver may hold locks of its own, so
 * that side takes none of ours. */
static _Atomic(struct inject_device *) devices;
static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;

bool inject_attach(void *context, struct inject_attached *saved)
{
    if (!context || cu.cuCtxPushCurrent_v2(context) != CUDA_OK)
        return false;
    saved->mode = CUDA_LEAVE_CAPTURES_ALONE;
    (void)cu.cuThreadExchangeStreamCaptureMode(&saved->mode);
    return true;
}

void inject_detach(const struct inject_attached *saved)
{
    inject_capture_mode mode = saved->mode;
    inject_context popped;
    (void)cu.cuThreadExchangeStreamCaptureMode(&mode);
    (void)cu.cuCtxPopCurrent_v2(&popped);
}

/* ---- contexts -------------------------------------------------------------------------- */

/* Without it there are no anchors, and the records have all the same. */
static void make_stamp(struct inject_device *device)
{
    void *module = NULL, *stamped = NULL;
    if (cu.cuMemAllocHost_v2(&stamped, INJECT_STAMPS * sizeof(uint64_t)) != CUDA_OK)
        return;
    memset(stamped, 0, INJECT_STAMPS * sizeof(uint64_t));
    device->stamped = stamped;
    if (cu.cuModuleLoadData(&module, stamp_ptx) != CUDA_OK ||
        cu.cuModuleGetFunction(&device->stamp, module, "rbwp_clock") != CUDA_OK)
        device->stamp = NULL;
}

/* What is not known stays 0 or empty. */
static void describe(struct inject_device *device)
{
    if (cu.cuDeviceGetAttribute(&device->clock_khz, CUDA_CLOCK_KHZ, device->number) != CUDA_OK ||
        device->clock_khz < 0)
        device->clock_khz = 0;
    if (cu.cuDeviceGetAttribute(&device->sms, CUDA_SMS, device->number) != CUDA_OK)
        device->sms = 0;
    if (cu.cuDeviceGetName(device->name, sizeof device->name - 1, device->number) != CUDA_OK)
        device->name[0] = '\0';
}

static struct inject_device *make_device(void *context)
{
    struct inject_device *device = calloc(1, sizeof *device);
    if (!device)
        return NULL;
    device->context = context;
    pthread_mutex_init(&device->lock, NULL);
    if (cu.cuCtxGetDevice(&device->number) != CUDA_OK ||
        cu.cuStreamCreate(&device->stream, CUDA_STREAM_OF_ITS_OWN) != CUDA_OK ||
        cu.cuEventCreate(&device->done, CUDA_EVENT_WITHOUT_TIME) != CUDA_OK) {
        free(device); /* what was made goes with the context */
        return NULL;
    }
    describe(device);
    make_stamp(device);
    return device;
}

static struct inject_device *find_device(void *context)
{
    struct inject_device *device = atomic_load(&devices);
    while (device && (device->context != context || atomic_load(&device->gone)))
        device = device->next;
    return device;
}

struct inject_device *inject_device_get(void *context)
{
    struct inject_device *device = find_device(context);
    if (device)
        return device;
    pthread_mutex_lock(&making);
    device = find_device(context);
    if (!device && (device = make_device(context))) {
        device->next = atomic_load(&devices);
        atomic_store(&devices, device);
    }
    pthread_mutex_unlock(&making);
    return device;
}

void inject_device_gone(void *context)
{
    struct inject_device *device = atomic_load(&devices);
    for (; device; device = device->next)
        if (device->context == context)
            atomic_store(&device->gone, true);
}

/* ---- waiting, memory ------------------------------------------------------------------- */

static void nap(void)
{
    nanosleep(&(struct timespec){0, NAP_NS}, NULL);
}

/* The driver's own waiting could not be given up. */
int inject_wait(void *event, uint64_t until_ns)
{
    uint64_t spin_until_ns = inject_now_ns() + SPIN_NS;
    for (;;) {
        int code = cu.cuEventQuery(event);
        uint64_t now_ns = inject_now_ns();
        if (code != CUDA_NOT_READY || now_ns >= until_ns)
            return code;
        if (now_ns > spin_until_ns)
            nap();
    }
}

int inject_read(struct inject_device *device, void *to, inject_address from, size_t bytes)
{
    inject_event copied;
    int code = cu.cuEventCreate(&copied, CUDA_EVENT_WITHOUT_TIME);
    if (code != CUDA_OK)
        return code;
    code = cu.cuMemcpyDtoHAsync_v2(to, from, bytes, device->stream);
    if (code == CUDA_OK)
        code = cu.cuEventRecord(copied, device->stream);
    if (code == CUDA_OK)
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
    inject_address buffer;
    if (cu.cuMemGetInfo_v2(&left, &all) != CUDA_OK || room > left / 2 ||
        cu.cuMemAlloc_v2(&buffer, room) != CUDA_OK)
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
    if (cu.cuLaunchKernel(device->stamp, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL) != CUDA_OK)
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
