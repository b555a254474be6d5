/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_backend.h - what the GPU side asks of a driver: one struct of functions per driver.
 *
 * Knows the shape of the calls only; cuda.c, hip.c and opencl.c each fill one struct by dlopen, and
 * everything above (reaping, brackets, channels, benches) calls through it. The choice
 * that explains the rest: every call that reaches a driver returns the driver's own code, an int
 * that is 0 for success in all three APIs, so that the hot calls translate nothing; what a code
 * means is asked only on failure (status_of, describe).
 *
 * Native handles travel as void *: CUstream, hipStream_t, cl_command_queue; CUdeviceptr, a HIP
 * device pointer, cl_mem. So streams of the host program are used as they are.
 *
 * Threads: every call may be made from any thread, at the same time too, except where it says
 * "attached": there the calling thread must be between attach and detach of that context. Calls
 * under one stream are ordered by the caller. No call blocks but those that say so.
 *
 * Graph captures: most calls, made by any thread while the program captures a stream into a graph,
 * would be refused and destroy the capture, unless the calling thread has said that it knows what
 * it does. Attached threads, context_open, context_close and event_query have; event_record and
 * launch are safe on streams that are not being captured (stream_capturing).
 */
#ifndef RBWP_GPU_BACKEND_H
#define RBWP_GPU_BACKEND_H

#include "failure.h"
#include "rbwp_format.h"

/* Which API a backend speaks. Values are stored in files. */
enum gpu_api { GPU_CUDA = 0, GPU_HIP = 1, GPU_OPENCL = 2 };
#define GPU_APIS 3

/*
 * Codes that mean the same in all backends. The numbers are those of CUDA and HIP
 * (*_ERROR_NOT_READY,
 * *_ERROR_NOT_SUPPORTED, ...); OpenCL's own codes are all negative, so it can use them too.
 */
enum gpu_code {
    GPU_OK = 0,
    GPU_INVALID = 1,       /* an argument is out of range */
    GPU_NO_MEMORY = 2,     /* device or host memory */
    GPU_NOT_READY = 600,   /* event_query: not complete yet */
    GPU_UNSUPPORTED = 801, /* this driver lacks the function */
    GPU_CAPTURING = 900,   /* refused because of a graph capture, as all up to: */
    GPU_CAPTURING_LAST = 906,
};

/* The handle of CUDA and HIP that means another stream on each thread. */
#define GPU_STREAM_PER_THREAD ((void *)2)

#define GPU_ARGS_MAX 32 /* arguments of a kernel */

#define GPU_SHARE_BYTES 64 /* what a driver calls memory by in other processes */

/*
 * Where the shared objects are. NULL = the usual names, tried in order. A test names its fake
 * driver here, a HIP shim likewise.
 */
struct gpu_libraries {
    const char *driver; /* libcuda.so.1; libamdhip64.so and versions; libOpenCL.so.1 */
    const char
        *compiler; /* libnvrtc.so and versions; libhiprtc.so and versions; not used by OpenCL */
};

/* An open driver. Each backend embeds it as its first member. */
struct gpu_driver {
    const struct gpu_backend *backend;
    unsigned devices; /* found at open; ordinals are 0 to devices - 1 */
    int version; /* as the driver says: 13000, 50200, 300 (OpenCL 3.0 as major * 100 + minor) */
};

/* What is known of a device before anything is done with it. Numbers are 0 where not known. */
struct gpu_device_info {
    char name[128];
    char arch[64];              /* "sm_90", "gfx90a"; OpenCL: the version text of the device */
    uint64_t memory_bytes;      /* global memory */
    uint32_t multiprocessors;   /* compute units */
    uint32_t warp_threads;      /* 32, 64; 0 in OpenCL */
    uint32_t block_threads_max; /* threads in one block (work-group) */
    uint32_t shared_bytes_max;  /* shared (local) memory of one block */
    bool on_cpu;                /* executes on the host's processors (PoCL) */
};

/* A context: the driver's state for one device that streams, memory and modules belong to. */
struct gpu_context {
    const struct gpu_backend *backend;
    struct gpu_driver *driver;
    unsigned ordinal; /* of its device */
    void *native;     /* CUcontext, NULL in HIP, cl_context */
};

/* What attach changed and detach puts back. */
struct gpu_attached {
    void *context;
    int device;
    int capture_mode;
};

