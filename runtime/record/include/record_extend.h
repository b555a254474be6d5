/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_extend.h - for parts built upon the recorder (the GPU side is one): what they may ask of
 * the session in progress, and what they are told of its end.
 *
 * Not installed: it has not settled. Any thread, any time, unless it says otherwise.
 */
#ifndef RECORD_EXTEND_H
#define RECORD_EXTEND_H

#include "rbwp_format.h"

/*
 * Queues an opaque block for the file (SPEC.md, "Opaque blocks"); data is copied. At most so many
 * bytes wait unwritten; they are not in FILE.live, so a crash loses them. Takes a lock; not for
 * hot paths. RBWP_OK; RBWP_E_STATE: no session, or one that writes nothing beyond version 1;
 * RBWP_E_LIMIT: too much is waiting; RBWP_E_INVALID: no tag; RBWP_E_MEMORY.
 */
#define RBWP_EXTEND_BYTES_MAX (16u << 20)
RBWP_MUST_USE enum rbwp_status rbwp_extend_block(const char tag[4], const void *data,
                                                 uint32_t size_bytes);

/* Counts records that were lost before they could be recorded, on the calling thread. */
void rbwp_extend_loss(enum rbwp_loss_cause cause, uint64_t count);

/* The calling thread, as block headers name it; 0 if it is not attached. */
uint64_t rbwp_extend_thread(void);

/* A GPU, for the trailers of this and all later sessions; copied. A known processor id is replaced.
 * RBWP_E_MEMORY. */
RBWP_MUST_USE enum rbwp_status rbwp_extend_gpu(const struct rbwp_gpu_info *gpu);

/* Where a session's end has got to. */
enum rbwp_extend_moment {
    RBWP_EXTEND_STOPPING = 1, /* recording still works; a last chance, and it may block */
    RBWP_EXTEND_EXITING = 2,  /* instead of it, when the process exits with a session running:
                                 other libraries may have been taken down already */
    RBWP_EXTEND_STOPPED = 3,  /* recording has ended */
    RBWP_EXTEND_GOES_ON = 4,  /* instead of it: the session could not be ended (RBWP_E_BUSY) */
};

/* Calls hook at each end of a session, on the thread that ends it. At most
 * RBWP_EXTEND_HOOKS_MAX, RBWP_E_LIMIT after that; one that is there already is not added. */
#define RBWP_EXTEND_HOOKS_MAX 8
typedef void (*rbwp_extend_hook_fn)(enum rbwp_extend_moment moment);
RBWP_MUST_USE enum rbwp_status rbwp_extend_at_end(rbwp_extend_hook_fn hook);

#endif /* RECORD_EXTEND_H */
