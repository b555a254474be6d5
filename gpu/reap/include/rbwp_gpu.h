/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbwp_gpu.h - when does what a work item launched on a GPU really run?
 *
 *     rbwp_gpu_device_open(&config, &device, &error);         once per GPU; config.manager reaps
 *     rbwp_gpu_stream_open(device, cuda_stream, RBWP_GPU_USE_STREAM, &stream, &error);
 *
 *     struct rbwp_gpu_bracket bracket;                         inside a do_work
 *     rbwp_gpu_bracket_begin(&bracket, stream, slot);
 *     launch_my_kernel(cuda_stream);
 *     rbwp_gpu_bracket_end(&bracket);                          or _cancel, if the launch failed
 *
 * Each bracket becomes one GPU_WORK record: processor id, slot, and the times at which the
 * completion of what came before it on the stream, and of the bracket itself, was seen; where the
 * stream was idle, the work starts when it had been launched, at the bracket's end. With no
 * session running a bracket is one predicted branch: no event is created, nothing is recorded.
 *
 * How it works: an untimed event is recorded on the stream and queued; reaping asks the driver for
 * the oldest event of each stream again and again, in FIFO order. Reaping is a work item of the
 * program's work manager (one per device) that is active while anything is pending; without a
 * manager, rbwp_gpu_poll reaps. Between streams no order is promised.
 *
 * Drivers are found at run time. No driver, too old a driver, no device: RBWP_E_UNSUPPORTED and a
 * reason; the program runs on. NULL in place of a device or stream is fine in every call that
 * returns nothing: so a program that found no GPU needs no branches of its own.
 *
 * Threads: any call from any thread, callbacks included, unless it says otherwise. Launches under
 * one stream must be ordered by the caller, as the drivers want it too.
 *
 * Graphs: a bracket around the launch of a graph times it like any launch. What is launched into a
 * stream while that is captured does not run then: a bracket that begins or ends there records
 * nothing and is counted (RBWP_LOSS_GPU_CAPTURE), a notification is refused (RBWP_E_BUSY). No call
 * here, and no reaper, disturbs a capture of the program, in whatever mode.
 *
 * Forks: drivers do not work in a forked child. There its parent's devices and streams are as if
 * closed: no event is asked for, closing frees nothing, a notification is refused (RBWP_E_STATE),
 * a bracket is counted as lost (RBWP_LOSS_GPU_FAILED).
 */
#ifndef RBWP_GPU_H
#define RBWP_GPU_H

#include "rbwp_format.h"
#include "rbwp_work.h"

RBWP_C_BEGIN_

enum rbwp_gpu_api { RBWP_GPU_CUDA = 0, RBWP_GPU_HIP = 1, RBWP_GPU_OPENCL = 2 };
/* "cuda", "hip", "opencl"; "unknown" for other values. Static text. */
RBWP_API const char *rbwp_gpu_api_name(unsigned api);

/* ---- devices ---------------------------------------------------------------- */

/* How a device is opened. Zero in a field means its default. */
struct rbwp_gpu_config {
    size_t size; /* sizeof(struct rbwp_gpu_config) */
    enum rbwp_gpu_api api;
    unsigned ordinal;                  /* of the device, from 0, as the driver counts */
    uint64_t proc_id;                  /* in GPU_WORK; default (api + 1) << 32 | ordinal */
    struct rbwp_work_manager *manager; /* reaps; NULL: the program calls rbwp_gpu_poll */
    uint64_t drain_limit_ns;      /* longest wait for pending work when the session stops and when a
                                     stream or the device is closed; default 1 s */
    bool no_bias;                 /* do not measure what reaping reads late (some ms) */
    const char *driver_library;   /* path of libcuda, libamdhip64, libOpenCL; default the usual */
    const char *compiler_library; /* path of libnvrtc, libhiprtc; default the usual */
};

struct rbwp_gpu_device; /* opaque */

