/* SPDX-License-Identifier: Apache-2.0 */
/* record_words.h - an option that record and compare have in common. */
#ifndef RECORD_WORDS_H
#define RECORD_WORDS_H

#include "options.h"

/* Words with commas between them, as enum record_source. */
bool record_store_sources(void *value, const char *text, struct option_error *error);

#define RECORD_WHAT_OPTION(offset)                                                                 \
    {                                                                                              \
        "what", 0, "SOURCES", "gpu ranges threads work",                                           \
            "gpu, ranges (NVTX), threads, work (of librbwp); default all there is", offset,        \
            record_store_sources                                                                   \
    }

#endif /* RECORD_WORDS_H */
