/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stall_python_layout.h - where CPython 3.11 and 3.12 keep what stall_python.c reads, in bytes.
 *
 * FIELD(name, structure, member, offset in 3.11, in 3.12), by the header that the structure is
 * from; the same on all machines whose pointers have 8 bytes. tests/truth/python_layout.c compares
 * them with the headers of the Python that it is compiled for.
 */
#ifndef STALL_PYTHON_LAYOUT_H
#define STALL_PYTHON_LAYOUT_H

#define PYTHON_3_11 0x030b00f0u /* Py_Version as released */
#define PYTHON_3_12 0x030c00f0u

/* FRAME_MARK is is_entry in 3.11: 1 in a frame that C has called. It is owner in 3.12: 3 in a frame
 * that is no function's, but lies between one that C has called and its caller. */
#define PYTHON_BETWEEN 3

/* clang-format off */
#define PYTHON_LAYOUT(FIELD)                                                                       \
    /* internal/pycore_runtime.h */                                                                \
    FIELD(RUNTIME_INTERPRETERS, struct pyruntimestate, interpreters.head, 40, 40)                  \
    /* internal/pycore_interp.h */                                                                 \
    FIELD(INTERPRETER_NEXT, struct _is, next, 0, 0)                                                \
    FIELD(INTERPRETER_THREADS, struct _is, threads.head, 16, 72)                                   \
    /* cpython/pystate.h */                                                                        \
    FIELD(THREAD_NEXT, struct _ts, next, 8, 8)                                                     \
    FIELD(THREAD_CFRAME, struct _ts, cframe, 56, 56)                                               \
    FIELD(THREAD_OS_ID, struct _ts, native_thread_id, 160, 144)                                    \
    FIELD(CFRAME_FRAME, _PyCFrame, current_frame, 8, 0)                                            \
    /* internal/pycore_frame.h */                                                                  \
    FIELD(FRAME_CODE, _PyInterpreterFrame, f_code, 32, 0)                                          \
    FIELD(FRAME_PREVIOUS, _PyInterpreterFrame, previous, 48, 8)                                    \
    FIELD(FRAME_INSTRUCTION, _PyInterpreterFrame, prev_instr, 56, 56)                              \
    FIELD(FRAME_MARK, _PyInterpreterFrame, FRAME_MARK_MEMBER, 68, 70)                              \
    /* cpython/code.h */                                                                           \
    FIELD(CODE_FIRST_LINE, PyCodeObject, co_firstlineno, 72, 68)                                   \
    FIELD(CODE_FILE, PyCodeObject, co_filename, 112, 112)                                          \
    FIELD(CODE_NAME, PyCodeObject, co_qualname, 128, 128)                                          \
    FIELD(CODE_LINES, PyCodeObject, co_linetable, 136, 136)                                        \
    FIELD(CODE_INSTRUCTIONS, PyCodeObject, co_code_adaptive, 184, 192)                             \
    /* object.h, cpython/bytesobject.h */                                                          \
    FIELD(OBJECT_TYPE, PyObject, ob_type, 8, 8)                                                    \
    FIELD(BYTES_COUNT, PyVarObject, ob_size, 16, 16)                                               \
    FIELD(BYTES_FIRST, PyBytesObject, ob_sval, 32, 32)                                             \
    /* cpython/unicodeobject.h */                                                                  \
    FIELD(TEXT_COUNT, PyASCIIObject, length, 16, 16)                                               \
    FIELD(TEXT_STATE, PyASCIIObject, state, 32, 32)                                                \
    FIELD(TEXT_ASCII, PyCompactUnicodeObject, utf8_length, 48, 40)                                 \
    FIELD(TEXT_OTHER, PyUnicodeObject, data, 72, 56)
/* clang-format on */

#endif /* STALL_PYTHON_LAYOUT_H */
