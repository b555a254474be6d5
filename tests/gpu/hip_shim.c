/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hip_shim.c - libamdhip64 and libhiprtc as far as our HIP backend calls them, over an NVIDIA
 * driver.
 *
 * What it is: test code, so that the HIP backend, which is written for AMD's runtime, can run real
 * kernels on a machine that has only an NVIDIA GPU. Each hip* function here has the name, the
 * parameters and the meaning of the one in AMD's libamdhip64.so, and calls the CUDA driver; each
 * hiprtc* function calls NVRTC, so that "HIP source" is compiled as CUDA C++ and "code objects" are
 * PTX. What it is not: AMD's hipother/NVIDIA back end, a proof that code runs on an AMD GPU, or
 * something to install.
 *
 * No header of CUDA or ROCm is used: the declarations are those of gpu/backend (driver_abi.h,
 * cuda_abi.h, hip_abi.h), which another test compares with the real ones. Libraries are opened at
 * the first call; the environment may name others in RBWP_HIP_SHIM_CUDA and RBWP_HIP_SHIM_NVRTC.
 *
 * HIP's current device is a thread's; its context here is the device's primary one, current only
 * inside a call. Error numbers of CUDA and HIP are the same where our backend looks at them.
 */
#include "code_loader.h"
#include "cuda_each.h"
#include "hip_abi.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))
#define DEVICES_MAX 64
#define NO_DRIVER 100 /* hipErrorNoDevice */
#define INVALID 1     /* hipErrorInvalidValue */

#define SHARED_DECLARE(member, parameters, cuda, hip, in_hip, in_inject)                           \
    EXPORTED driver_result hip parameters;
#define HIP_DECLARE(result, symbol, parameters, use) EXPORTED result symbol parameters;
DRIVER_CALLS(SHARED_DECLARE)
HIP_CALLS(HIP_DECLARE)

#define CUDA_EACH(symbol, parameters) driver_result(*symbol) parameters;
static struct {
    CUDA_EACH_OF_BACKEND
} cu;
#undef CUDA_EACH
static int driver_code = NO_DRIVER; /* of cuInit */
static pthread_once_t driver_once = PTHREAD_ONCE_INIT;

static pthread_mutex_t contexts_lock = PTHREAD_MUTEX_INITIALIZER;
static cuda_context contexts[DEVICES_MAX]; /* guarded by contexts_lock; retained when first used */

static _Thread_local int current_device;

/* ---- the driver ------------------------------------------------------------------ */

static void *open_first(const char *variable, const char *const *names)
{
    const char *given = getenv(variable);
    if (given)
        return dlopen(given, RTLD_NOW | RTLD_LOCAL);
    void *library = NULL;
    for (; *names && !library; names++)
        library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
    return library;
}