/* How many devices an API offers. RBWP_E_UNSUPPORTED with a reason; *count_out is 0 then.
 * driver_library NULL = the usual names. */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_gpu_count(enum rbwp_gpu_api api,
                                                       const char *driver_library,
                                                       unsigned *count_out,
                                                       struct rbwp_error *error);

/*
 * Opens a device: shares the driver's context of the process where there is one (CUDA's primary
 * context, HIP's). May block for as long as the driver takes to start. RBWP_E_UNSUPPORTED (no
 * driver, too old, no such device), RBWP_E_INVALID (config), RBWP_E_MEMORY, RBWP_E_LIMIT (no slot
 * for the reaper), RBWP_E_IO (the driver failed). error gets one line.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_gpu_device_open(const struct rbwp_gpu_config *config,
                                                             struct rbwp_gpu_device **device_out,
                                                             struct rbwp_error *error);

/*
 * Waits up to the limit for what is pending, then closes its streams, and the device. Callbacks of
 * what is still pending run with RBWP_E_STATE. Must come before rbwp_work_stop of the manager. Not
 * from a callback (RBWP_E_STATE).
 */
RBWP_API enum rbwp_status rbwp_gpu_device_close(struct rbwp_gpu_device *device);

/* What is known of an open device. May grow at its end. */
struct rbwp_gpu_facts {
    char name[128];
    uint64_t proc_id;
    unsigned multiprocessors;
    uint64_t memory_bytes;
    bool on_cpu;            /* executes on the host's processors */
    unsigned bias_rounds;   /* 0: bias was not measured */
    int64_t bias_ns;        /* median excess of bracket over kernel duration */
    int64_t bias_spread_ns; /* between the quartiles of the rounds */
    /* The same of a stream that was idle, and of one whose start was seen after the launch above.
     */
    unsigned idle_rounds;
    int64_t idle_bias_ns, idle_spread_ns;
};
/* facts_bytes: the struct's size where the caller was compiled. */
RBWP_API void rbwp_gpu_device_facts_sized(const struct rbwp_gpu_device *device,
                                          struct rbwp_gpu_facts *facts_out, size_t facts_bytes);
static inline void rbwp_gpu_device_facts(const struct rbwp_gpu_device *device,
                                         struct rbwp_gpu_facts *facts_out)
{
    rbwp_gpu_device_facts_sized(device, facts_out, sizeof *facts_out);
}

/* ---- streams ---------------------------------------------------------------- */

/* What a stream is used for: the name of its reaping at level 2 (type GPU_REAP). */
enum rbwp_gpu_use {
    RBWP_GPU_USE_STREAM = 0,           /* "stream reap" */
    RBWP_GPU_USE_DEVICE_TO_HOST = 1,   /* "device-to-host" */
    RBWP_GPU_USE_HOST_TO_DEVICE = 2,   /* "host-to-device" */
    RBWP_GPU_USE_DEVICE_TO_DEVICE = 3, /* "device-to-device" */
};
/* Their names in 0.1. */
#define rbwp_gpu_reap rbwp_gpu_use
#define RBWP_GPU_REAP_STREAM RBWP_GPU_USE_STREAM
#define RBWP_GPU_REAP_DEVICE_TO_HOST RBWP_GPU_USE_DEVICE_TO_HOST
#define RBWP_GPU_REAP_HOST_TO_DEVICE RBWP_GPU_USE_HOST_TO_DEVICE
#define RBWP_GPU_REAP_DEVICE_TO_DEVICE RBWP_GPU_USE_DEVICE_TO_DEVICE

struct rbwp_gpu_stream; /* opaque */