/* A completion event, untimed. In OpenCL an event is born by recording it: native is NULL before.
 */
struct gpu_event {
    void *native;
};

/* Device memory. In CUDA and HIP native is the device address, in OpenCL a cl_mem. */
struct gpu_memory {
    void *native;
    uint64_t bytes;
};

/*
 * One side of a copy: device memory from offset_bytes on, or host memory. Rows lie row_bytes apart,
 * slices (planes of rows) slice_bytes apart; either may be 0 where there is only one of them.
 */
struct gpu_copy_side {
    const struct gpu_memory *device; /* NULL: host */
    void *host;                      /* if device is NULL */
    /* The memory's, if that is not the copy's (gpu_is_peer); else NULL. Not in OpenCL. */
    const struct gpu_context *context;
    uint64_t offset_bytes; /* from the start of either */
    uint64_t row_bytes, slice_bytes;
};

/*
 * A copy by the copy engine: depth slices of height rows of width_bytes. 1-D: height = depth = 1;
 * 2-D: depth = 1. Not host to host. Any pitches are taken: where the driver's own call wants a
 * slice to be a whole number of rows, the backend makes several calls.
 */
struct gpu_copy {
    struct gpu_copy_side dst, src;
    uint64_t width_bytes, height, depth;
};

/*
 * Code for a device. CUDA: ptx if that is given, else source through NVRTC; HIP: source through
 * hipRTC; OpenCL: source through the driver. What a backend cannot use is not looked at.
 */
struct gpu_code_text {
    const char *name;   /* for messages: "channel.cu" */
    const char *source; /* terminated; NULL if there is none */
    const char *ptx;    /* terminated; NULL if there is none */
    char *log;          /* gets the compiler's words, terminated; NULL = not wanted */
    size_t log_bytes;
};

struct gpu_module; /* loaded code; the backend's own */
struct gpu_kernel; /* a function of it; lives as long as its module */

/*
 * An argument by value: bytes of it, read before launch returns. Device memory is passed as
 * { &memory->native, sizeof(void *) } in all backends (an offset into it as an argument of its
 * own).
 */
struct gpu_arg {
    const void *value;
    size_t bytes;
};

/* A launch: grid of blocks of threads. Work-groups in OpenCL: the global size is grid * block. */
struct gpu_launch {
    uint32_t grid[3], block[3]; /* all at least 1 */
    uint32_t shared_bytes;      /* dynamic shared memory. OpenCL: must be 0 */
    uint32_t arg_count;         /* at most GPU_ARGS_MAX */
    const struct gpu_arg *args;
};

struct gpu_backend {
    const char *name; /* "cuda", "hip", "opencl" */
    enum gpu_api api;

    /*
     * Loads the driver and finds its devices. RBWP_E_UNSUPPORTED with the reason in error (may be
     * NULL): no such library, a symbol that an older driver lacks, no device, a driver that does
     * not start. RBWP_E_MEMORY. libraries NULL = the usual names. The library stays loaded after
     * close: drivers keep threads and exit handlers of their own.
     */
    enum rbwp_status (*open)(const struct gpu_libraries *libraries, struct gpu_driver **driver_out,
                             struct rbwp_error *error);
    void (*close)(struct gpu_driver *driver);

    int (*device_info)(struct gpu_driver *driver, unsigned ordinal,
                       struct gpu_device_info *info_out);

    /*
     * The context to use for a device. stream NULL: the one that is shared with everybody else in
     * the process (CUDA's primary context; HIP has no other; OpenCL: a new one). With a stream: the
     * context which that stream belongs to; GPU_INVALID if it is of another device, and in OpenCL
     * if it runs commands out of order. Closing releases what opening took. May block.
     */
    int (*context_open)(struct gpu_driver *driver, unsigned ordinal, void *stream,
                        struct gpu_context **context_out);
    void (*context_close)(struct gpu_context *context);

    /* Makes the context current on the calling thread, and puts back what was. In pairs. */
    int (*attach)(struct gpu_context *context, struct gpu_attached *saved_out);
    void (*detach)(struct gpu_context *context, const struct gpu_attached *saved);