static void open_driver(void)
{
    static const char *const names[] = {"libcuda.so.1", NULL};
    void *library = open_first("RBWP_HIP_SHIM_CUDA", names);
    bool whole = library != NULL;
#define CUDA_EACH(symbol, parameters)                                                              \
    whole = whole && (*(void **)&cu.symbol = dlsym(library, #symbol)) != NULL;
    CUDA_EACH_OF_BACKEND
    driver_code = whole ? cu.cuInit(0) : NO_DRIVER;
}

static int driver(void)
{
    pthread_once(&driver_once, open_driver);
    return driver_code;
}

/* Makes the current device's context current. In pairs with leave if it gives 0. */
static int enter(void)
{
    int code = driver();
    if (code != 0)
        return code;
    pthread_mutex_lock(&contexts_lock);
    cuda_context *context = &contexts[current_device];
    driver_device device;
    if (!*context && (code = cu.cuDeviceGet(&device, current_device)) == 0)
        code = cu.cuDevicePrimaryCtxRetain(context, device);
    if (code == 0)
        code = cu.cuCtxPushCurrent_v2(*context);
    pthread_mutex_unlock(&contexts_lock);
    return code;
}

/* The context of any device, as enter makes it. */
static int context_of(int ordinal, cuda_context *context_out)
{
    const int own = current_device;
    cuda_context popped;
    if (ordinal < 0 || ordinal >= DEVICES_MAX)
        return 101; /* hipErrorInvalidDevice */
    current_device = ordinal;
    const int code = enter();
    if (code == 0)
        (void)cu.cuCtxPopCurrent_v2(&popped);
    *context_out = contexts[ordinal];
    current_device = own;
    return code;
}

static int leave(int code)
{
    cuda_context popped;
    (void)cu.cuCtxPopCurrent_v2(&popped);
    return code;
}

/* A call that wants a current context. */
#define INSIDE(call)                                                                               \
    do {                                                                                           \
        const int code_ = enter();                                                                 \
        return code_ != 0 ? code_ : leave(call);                                                   \
    } while (0)

/* ---- devices --------------------------------------------------------------------------- */

driver_result hipInit(unsigned flags)
{
    return flags ? INVALID : driver();
}

driver_result hipDriverGetVersion(int *version)
{
    const int code = driver();
    return code ? code : cu.cuDriverGetVersion(version);
}

hip_text hipGetErrorName(driver_result code)
{
    const char *name = NULL;
    return driver() == 0 && cu.cuGetErrorName(code, &name) == 0 ? name : "hipErrorUnknown";
}

driver_result hipGetDeviceCount(int *count)
{
    const int code = driver();
    return code ? code : cu.cuDeviceGetCount(count);
}

driver_result hipDeviceGetName(char *name, int bytes, driver_device ordinal)
{
    driver_device device;
    int code = driver();
    if (code == 0)
        code = cu.cuDeviceGet(&device, ordinal);
    return code ? code : cu.cuDeviceGetName(name, bytes, device);
}

driver_result hipDeviceTotalMem(size_t *bytes, driver_device ordinal)
{
    driver_device device;
    int code = driver();
    if (code == 0)
        code = cu.cuDeviceGet(&device, ordinal);
    return code ? code : cu.cuDeviceTotalMem_v2(bytes, device);
}

driver_result hipDeviceGetAttribute(int *value, driver_attribute attribute, int ordinal)
{
    static const int same[][2] = {
        {HIP_ATTRIBUTE_MAX_THREADS_PER_BLOCK, CUDA_ATTRIBUTE_MAX_THREADS_PER_BLOCK},
        {HIP_ATTRIBUTE_MULTIPROCESSOR_COUNT, CUDA_ATTRIBUTE_MULTIPROCESSOR_COUNT},
        {HIP_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, CUDA_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK},
        {HIP_ATTRIBUTE_WARP_SIZE, CUDA_ATTRIBUTE_WARP_SIZE},
    };
    driver_device device;
    int code = driver();
    if (code == 0)
        code = cu.cuDeviceGet(&device, ordinal);
    if (code == 0 && attribute == HIP_ATTRIBUTE_WALL_CLOCK_RATE) {
        *value = 1000000; /* kHz: kernels read %globaltimer */
        return 0;
    }
    for (size_t i = 0; code == 0 && i < sizeof same / sizeof same[0]; i++)
        if (same[i][0] == attribute)
            return cu.cuDeviceGetAttribute(value, same[i][1], device);
    return code ? code : INVALID;
}

driver_result hipGetDevice(int *ordinal)
{
    *ordinal = current_device;
    return driver();
}

driver_result hipSetDevice(int ordinal)
{
    int count = 0;
    const int code = hipGetDeviceCount(&count);
    if (code != 0)
        return code;
    if (ordinal < 0 || ordinal >= count || ordinal >= DEVICES_MAX)
        return 101; /* hipErrorInvalidDevice */
    current_device = ordinal;
    return 0;
}

/* ---- streams and events ------------------------------------------------------------------- */

driver_result hipStreamCreateWithFlags(driver_stream *stream, unsigned flags)
{
    INSIDE(cu.cuStreamCreate(stream, flags));
}

driver_result hipStreamDestroy(driver_stream stream)
{
    INSIDE(cu.cuStreamDestroy_v2(stream));
}

driver_result hipStreamSynchronize(driver_stream stream)
{
    INSIDE(cu.cuStreamSynchronize(stream));
}

/* The ordinal, not a code; -1 if that is not known. */
int hipGetStreamDeviceId(driver_stream stream)
{
    cuda_context context, popped;
    driver_device device = -1;
    if (driver() != 0 || cu.cuStreamGetCtx(stream, &context) != 0 ||
        cu.cuCtxPushCurrent_v2(context) != 0)
        return -1;
    const int code = cu.cuCtxGetDevice(&device);
    (void)cu.cuCtxPopCurrent_v2(&popped);
    return code == 0 ? device : -1;
}

driver_result hipEventCreateWithFlags(driver_event *event, unsigned flags)
{
    INSIDE(cu.cuEventCreate(event, flags));
}

driver_result hipEventDestroy(driver_event event)
{
    INSIDE(cu.cuEventDestroy_v2(event));
}

driver_result hipEventRecord(driver_event event, driver_stream stream)
{
    INSIDE(cu.cuEventRecord(event, stream));
}

driver_result hipStreamIsCapturing(driver_stream stream, driver_capture_status *status)
{
    INSIDE(cu.cuStreamIsCapturing(stream, status));
}

driver_result hipThreadExchangeStreamCaptureMode(driver_capture_mode *mode)
{
    const int code = driver();
    return code ? code : cu.cuThreadExchangeStreamCaptureMode(mode);
}

driver_result hipEventQuery(driver_event event)
{
    INSIDE(cu.cuEventQuery(event));
}

/* ---- memory ---------------------------------------------------------------------------------- */

static cuda_pointer address(const void *pointer)
{
    return (uintptr_t)pointer;
}

static int allocate(void **memory, size_t bytes)
{
    cuda_pointer device = 0;
    const int code = cu.cuMemAlloc_v2(&device, bytes);
    *memory = (void *)(uintptr_t)device;
    return code;
}

driver_result hipMalloc(void **memory, size_t bytes)
{
    INSIDE(allocate(memory, bytes));
}

driver_result hipFree(void *memory)
{
    INSIDE(cu.cuMemFree_v2(address(memory)));
}

driver_result hipHostMalloc(void **memory, size_t bytes, unsigned flags)
{
    if (flags != HIP_HOST_DEFAULT)
        return INVALID;
    INSIDE(cu.cuMemAllocHost_v2(memory, bytes));
}

driver_result hipHostFree(void *memory)
{
    INSIDE(cu.cuMemFreeHost(memory));
}

static int copy_flat(void *to, const void *from, size_t bytes, hip_copy_kind kind,
                     driver_stream stream)
{
    switch (kind) {
    case HIP_HOST_TO_DEVICE:
        return cu.cuMemcpyHtoDAsync_v2(address(to), from, bytes, stream);
    case HIP_DEVICE_TO_HOST:
        return cu.cuMemcpyDtoHAsync_v2(to, address(from), bytes, stream);
    case HIP_DEVICE_TO_DEVICE:
        return cu.cuMemcpyDtoDAsync_v2(address(to), address(from), bytes, stream);
    default:
        return INVALID;
    }
}

driver_result hipMemcpyAsync(void *to, const void *from, size_t bytes, hip_copy_kind kind,
                             driver_stream stream)
{
    INSIDE(copy_flat(to, from, bytes, kind, stream));
}

driver_result hipMemcpy3DAsync(const hip_copy *copy, driver_stream stream)
{
    if (copy->src_array || copy->dst_array || copy->kind < HIP_HOST_TO_DEVICE ||
        copy->kind > HIP_DEVICE_TO_DEVICE)
        return INVALID;
    const bool from_host = copy->kind == HIP_HOST_TO_DEVICE;
    const bool to_host = copy->kind == HIP_DEVICE_TO_HOST;
    const cuda_copy what = {
        .src_x = copy->src_position.x,
        .src_y = copy->src_position.y,
        .src_z = copy->src_position.z,
        .src_type = from_host ? CUDA_MEMORY_HOST : CUDA_MEMORY_DEVICE,
        .src_host = from_host ? copy->src.pointer : NULL,
        .src_device = from_host ? 0 : address(copy->src.pointer),
        .src_pitch = copy->src.pitch,
        .src_height = copy->src.height,
        .dst_x = copy->dst_position.x,
        .dst_y = copy->dst_position.y,
        .dst_z = copy->dst_position.z,
        .dst_type = to_host ? CUDA_MEMORY_HOST : CUDA_MEMORY_DEVICE,
        .dst_host = to_host ? copy->dst.pointer : NULL,
        .dst_device = to_host ? 0 : address(copy->dst.pointer),
        .dst_pitch = copy->dst.pitch,
        .dst_height = copy->dst.height,
        .width = copy->extent.width,
        .height = copy->extent.height,
        .depth = copy->extent.depth,
    };
    INSIDE(cu.cuMemcpy3DAsync_v2(&what, stream));
}

/* ---- other devices, other processes ------------------------------------------------------ */

driver_result hipDeviceCanAccessPeer(int *can, int device, int peer)
{
    *can = 0;
    INSIDE(cu.cuDeviceCanAccessPeer(can, device, peer));
}

driver_result hipDeviceEnablePeerAccess(int peer, unsigned flags)
{
    cuda_context other;
    int code = context_of(peer, &other);
    if (code != 0)
        return code;
    INSIDE(cu.cuCtxEnablePeerAccess(other, flags));
}

driver_result hipMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                 size_t bytes, driver_stream stream)
{
    cuda_context target, source;
    int code = context_of(to_device, &target);
    if (code == 0)
        code = context_of(from_device, &source);
    if (code != 0)
        return code;
    INSIDE(cu.cuMemcpyPeerAsync(address(to), target, address(from), source, bytes, stream));
}

driver_result hipIpcGetMemHandle(driver_share *share, void *memory)
{
    INSIDE(cu.cuIpcGetMemHandle((driver_share *)share, address(memory)));
}

static driver_result open_share(cuda_pointer *at, driver_share share, unsigned flags)
{
    INSIDE(cu.cuIpcOpenMemHandle_v2(at, share, flags));
}

driver_result hipIpcOpenMemHandle(void **memory, driver_share share, unsigned flags)
{
    driver_share theirs;
    cuda_pointer at = 0;
    memcpy(&theirs, &share, sizeof theirs);
    const driver_result code = open_share(&at, theirs, flags);
    *memory = (void *)(uintptr_t)at;
    return code;
}

driver_result hipIpcCloseMemHandle(void *memory)
{
    INSIDE(cu.cuIpcCloseMemHandle(address(memory)));
}

/* ---- code ---------------------------------------------------------------------------------------
 */

driver_result hipModuleLoadData(driver_module *module, const void *image)
{
    INSIDE(cu.cuModuleLoadData(module, image));
}

driver_result hipModuleUnload(driver_module module)
{
    INSIDE(cu.cuModuleUnload(module));
}

driver_result hipModuleGetFunction(driver_function *function, driver_module module,
                                   const char *name)
{
    INSIDE(cu.cuModuleGetFunction(function, module, name));
}

driver_result hipModuleLaunchKernel(driver_function function, unsigned grid_x, unsigned grid_y,
                                    unsigned grid_z, unsigned block_x, unsigned block_y,
                                    unsigned block_z, unsigned shared_bytes, driver_stream stream,
                                    void **arguments, void **extra)
{
    INSIDE(cu.cuLaunchKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
                             shared_bytes, stream, arguments, extra));
}

