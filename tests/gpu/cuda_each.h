/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_each.h - CUDA's calls by CUDA's names: CUDA_EACH(symbol, parameters), which who uses it
 * defines, for all of them or for those of the backend.
 */
#ifndef CUDA_EACH_H
#define CUDA_EACH_H

#include "cuda_abi.h"

#define CUDA_EACH_SHARED(member, parameters, cuda, hip, in_hip, in_inject)                         \
    CUDA_EACH(cuda, parameters)
#define CUDA_EACH_OWN(symbol, parameters, in_backend, in_inject) CUDA_EACH(symbol, parameters)
#define CUDA_EACH_NEEDED(symbol, parameters, in_backend, in_inject)                                \
    DRIVER_IF_##in_backend(CUDA_EACH(symbol, parameters))
#define CUDA_EACH_OF_ALL DRIVER_CALLS(CUDA_EACH_SHARED) CUDA_CALLS(CUDA_EACH_OWN)
#define CUDA_EACH_OF_BACKEND DRIVER_CALLS(CUDA_EACH_SHARED) CUDA_CALLS(CUDA_EACH_NEEDED)

#endif /* CUDA_EACH_H */
