/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inject_buffers.h - room for CUPTI's records of finished work.
 *
 * CUPTI asks for it on a thread of the program, in the middle of a launch, and wants it to be all
 * zero. So some are there before, and each is cleared by who gives it back.
 */
#ifndef INJECT_BUFFERS_H
#define INJECT_BUFFERS_H

#include <stddef.h>
#include <stdint.h>

/* Makes the first ones. Again, or without memory: nothing happens. */
void inject_buffers_prepare(void);
/* NULL: as many are in use as may be, or there is no memory. It stays the process's. */
uint8_t *inject_buffer_take(size_t *bytes_out);
void inject_buffer_give(uint8_t *buffer);
/* In a forked child, where a thread may have been inside. */
void inject_buffers_forget(void);

#endif /* INJECT_BUFFERS_H */
