/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h200_torch.c - librbwp for h200_torch.py, which has ctypes: calls without structs.
 */
#include "rbwp_gpu.h"
#include "rbwp_record.h"
#include "rbwp_session.h"

#define EXPORTED __attribute__((visibility("default")))

static struct rbwp_work_manager *manager;
static struct rbwp_gpu_device *device;
static struct rbwp_session *session;
static struct rbwp_gpu_bracket bracket;

EXPORTED int torch_open(void);
EXPORTED void *torch_stream(void *native);
EXPORTED int torch_start(const char *path);
EXPORTED long long torch_stop(void);
EXPORTED void torch_begin(void *stream, unsigned slot);
EXPORTED void torch_end(void);
EXPORTED void torch_drain(void);

int torch_open(void)
{
    const struct rbwp_work_config work = {.size = sizeof work, .workers = 1};
    if (rbwp_work_start(&work, &manager, NULL) != RBWP_OK)
        return -1;
    const struct rbwp_gpu_config config = {.size = sizeof config, .manager = manager};
    return rbwp_gpu_device_open(&config, &device, NULL);
}

void *torch_stream(void *native)
{
    struct rbwp_gpu_stream *stream;
    return rbwp_gpu_stream_open(device, native, RBWP_GPU_USE_STREAM, &stream, NULL) == RBWP_OK
               ? stream
               : NULL;
}

int torch_start(const char *path)
{
    struct rbwp_session_config config;
    rbwp_session_defaults(&config);
    config.level = 1;
    config.logfile = path;
    const int status = rbwp_session_start(&config, &session, NULL);
    return status != RBWP_OK ? status : rbwp_thread_attach("python");
}

/* The records lost, or what went wrong as a negative number. */
long long torch_stop(void)
{
    struct rbwp_session_summary summary;
    const int status = rbwp_session_stop(session, &summary);
    (void)rbwp_thread_detach();
    return status != RBWP_OK ? status : (long long)summary.lost_records;
}

void torch_begin(void *stream, unsigned slot)
{
    rbwp_gpu_bracket_begin(&bracket, stream, slot);
}

void torch_end(void)
{
    rbwp_gpu_bracket_end(&bracket);
}

void torch_drain(void)
{
    (void)!rbwp_gpu_drain(device, 1000000000);
}
