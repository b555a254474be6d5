/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fake driver as OpenCL. A marker is an event that is born when it is enqueued. Handles of
 * platform, context and devices are small numbers.
 */
#include "fake.h"
#include "opencl_abi.h"

#include <stdlib.h>
#include <string.h>

#define OCL_DECLARE(result, symbol, parameters) FAKE_API result symbol parameters;
OCL_FUNCTIONS(OCL_DECLARE)

#define INVALID_VALUE (-30)
#define FAKE_OPENCL_CALL(operation)                                                                \
    do {                                                                                           \
        int code_ = fake_call(operation);                                                          \
        if (code_)                                                                                 \
            return code_;                                                                          \
    } while (0)

#define HANDLE(number) ((void *)(intptr_t)(number))

static ocl_int give(const void *value, size_t bytes, size_t room, void *to, size_t *size)
{
    if (size)
        *size = bytes;
    if (to && room < bytes)
        return INVALID_VALUE;
    if (to)
        memcpy(to, value, bytes);
    return 0;
}

ocl_int clGetPlatformIDs(ocl_uint room, ocl_platform *platform, ocl_uint *count)
{
    FAKE_OPENCL_CALL("init");
    if (room && platform)
        platform[0] = HANDLE(1);
    *count = 1;
    return 0;
}
ocl_int clGetPlatformInfo(ocl_platform platform, ocl_uint what, size_t room, void *to, size_t *size)
{
    (void)platform, (void)what;
    return give("OpenCL 3.0 fake", 16, room, to, size);
}
ocl_int clGetDeviceIDs(ocl_platform platform, ocl_flags type, ocl_uint room, ocl_device *device,
                       ocl_uint *count)
{
    (void)platform, (void)type;
    if (count)
        *count = (ocl_uint)fake_device_count();
    for (ocl_uint i = 0; device && i < room; i++)
        device[i] = HANDLE(i + 1);
    return fake_device_count() ? 0 : OCL_DEVICE_NOT_FOUND;
}
ocl_int clGetDeviceInfo(ocl_device device, ocl_uint what, size_t room, void *to, size_t *size)
{
    (void)device;
    FAKE_OPENCL_CALL("device_info");
    if (what == OCL_DEVICE_NAME)
        return give("fake 0", 7, room, to, size);
    const uint64_t wide = 1;
    const ocl_uint narrow = 1;
    (void)(room == sizeof narrow ? give(&narrow, sizeof narrow, room, to, size)
                                 : give(&wide, sizeof wide, room, to, size));
    return fake_call("attribute");
}
ocl_context clCreateContext(const ocl_property *properties, ocl_uint count,
                            const ocl_device *devices,
                            void (*notify)(const char *, const void *, size_t, void *), void *data,
                            ocl_int *code)
{
    (void)properties, (void)count, (void)devices, (void)notify, (void)data;
    *code = fake_call("context_open");
    return HANDLE(1);
}
ocl_int clRetainContext(ocl_context context)
{
    (void)context;
    return fake_call("context_open");
}
ocl_int clReleaseContext(ocl_context context)
{
    (void)context;
    return fake_call("context_close");
}
ocl_queue clCreateCommandQueue(ocl_context context, ocl_device device, ocl_flags properties,
                               ocl_int *code)
{
    (void)context, (void)properties;
    *code = fake_call("stream_create");
    return *code ? NULL : fake_stream_new((int)(intptr_t)device - 1);
}
ocl_int clReleaseCommandQueue(ocl_queue queue)
{
    fake_stream_free(queue);
    return 0;
}
ocl_int clGetCommandQueueInfo(ocl_queue queue, ocl_uint what, size_t room, void *to, size_t *size)
{
    void *handle = HANDLE(what == OCL_QUEUE_DEVICE ? ((struct fake_stream *)queue)->device + 1 : 1);
    ocl_flags properties = 0;
    return what == OCL_QUEUE_PROPERTIES ? give(&properties, sizeof properties, room, to, size)
                                        : give(&handle, sizeof handle, room, to, size);
}
ocl_int clFlush(ocl_queue queue)
{
    (void)queue;
    return fake_call("stream_flush");
}
ocl_int clFinish(ocl_queue queue)
{
    fake_complete(queue, UINT32_MAX);
    return 0;
}
#ifndef FAKE_OLD
ocl_int clEnqueueMarkerWithWaitList(ocl_queue queue, ocl_uint count, const ocl_event *waits,
                                    ocl_event *event)
{
    (void)count, (void)waits;
    FAKE_OPENCL_CALL("event_record");
    *event = fake_event_new(false);
    (void)fake_event_mark(*event, queue);
    return 0;
}
#endif
ocl_int clGetEventInfo(ocl_event event, ocl_uint what, size_t room, void *to, size_t *size)
{
    (void)what;
    FAKE_OPENCL_CALL("event_query");
    ocl_int state = fake_event_query(event) == 0 ? 0 : 3;
    return give(&state, sizeof state, room, to, size);
}
ocl_int clReleaseEvent(ocl_event event)
{
    fake_event_free(event);
    return 0;
}
ocl_memory clCreateBuffer(ocl_context context, ocl_flags flags, size_t bytes, void *host,
                          ocl_int *code)
{
    (void)context, (void)flags, (void)host;
    *code = fake_call("memory_alloc");
    return *code ? NULL : malloc(bytes);
}
ocl_int clReleaseMemObject(ocl_memory memory)
{
    free(memory);
    return fake_call("memory_free");
}
static ocl_int fake_opencl_move(ocl_queue queue, char *to, const char *from, size_t bytes)
{
    FAKE_OPENCL_CALL("copy");
    memcpy(to, from, bytes);
    fake_enqueue(queue);
    return 0;
}
ocl_int clEnqueueReadBuffer(ocl_queue queue, ocl_memory memory, ocl_bool wait, size_t at,
                            size_t bytes, void *to, ocl_uint count, const ocl_event *waits,
                            ocl_event *event)
{
    (void)wait, (void)count, (void)waits, (void)event;
    return fake_opencl_move(queue, to, (char *)memory + at, bytes);
}
ocl_int clEnqueueWriteBuffer(ocl_queue queue, ocl_memory memory, ocl_bool wait, size_t at,
                             size_t bytes, const void *from, ocl_uint count, const ocl_event *waits,
                             ocl_event *event)
{
    (void)wait, (void)count, (void)waits, (void)event;
    fake_note_source(from, bytes);
    return fake_opencl_move(queue, (char *)memory + at, from, bytes);
}
ocl_int clEnqueueCopyBuffer(ocl_queue queue, ocl_memory from, ocl_memory to, size_t from_at,
                            size_t to_at, size_t bytes, ocl_uint count, const ocl_event *waits,
                            ocl_event *event)
{
    (void)count, (void)waits, (void)event;
    return fake_opencl_move(queue, (char *)to + to_at, (char *)from + from_at, bytes);
}
static ocl_int move_rect(ocl_queue queue, char *to, const char *from, const size_t *to_origin,
                         const size_t *from_origin, const size_t *region, const size_t pitch[4])
{
    FAKE_OPENCL_CALL("copy");
    to += to_origin[0];
    from += from_origin[0];
    for (size_t z = 0; z < region[2]; z++)
        for (size_t y = 0; y < region[1]; y++)
            memcpy(to + z * pitch[1] + y * pitch[0], from + z * pitch[3] + y * pitch[2], region[0]);
    fake_enqueue(queue);
    return 0;
}
ocl_int clEnqueueReadBufferRect(ocl_queue queue, ocl_memory memory, ocl_bool wait,
                                const size_t *origin, const size_t *host_origin,
                                const size_t *region, size_t row, size_t slice, size_t host_row,
                                size_t host_slice, void *to, ocl_uint count, const ocl_event *waits,
                                ocl_event *event)
{
    (void)wait, (void)count, (void)waits, (void)event;
    return move_rect(queue, to, memory, host_origin, origin, region,
                     (const size_t[]){host_row, host_slice, row, slice});
}
ocl_int clEnqueueWriteBufferRect(ocl_queue queue, ocl_memory memory, ocl_bool wait,
                                 const size_t *origin, const size_t *host_origin,
                                 const size_t *region, size_t row, size_t slice, size_t host_row,
                                 size_t host_slice, const void *from, ocl_uint count,
                                 const ocl_event *waits, ocl_event *event)
{
    (void)wait, (void)count, (void)waits, (void)event;
    return move_rect(queue, memory, from, origin, host_origin, region,
                     (const size_t[]){row, slice, host_row, host_slice});
}
ocl_int clEnqueueCopyBufferRect(ocl_queue queue, ocl_memory from, ocl_memory to,
                                const size_t *from_origin, const size_t *to_origin,
                                const size_t *region, size_t from_row, size_t from_slice,
                                size_t to_row, size_t to_slice, ocl_uint count,
                                const ocl_event *waits, ocl_event *event)
{
    (void)count, (void)waits, (void)event;
    return move_rect(queue, to, from, to_origin, from_origin, region,
                     (const size_t[]){to_row, to_slice, from_row, from_slice});
}
ocl_program clCreateProgramWithSource(ocl_context context, ocl_uint count, const char **texts,
                                      const size_t *sizes, ocl_int *code)
{
    (void)context, (void)count, (void)sizes;
    *code = fake_call("module_load");
    return *code ? NULL : strdup(texts[0]);
}
ocl_int clBuildProgram(ocl_program program, ocl_uint count, const ocl_device *devices,
                       const char *options, void (*notify)(ocl_program, void *), void *data)
{
    (void)count, (void)devices, (void)options, (void)notify, (void)data;
    return strstr(program, "#error") ? OCL_BUILD_PROGRAM_FAILURE : 0;
}
ocl_int clGetProgramBuildInfo(ocl_program program, ocl_device device, ocl_uint what, size_t room,
                              void *to, size_t *size)
{
    (void)program, (void)device, (void)what;
    return give("error: says the source\n", 24, room, to, size);
}
ocl_int clReleaseProgram(ocl_program program)
{
    free(program);
    return 0;
}
ocl_kernel clCreateKernel(ocl_program program, const char *name, ocl_int *code)
{
    *code = strstr(program, name) ? 0 : -46;
    return strstr(program, name);
}
ocl_int clReleaseKernel(ocl_kernel kernel)
{
    (void)kernel;
    return 0;
}
ocl_int clSetKernelArg(ocl_kernel kernel, ocl_uint index, size_t bytes, const void *value)
{
    (void)kernel, (void)index, (void)bytes, (void)value;
    return 0;
}
ocl_int clEnqueueNDRangeKernel(ocl_queue queue, ocl_kernel kernel, ocl_uint dimensions,
                               const size_t *offset, const size_t *global, const size_t *local,
                               ocl_uint count, const ocl_event *waits, ocl_event *event)
{
    (void)dimensions, (void)offset, (void)count, (void)waits, (void)event;
    if (!global[0] || !local[0])
        return INVALID_VALUE;
    return fake_launch(kernel, queue, NULL);
}
