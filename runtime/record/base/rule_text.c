/* SPDX-License-Identifier: Apache-2.0 */
#include "rule_text.h"

#include "failure.h"
#include "limit_text.h"

#include <string.h>

static const char *const kind_names[RULE_KINDS] = {"call:", "queue:", "counter:"};

static bool read_number(const char *text, size_t count, uint64_t *value_out)
{
    *value_out = 0;
    for (size_t i = 0; i < count; i++)
        if (text[i] < '0' || text[i] > '9' || __builtin_mul_overflow(*value_out, 10u, value_out) ||
            __builtin_add_overflow(*value_out, (uint64_t)(text[i] - '0'), value_out))
            return false;
    return count > 0;
}

bool rule_text_read(const char *text, size_t count, struct rule_text *rule_out)
{
    const char *above = memrchr(text, '>', count);
    for (enum rule_kind kind = RULE_CALL; above && kind < RULE_KINDS; kind++) {
        size_t bytes = strlen(kind_names[kind]), left = (size_t)(text + count - above) - 1;
        if ((size_t)(above - text) <= bytes || memcmp(text, kind_names[kind], bytes) != 0)
            continue;
        *rule_out = (struct rule_text){kind, text + bytes, (size_t)(above - text) - bytes, 0};
        return kind == RULE_COUNTER ? read_number(above + 1, left, &rule_out->limit)
                                    : limit_text_ns(above + 1, left, &rule_out->limit);
    }
    return false;
}

enum rbwp_status rule_text_check(const char *text, struct rbwp_error *error)
{
    struct rule_text rule;
    for (const char *at = text; *at || at == text; at += *at == ',') {
        size_t count = strcspn(at, ",");
        if (!rule_text_read(at, count, &rule))
            return failure(error, RBWP_E_USAGE, 0,
                           "\"%.*s\" is no rule: call:NAME>10ms, queue:NAME>5ms or "
                           "counter:NAME>100, several with commas between them",
                           (int)(count < 100 ? count : 100), at);
        at += count;
    }
    return RBWP_OK;
}