/*
 * Takes a stream of the program into use: a CUstream, hipStream_t or cl_command_queue (in order),
 * of any context of the device. NULL is the default stream in CUDA and HIP, the legacy one also in
 * code that is compiled for default streams per thread: such code passes cudaStreamPerThread,
 * hipStreamPerThread, of which each thread has its own; a bracket there ends on the thread on which
 * it began. The stream stays the
 * program's and must outlive this, or be given up with rbwp_gpu_stream_close when it is gone.
 * RBWP_E_INVALID (other device, out-of-order queue), RBWP_E_MEMORY, RBWP_E_STATE (context lost),
 * RBWP_E_IO.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_gpu_stream_open(struct rbwp_gpu_device *device,
                                                             void *native, enum rbwp_gpu_use use,
                                                             struct rbwp_gpu_stream **stream_out,
                                                             struct rbwp_error *error);

/*
 * Waits up to the device's limit for what is pending, then frees. What is pending after that, or
 * at once if the driver says that stream or context are gone: callbacks run with RBWP_E_STATE, on
 * this thread, and brackets are counted as losses (RBWP_LOSS_GPU_PENDING). Nobody may use the
 * stream any more. Not from a callback (RBWP_E_STATE).
 */
RBWP_API enum rbwp_status rbwp_gpu_stream_close(struct rbwp_gpu_stream *stream);

/* ---- notifications ------------------------------------------------------------ */

/*
 * All that was on the stream has completed; seen_ns is when that was seen (rbwp_now_ns's line).
 * outcome: RBWP_OK; RBWP_E_STATE when stream or context were lost or closed first; RBWP_E_IO when
 * the driver reports that work failed. Runs once, on the thread that reaps, outside all locks. May
 * add notifications and brackets; may not close streams or devices.
 */
typedef void (*rbwp_gpu_callback_fn)(void *argument, enum rbwp_status outcome, int64_t seen_ns);

/* Calls back when all that is on the stream now has completed. At any level. RBWP_E_MEMORY,
 * RBWP_E_STATE (context lost), RBWP_E_BUSY (the stream is being captured into a graph: ask again
 * when that has ended), RBWP_E_IO: then callback is not called. */
RBWP_API RBWP_MUST_USE enum rbwp_status
rbwp_gpu_notify(struct rbwp_gpu_stream *stream, rbwp_gpu_callback_fn callback, void *argument);

/*
 * Reaps what has completed on all streams of a device, for programs with a pool of their own. The
 * thread should be attached (rbwp_thread_attach), else its GPU_WORK records are lost and counted.
 * RBWP_OK: reaped something; RBWP_AGAIN: something is pending; RBWP_END: nothing is pending;
 * RBWP_E_BUSY: another thread is reaping.
 */
RBWP_API enum rbwp_status rbwp_gpu_poll(struct rbwp_gpu_device *device);

/* Reaps until nothing that is pending now is pending any more. RBWP_OK, or RBWP_AGAIN after
 * limit_ns. Not from a callback (RBWP_E_STATE). */
RBWP_API enum rbwp_status rbwp_gpu_drain(struct rbwp_gpu_device *device, uint64_t limit_ns);

/* ---- brackets ------------------------------------------------------------------- */

/* A bracket: a value on the stack of whoever launches. Its fields are not for use. */
struct rbwp_gpu_bracket {
    struct rbwp_gpu_stream *stream; /* NULL: not recorded */
    void *end;
};

/*
 * What is launched on stream between begin and end is one GPU work of slot (the launching work
 * item's, 0-255). Each begin needs its end or its cancel, on any thread. Brackets on one stream
 * may overlap. What goes wrong here is counted as a loss and never reaches the program.
 */
RBWP_API void rbwp_gpu_bracket_begin(struct rbwp_gpu_bracket *bracket,
                                     struct rbwp_gpu_stream *stream, unsigned slot);
RBWP_API void rbwp_gpu_bracket_end(struct rbwp_gpu_bracket *bracket);
/* Instead of end: nothing was launched. No record. */
RBWP_API void rbwp_gpu_bracket_cancel(struct rbwp_gpu_bracket *bracket);

/* Between begin and end: the id of its launch, the correlation of its row in gpu_activity (SPEC.md,
 * 9.3), for other tables; 0 if it is not recorded. */
RBWP_API uint64_t rbwp_gpu_bracket_launch(const struct rbwp_gpu_bracket *bracket);

RBWP_C_END_
#endif /* RBWP_GPU_H */
