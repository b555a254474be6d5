/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_execute.h - the fake driver as one that computes: kernels of GPU channels run on the
 * processor, and memory can be mapped by other processes.
 *
 * So does a process that has RBWP_FAKE_GPUS, the number of its devices, in its environment.
 * RBWP_FAKE_REFUSES may name operations (comma between them) that this driver does not support.
 */
#ifndef FAKE_EXECUTE_H
#define FAKE_EXECUTE_H

#include <stdbool.h>
#include <stddef.h>

bool fake_executes(void);

/* A function of a module, which is a text; NULL if it has no such name. */
void *fake_function(char *module, const char *name);
/* Runs what fake_function gave, if it is a kernel that can be run here. */
void fake_execute(const char *kernel, void **arguments);

void *fake_memory_alloc(size_t bytes);
void fake_memory_free(void *memory);
/* What another process, or this one, maps memory by; false if it cannot be had. */
bool fake_memory_share(void *memory, char words[64]);
void *fake_memory_map(const char words[64]);
void fake_memory_unmap(void *memory);

#endif /* FAKE_EXECUTE_H */
