/* SPDX-License-Identifier: Apache-2.0 */
/*
 * le_words.h - numbers of the host as a GPU has them in its memory, which is little-endian; and
 * back, as it is the same.
 */
#ifndef LE_WORDS_H
#define LE_WORDS_H

#include "bytes.h"

static inline void le_words(uint64_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        store_le64(&words[i], words[i]);
}

static inline void le_halves(uint32_t *halves, size_t count)
{
    for (size_t i = 0; i < count; i++)
        store_le32(&halves[i], halves[i]);
}

#endif /* LE_WORDS_H */