    /* ---- streams. The default stream of CUDA and HIP is NULL. ---- */
    int (*stream_create)(struct gpu_context *context,
                         void **stream_out);                          /* attached; non-blocking */
    int (*stream_destroy)(struct gpu_context *context, void *stream); /* attached */
    /* Sees to it that what was enqueued gets to the device (clFlush; else nothing). */
    int (*stream_flush)(struct gpu_context *context, void *stream);
    int (*stream_wait)(struct gpu_context *context, void *stream); /* attached; blocks until done */
    /* What is put on the stream now would go into a graph, or the driver can't say that it would
     * not. Costs next to nothing; disturbs no capture. */
    bool (*stream_capturing)(struct gpu_context *context, void *stream);

    /* ---- events ---- */
    int (*event_create)(struct gpu_context *context, struct gpu_event *event_out); /* attached */
    void (*event_destroy)(struct gpu_context *context, struct gpu_event *event);   /* attached */
    /* Completes when all that is on the stream now has. Recording again forgets the time before.
     * The thread need not be attached where it has just launched on that stream. */
    int (*event_record)(struct gpu_context *context, struct gpu_event *event, void *stream);
    /* GPU_OK: complete; GPU_NOT_READY, also where a graph capture keeps the driver from answering;
     * else what went wrong with the work or the context. */
    int (*event_query)(struct gpu_context *context, const struct gpu_event *event);

    /* ---- memory ---- */
    int (*memory_alloc)(struct gpu_context *context, uint64_t bytes,
                        struct gpu_memory *memory_out);                          /* attached */
    void (*memory_free)(struct gpu_context *context, struct gpu_memory *memory); /* attached */
    /* Host memory that the copy engine reaches directly, so that a copy does not block the caller.
     */
    int (*host_alloc)(struct gpu_context *context, uint64_t bytes, void **host_out); /* attached */
    void (*host_free)(struct gpu_context *context, void *host);                      /* attached */
    /*
     * For gpu_copy: all pitches are set, are at least what they span, and a slice is a whole number
     * of rows on both sides. is_flat: the part is one run of bytes, width_bytes long.
     */
    int (*copy_part)(struct gpu_context *context, const struct gpu_copy *part, bool is_flat,
                     void *stream); /* attached */

    /* ---- memory of other devices and processes; GPU_UNSUPPORTED in OpenCL ---- */
    /* From now on, for good, copies between the two go directly where the hardware can; *direct_out
     * says whether. Attached to context. */
    int (*peer_enable)(struct gpu_context *context, struct gpu_context *peer, bool *direct_out);
    /* What another process may map the memory by, as long as it is not freed; attached. */
    int (*memory_share)(struct gpu_context *context, const struct gpu_memory *memory,
                        uint8_t words[GPU_SHARE_BYTES]);
    /* bytes: what the sharer says. Counts as memory of this context; not in the sharing process.
     * Attached; may block. */
    int (*memory_map)(struct gpu_context *context, const uint8_t words[GPU_SHARE_BYTES],
                      uint64_t bytes, struct gpu_memory *memory_out);
    void (*memory_unmap)(struct gpu_context *context, struct gpu_memory *memory); /* attached */

    /* ---- kernels ---- */
    /*
     * Compiles and loads; attached; blocks. RBWP_E_UNSUPPORTED: no compiler library, or no text
     * that this backend can use; RBWP_E_INVALID: it does not compile (error has the first line, log
     * all); RBWP_E_MEMORY; RBWP_E_STATE: the context is lost.
     */
    enum rbwp_status (*module_load)(struct gpu_context *context, const struct gpu_code_text *text,
                                    struct gpu_module **module_out, struct rbwp_error *error);
    void (*module_unload)(struct gpu_module *module); /* attached */
    int (*kernel_get)(struct gpu_module *module, const char *name, struct gpu_kernel **kernel_out);
    int (*launch)(struct gpu_kernel *kernel, const struct gpu_launch *launch,
                  void *stream); /* attached */

    /* Ticks in a second of the timer that kernels read (%globaltimer, wall_clock64); 0: not known.
     */
    uint64_t (*timer_hz)(struct gpu_context *context);

    /* ---- what a code means ---- */
    /* RBWP_AGAIN for GPU_NOT_READY; RBWP_E_BUSY for GPU_CAPTURING and its kind; RBWP_E_STATE when
     * the context is lost and every later call on it fails too; RBWP_E_MEMORY, RBWP_E_INVALID,
     * RBWP_E_UNSUPPORTED; else RBWP_E_IO. */
    enum rbwp_status (*status_of)(int code);
    /* One line: "cuda: WHAT: CUDA_ERROR_LAUNCH_FAILED (719)". error may be NULL. Returns
     * status_of(code). */
    enum rbwp_status (*describe)(const struct gpu_driver *driver, int code, const char *what,
                                 struct rbwp_error *error);
};

