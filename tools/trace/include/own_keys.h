/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_keys.h - keys that our exports write beside a span's arguments, in the same object.
 *
 * An argument whose key is one of them is written with "arg." before it, so that no reader takes
 * it for ours; one that has that already, with one more. Read back, it is what it was.
 */
#ifndef OWN_KEYS_H
#define OWN_KEYS_H

#include "trace_category.h"
#include "trace_text.h"

#include <string.h>

#define OWN_KEY_PREFIX "arg."
enum { OWN_KEY_PREFIX_BYTES = sizeof OWN_KEY_PREFIX - 1 };

static inline bool own_key_begins(struct trace_text key)
{
    return key.bytes >= OWN_KEY_PREFIX_BYTES &&
           memcmp(key.text, OWN_KEY_PREFIX, OWN_KEY_PREFIX_BYTES) == 0;
}

static inline struct trace_text own_key_behind(struct trace_text key)
{
    return (struct trace_text){key.text + OWN_KEY_PREFIX_BYTES, key.bytes - OWN_KEY_PREFIX_BYTES};
}

enum own_key {
    OWN_UNFINISHED,
    OWN_OPEN,
    OWN_SLOT,
    OWN_ITEM,
    OWN_LAUNCH_NS,
    OWN_LAUNCH_THREAD,
    OWN_LAUNCH_INFERRED,
    OWN_CERTAIN_NS,
    OWN_START_UNCERTAIN_NS,
    OWN_STOP_UNCERTAIN_NS,
    OWN_RBWP, /* an object of such */
    OWN_KEYS
};
/* OWN_KEYS: it is none. */
static inline enum own_key own_key_number(struct trace_text key)
{
    static const char *const words[OWN_KEYS] = {"unfinished",
                                                "open",
                                                "slot",
                                                "item",
                                                "launch_ns",
                                                "launch_thread",
                                                "launch_inferred",
                                                "certain_ns",
                                                "start_uncertain_ns",
                                                "stop_uncertain_ns",
                                                "rbwp"};
    return (enum own_key)trace_word_number(words, OWN_KEYS, key);
}

/* Whether an argument's key needs the prefix. */
static inline bool own_key_is_taken(struct trace_text key)
{
    while (own_key_begins(key))
        key = own_key_behind(key);
    return own_key_number(key) < OWN_KEYS;
}

/* "slot" or "item", or NULL where a span has none. */
static inline const char *own_key_of_item(enum trace_category category, uint32_t item)
{
    if (category == TRACE_CALL || category == TRACE_GPU_WORK)
        return "slot";
    return category <= TRACE_SUB_ITEM || item ? "item" : NULL;
}

/* The key that the source gave to an argument of an export of ours. */
static inline struct trace_text own_key_given(struct trace_text key)
{
    return own_key_begins(key) && own_key_is_taken(key) ? own_key_behind(key) : key;
}

#endif /* OWN_KEYS_H */
