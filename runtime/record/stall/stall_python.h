/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stall_python.h - the Python functions that a thread is in, and rows of the table python_frame.
 *
 * The interpreter is not asked, nor its lock taken: its structures are read as they lie in memory
 * (stall_python_layout.h), while other threads may change them. What is read counts if it has the
 * type that it should have, and if a second reading finds the same. Nothing is allocated.
 */
#ifndef STALL_PYTHON_H
#define STALL_PYTHON_H

#include <stdint.h>

struct stack_copy;

#define PYTHON_FRAMES_MAX 128u /* of a thread, the innermost ones */

struct python_frame {
    uint64_t function, file, line, entry; /* as in the table */
};

/* Before a session. */
void python_prepare(unsigned table);
/* The Python frames of the thread whose stack this is, into copy->python: none, if it is in no
 * Python function, or if it is not known in which. Behind code_load. */
void python_read(struct stack_copy *copy);
/* Their rows, between stray_rows_begin and _end. */
void python_write(const struct stack_copy *copy);

#endif /* STALL_PYTHON_H */