/* A call between attach and detach; code: what the first of them came to that failed. */
#define GPU_ATTACHED(context, code, call)                                                          \
    do {                                                                                           \
        struct gpu_attached saved_;                                                                \
        code = (context)->backend->attach(context, &saved_);                                       \
        if (code == GPU_OK) {                                                                      \
            code = call;                                                                           \
            (context)->backend->detach(context, &saved_);                                          \
        }                                                                                          \
    } while (0)

/* RBWP_OK, or what the driver says of the code. error may be NULL. */
static inline enum rbwp_status gpu_came_to(const struct gpu_context *context, int code,
                                           const char *what, struct rbwp_error *error)
{
    return code == GPU_OK ? RBWP_OK
                          : context->backend->describe(context->driver, code, what, error);
}

/* Memory of the two is not the same device's, or the driver distinguishes the two. */
static inline bool gpu_is_peer(const struct gpu_context *a, const struct gpu_context *b)
{
    return a->backend != b->backend || a->ordinal != b->ordinal || a->native != b->native;
}

/* The address of a side in an API whose device memory is an address. */
static inline char *gpu_copy_address(const struct gpu_copy_side *side)
{
    return (char *)(side->device ? side->device->native : side->host) + side->offset_bytes;
}

/*
 * Enqueues a copy, after its bounds were checked against the memory's sizes; attached. Host memory
 * must stay until done. May block with host memory not of host_alloc. The first code that is not
 * GPU_OK ends it.
 */
int gpu_copy(struct gpu_context *context, const struct gpu_copy *copy, void *stream);

/* Such a struct, whose functions begin with the backend's name, or those of streams, events and
 * code with the name of who has them for several. */
#define GPU_BACKEND(own, shared, number, codes)                                                    \
    {                                                                                              \
        .name = #own, .api = number, .open = own##_open, .close = shared##_close,                  \
        .device_info = own##_device_info, .context_open = own##_context_open,                      \
        .context_close = own##_context_close, .attach = own##_attach, .detach = own##_detach,      \
        .stream_create = shared##_stream_create, .stream_destroy = shared##_stream_destroy,        \
        .stream_flush = shared##_stream_flush, .stream_wait = shared##_stream_wait,                \
        .stream_capturing = shared##_stream_capturing, .event_create = shared##_event_create,      \
        .event_destroy = shared##_event_destroy, .event_record = shared##_event_record,            \
        .event_query = shared##_event_query, .memory_alloc = own##_memory_alloc,                   \
        .memory_free = own##_memory_free, .host_alloc = own##_host_alloc,                          \
        .host_free = shared##_host_free, .copy_part = own##_copy_part,                             \
        .peer_enable = own##_peer_enable, .memory_share = own##_memory_share,                      \
        .memory_map = own##_memory_map, .memory_unmap = own##_memory_unmap,                        \
        .module_load = shared##_module_load, .module_unload = shared##_module_unload,              \
        .kernel_get = shared##_kernel_get, .launch = shared##_launch, .timer_hz = own##_timer_hz,  \
        .status_of = codes, .describe = own##_describe                                             \
    }

/* One per file cuda.c, hip.c, opencl.c. */
extern const struct gpu_backend gpu_cuda_backend;
extern const struct gpu_backend gpu_hip_backend;
extern const struct gpu_backend gpu_opencl_backend;

/* ---- what the drivers' codes mean ------------------------------------------------------------ */

/* Fills error, which may be NULL, and returns status. */
#define gpu_failure(error, status, ...) failure(error, status, 0, __VA_ARGS__)

/* A call was refused because of a graph capture. CUDA and HIP. */
bool gpu_is_capturing(int code);

/* gpu_backend.status_of for CUDA and HIP, which share their numbers. */
enum rbwp_status gpu_status_of(int code);

/* gpu_backend.describe, once the driver's name of the code is known (NULL: it has none). */
enum rbwp_status gpu_describe(const struct gpu_driver *driver, int code, const char *code_name,
                              const char *what, struct rbwp_error *error);

#endif /* RBWP_GPU_BACKEND_H */
