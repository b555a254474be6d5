/* SPDX-License-Identifier: Apache-2.0 */
/* Offsets that the recorder reads in CPython's structures, and those of the headers of a Python:
 * "NAME RECORDER'S HEADER'S" a line. */
#define Py_BUILD_CORE 1
#include <Python.h>

#include <internal/pycore_frame.h>
#include <internal/pycore_interp.h>
#include <internal/pycore_runtime.h>

#include <stddef.h>
#include <stdio.h>

#include "../../runtime/record/stall/stall_python_layout.h"

#if PY_VERSION_HEX < PYTHON_3_12
#define FRAME_MARK_MEMBER is_entry
#define OURS(in_3_11, in_3_12) in_3_11
#else
#define FRAME_MARK_MEMBER owner
#define OURS(in_3_11, in_3_12) in_3_12
#endif
#define PRINT(name, structure, member, in_3_11, in_3_12)                                           \
    printf(#name " %d %zu\n", OURS(in_3_11, in_3_12), offsetof(structure, member));

int main(void)
{
#if PY_VERSION_HEX >= PYTHON_3_12
    printf("PYTHON_BETWEEN %d %d\n", PYTHON_BETWEEN, FRAME_OWNED_BY_CSTACK);
#endif
    PYTHON_LAYOUT(PRINT)
    return 0;
}