/* ---- the compiler
 * ---------------------------------------------------------------------------------- */

static struct rtc_functions nvrtc;
static bool has_nvrtc;
static pthread_once_t nvrtc_once = PTHREAD_ONCE_INIT;

/* X(member, hiprtc's name, NVRTC's name, parameters, arguments) */
#define COMPILER_FUNCTIONS(X)                                                                      \
    X(create, hiprtcCreateProgram, nvrtcCreateProgram,                                             \
      (rtc_program * program, const char *source, const char *name, int headers,                   \
       const char *const *texts, const char *const *names),                                        \
      (program, source, name, headers, texts, names))                                              \
    X(compile, hiprtcCompileProgram, nvrtcCompileProgram,                                          \
      (rtc_program program, int count, const char *const *options), (program, count, options))     \
    X(code_size, hiprtcGetCodeSize, nvrtcGetPTXSize, (rtc_program program, size_t * size),         \
      (program, size))                                                                             \
    X(code, hiprtcGetCode, nvrtcGetPTX, (rtc_program program, char *code), (program, code))        \
    X(log_size, hiprtcGetProgramLogSize, nvrtcGetProgramLogSize,                                   \
      (rtc_program program, size_t * size), (program, size))                                       \
    X(log, hiprtcGetProgramLog, nvrtcGetProgramLog, (rtc_program program, char *log),              \
      (program, log))                                                                              \
    X(destroy, hiprtcDestroyProgram, nvrtcDestroyProgram, (rtc_program * program), (program))

static void open_nvrtc(void)
{
    static const char *const names[] = {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", NULL};
    void *library = open_first("RBWP_HIP_SHIM_NVRTC", names);
    has_nvrtc = library != NULL;
#define NVRTC_LOAD(member, hip_name, cuda_name, parameters, arguments)                             \
    has_nvrtc = has_nvrtc && (*(void **)&nvrtc.member = dlsym(library, #cuda_name)) != NULL;
    COMPILER_FUNCTIONS(NVRTC_LOAD)
#undef NVRTC_LOAD
}

#define HIPRTC_DEFINE(member, hip_name, cuda_name, parameters, arguments)                          \
    EXPORTED rtc_result hip_name parameters;                                                       \
    rtc_result hip_name parameters                                                                 \
    {                                                                                              \
        pthread_once(&nvrtc_once, open_nvrtc);                                                     \
        return has_nvrtc ? nvrtc.member arguments : 11; /* HIPRTC_ERROR_INTERNAL_ERROR */          \
    }
COMPILER_FUNCTIONS(HIPRTC_DEFINE)
