/* SPDX-License-Identifier: Apache-2.0 */
/* inject_ptx.h - launches of kernels with probes: which are recorded, and what is said of the
 * others. */
#ifndef INJECT_PTX_H
#define INJECT_PTX_H

#include "inject_device.h"
#include "ptx_shape.h"

/* ---- inject sites ---------------------------------------------------------------------------- */
/*
 * Which module and kernel a launch is of, and whether that has probes.
 *
 * Looked up once for each function: whether its module has the variables of ptx_shape.h. What
 * belongs to a module that went is forgotten, as its handles may be another's then; how many
 * launches of a kernel were recorded is not, by the hash of its module and its name.
 */

enum inject_skip { SKIP_CAPTURE, SKIP_LIMIT, SKIP_MEMORY, SKIP_BUSY, SKIP_WAIT, SKIP_ERROR };
#define INJECT_SKIPS 6

struct inject_kernel {
    struct inject_kernel *next;
    uint64_t hash;
    char *name;
    atomic_uint taken;  /* launches that were recorded, or are */
    atomic_uint before; /* of these, before rbwp_inject_ptx_again */
    atomic_bool closed;
    atomic_ulong skipped[INJECT_SKIPS];
};

#define INJECT_PENDING 4

struct inject_module {
    struct inject_module *next;
    void *handle;
    atomic_bool gone;
    struct inject_device *device;
    struct ptx_shape shape;
    cuda_pointer buffer, dropped; /* the variables; dropped: 0 without */
    /* Each launch has it from its beginning to its end; one that is recorded for itself. What is
     * launched meanwhile would store into its buffer. */
    pthread_rwlock_t lock;
    /* It is in a graph, which may run at any time, or on more streams than these. */
    atomic_bool closed;
    /* Streams on which launches that were not recorded may still run; NULL: none. */
    _Atomic(void *) pending[INJECT_PENDING];
};

static inline size_t inject_buffer_bytes(const struct inject_module *module)
{
    return (size_t)module->shape.buffer_bytes; /* one that is larger than memory has no probes */
}

struct inject_site {
    struct inject_module *module; /* NULL: no probes */
    struct inject_kernel *kernel;
};

/* What a launch says, from whichever call. */
struct inject_launch {
    void *function, *stream, *context; /* context: that of the stream */
    unsigned grid[3], block[3];
    const char *symbol;
    uint32_t correlation;
};

struct inject_site inject_site_of(const struct inject_launch *launch);

/* A module that goes; NULL: any may, as libraries have modules of their own, so all are looked at
 * again. These take no lock. */
void inject_sites_module_gone(const void *handle);
/* A context went, or a handle was made that may mean something else than one before. */
void inject_sites_again(void);
void inject_sites_stream_gone(const void *stream);

struct inject_kernel *inject_kernels(void); /* all that were met */

/* ---- inject ptx ------------------------------------------------------------------------------ */

/* False with the line said: RBWP_PTX_DIR is no folder. */
bool inject_ptx_open(const char *folder);
/* Around each launch, on its thread. */
void inject_ptx_enter(const struct inject_launch *launch);
void inject_ptx_exit(int result);
/* For programs that load us themselves: from now on so many launches of each kernel, whatever was
 * recorded before. */
void rbwp_inject_ptx_again(unsigned launches);
/* At the end of the process: how many launches were not recorded. */
void inject_ptx_close(void);

#endif /* INJECT_PTX_H */
