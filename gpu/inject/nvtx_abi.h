/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvtx_abi.h - what we use of NVTX 3's interface for tools, in our own words: a program that was
 * built with its header-only library looks for InitializeInjectionNvtx2 in the library of
 * NVTX_INJECTION64_PATH when it first uses it, and hands over a function that gives tables. In
 * these are the places of its functions, which a tool fills.
 *
 * tests/gpu/abi_nvtx.c compares all of it with the real headers.
 */
#ifndef NVTX_ABI_H
#define NVTX_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

typedef const void *nvtx_get_table(uint32_t table);
#define NVTX_TABLE_CALLBACKS 1

typedef void (*nvtx_function)(void);
/* Of a module: places of functions by number; place 0 is none. */
struct nvtx_callbacks {
    size_t bytes;
    int (*functions)(int module, nvtx_function ***places_out, unsigned *count_out);
};

#define NVTX_MODULE_CORE 1
#define NVTX_MODULE_DOMAINS 5

enum nvtx_core {
    NVTX_MARK_EX = 1,
    NVTX_MARK_A,
    NVTX_MARK_W,
    NVTX_START_EX,
    NVTX_START_A,
    NVTX_START_W,
    NVTX_END,
    NVTX_PUSH_EX,
    NVTX_PUSH_A,
    NVTX_PUSH_W,
    NVTX_POP,
    NVTX_NAME_THREAD_A = 14,
    NVTX_NAME_THREAD_W
};
enum nvtx_domains {
    NVTX_DOMAIN_MARK_EX = 1,
    NVTX_DOMAIN_START_EX,
    NVTX_DOMAIN_END,
    NVTX_DOMAIN_PUSH_EX,
    NVTX_DOMAIN_POP,
    NVTX_DOMAIN_REGISTER_A = 10,
    NVTX_DOMAIN_REGISTER_W,
    NVTX_DOMAIN_CREATE_A,
    NVTX_DOMAIN_CREATE_W,
    NVTX_DOMAIN_DESTROY
};

/* Of an event; a later version may be longer. */
struct nvtx_attributes {
    uint16_t version, bytes;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    union {
        uint64_t u64;
        int64_t i64;
        double f64;
        uint32_t u32;
        int32_t i32;
        float f32;
    } payload;
    int32_t message_type;
    union {
        const char *text;
        const wchar_t *wide;
        void *registered;
    } message;
};
enum nvtx_payload { NVTX_U64 = 1, NVTX_I64, NVTX_F64, NVTX_U32, NVTX_I32, NVTX_F32 };
enum nvtx_message { NVTX_TEXT = 1, NVTX_WIDE, NVTX_REGISTERED };

#endif /* NVTX_ABI_H */
