/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash.h - the hashes by which keys and texts are found again. Not for data that must not be
 * forged: keys of strangers may be chosen to meet in one place, so tables of them are bounded.
 */
#ifndef HASH_H
#define HASH_H

#include <stddef.h>
#include <stdint.h>

#define TEXT_HASH_FIRST UINT64_C(0xcbf29ce484222325)

/* FNV-1a, of what came before, TEXT_HASH_FIRST at first, and these bytes. */
static inline uint64_t text_hash(uint64_t before, const void *text, size_t bytes)
{
    const unsigned char *byte = (const unsigned char *)text;
    for (size_t i = 0; i < bytes; i++)
        before = (before ^ byte[i]) * UINT64_C(0x100000001b3);
    return before;
}

/* Where a key lies in a table: its bits are spread, because keys may count up. */
static inline uint32_t hash_place(uint64_t key)
{
    return (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

/* One key for hash_place out of two; more of them by nesting. */
static inline uint64_t hash_pair(uint64_t first, uint64_t second)
{
    first *= UINT64_C(0xff51afd7ed558ccd);
    return first ^ first >> 32 ^ second;
}

/* All bits of a key in all bits of the hash. */
static inline uint64_t id_hash(uint64_t value)
{
    value ^= value >> 32;
    value *= UINT64_C(0xd6e8feb86659fd93);
    value ^= value >> 32;
    value *= UINT64_C(0xd6e8feb86659fd93);
    return value ^ value >> 32;
}

#endif /* HASH_H */
