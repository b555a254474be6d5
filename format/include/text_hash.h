/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_hash.h - the hash by which texts are found again (FNV-1a). Not for data that must not be
 * forged: texts of strangers may be chosen to meet in one place, so tables of them are bounded.
 */
#ifndef TEXT_HASH_H
#define TEXT_HASH_H

#include <stddef.h>
#include <stdint.h>

#define TEXT_HASH_FIRST UINT64_C(0xcbf29ce484222325)

/* Of what came before, TEXT_HASH_FIRST at first, and these bytes. */
static inline uint64_t text_hash(uint64_t before, const void *text, size_t bytes)
{
    const unsigned char *byte = (const unsigned char *)text;
    for (size_t i = 0; i < bytes; i++)
        before = (before ^ byte[i]) * UINT64_C(0x100000001b3);
    return before;
}

#endif /* TEXT_HASH_H */
