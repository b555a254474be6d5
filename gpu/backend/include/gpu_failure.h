/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_failure.h - one line of text for what went wrong, and what the drivers' codes mean.
 */
#ifndef RBWP_GPU_FAILURE_H
#define RBWP_GPU_FAILURE_H

#include "failure.h"
#include "gpu_backend.h"

/* Fills error, which may be NULL, and returns status. */
#define gpu_failure(error, status, ...) failure(error, status, 0, __VA_ARGS__)

/* A call was refused because of a graph capture. CUDA and HIP. */
bool gpu_is_capturing(int code);

/* gpu_backend.status_of for CUDA and HIP, which share their numbers. */
enum rbwp_status gpu_status_of(int code);

/* gpu_backend.describe, once the driver's name of the code is known (NULL: it has none). */
enum rbwp_status gpu_describe(const struct gpu_driver *driver, int code, const char *code_name,
                              const char *what, struct rbwp_error *error);

#endif /* RBWP_GPU_FAILURE_H */
