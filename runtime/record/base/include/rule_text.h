/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rule_text.h - what a rule says.
 *
 *     call:NAME>10ms      a call of a work item of this name lasted longer
 *     queue:NAME>5ms      work for one waited longer until it was begun (rbwp_queue.h)
 *     counter:NAME>100    a counter had a larger value (rbwp_counter.h)
 */
#ifndef RULE_TEXT_H
#define RULE_TEXT_H

#include "rbwp_format.h"

enum rule_kind { RULE_CALL, RULE_QUEUE, RULE_COUNTER, RULE_KINDS };

struct rule_text {
    enum rule_kind kind;
    const char *name; /* in the text */
    size_t name_bytes;
    uint64_t limit; /* ns, or the counter's */
};

/* False: it is none. */
bool rule_text_read(const char *text, size_t count, struct rule_text *rule_out);

/* One rule, or several with commas between them. RBWP_E_USAGE: error says how they look. */
enum rbwp_status rule_text_check(const char *text, struct rbwp_error *error);

#endif /* RULE_TEXT_H */
