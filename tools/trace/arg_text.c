/* SPDX-License-Identifier: Apache-2.0 */
#include "arg_text.h"

#include "trace_detail.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An argument is a byte whether the value is quoted, one for the length of key and value each, and
 * both. */

enum { ARG_LIST_HEAD_BYTES = 3 };

static bool has_name(const struct trace_text *names, uint32_t count, uint64_t number)
{
    return number < count && names[number].text;
}

static void put_real(struct arg_text *made, double value)
{
    made->quoted = !(value - value == 0); /* JSON has no number for it */
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(made->made, sizeof made->made, "%.*g", digits, value);
        if (made->quoted || strtod(made->made, NULL) == value)
            break;
    }
}

bool arg_text_make(struct arg_text *made, const struct trace_detail *detail,
                   const struct trace_arg *arg, const struct trace_text *names, uint32_t name_count)
{
    made->quoted = false;
    switch (arg->type) {
    case TRACE_ARG_U64:
    case TRACE_ARG_DURATION:
        snprintf(made->made, sizeof made->made, "%" PRIu64, arg->value.u64);
        break;
    case TRACE_ARG_I64:
    case TRACE_ARG_TIME:
        snprintf(made->made, sizeof made->made, "%" PRId64, arg->value.i64);
        break;
    case TRACE_ARG_F64:
        put_real(made, arg->value.f64);
        break;
    case TRACE_ARG_BOOL:
        snprintf(made->made, sizeof made->made, "%s", arg->value.u64 ? "true" : "false");
        break;
    case TRACE_ARG_NAME:
        made->quoted = true;
        if (has_name(names, name_count, arg->value.u64))
            made->text = names[arg->value.u64];
        return has_name(names, name_count, arg->value.u64);
    case TRACE_ARG_TEXT:
        made->quoted = true;
        made->text = trace_arg_text(detail, arg);
        return true;
    default:
        return false;
    }
    made->text = trace_text(made->made);
    return true;
}

static uint32_t arg_list_cut(struct trace_text text)
{
    return text.bytes < ARG_LIST_TEXT_BYTES ? text.bytes : ARG_LIST_TEXT_BYTES;
}

static uint32_t arg_list_put(char *to, struct trace_text key, const struct arg_text *value)
{
    uint32_t key_bytes = arg_list_cut(key), value_bytes = arg_list_cut(value->text);
    to[0] = value->quoted;
    to[1] = (char)key_bytes;
    to[2] = (char)value_bytes;
    memcpy(to + ARG_LIST_HEAD_BYTES, key.text, key_bytes);
    memcpy(to + ARG_LIST_HEAD_BYTES + key_bytes, value->text.text, value_bytes);
    return ARG_LIST_HEAD_BYTES + key_bytes + value_bytes;
}

bool arg_list_make(const struct trace_detail *detail, const struct trace_text *names,
                   uint32_t name_count, struct trace_text *list_out)
{
    char list[ARG_LIST_MOST * (ARG_LIST_HEAD_BYTES + 2 * ARG_LIST_TEXT_BYTES)];
    uint32_t used = 0, count = 0;
    for (uint32_t i = 0; detail && i < detail->arg_count && count < ARG_LIST_MOST; i++) {
        const struct trace_arg *arg = &trace_args_of(detail)[i];
        struct arg_text value;
        if (!has_name(names, name_count, arg->key) ||
            !arg_text_make(&value, detail, arg, names, name_count))
            continue;
        used += arg_list_put(list + used, names[arg->key], &value);
        count++;
    }
    char *copy = used ? malloc(used) : NULL;
    if (copy)
        memcpy(copy, list, used);
    *list_out = (struct trace_text){copy, copy ? used : 0};
    return copy || !used;
}

bool arg_list_next(struct trace_text *left, struct arg_list_item *item_out)
{
    const unsigned char *head = (const unsigned char *)left->text;
    if (left->bytes < ARG_LIST_HEAD_BYTES ||
        left->bytes - ARG_LIST_HEAD_BYTES < (uint32_t)head[1] + head[2])
        return false;
    *item_out =
        (struct arg_list_item){.key = {left->text + ARG_LIST_HEAD_BYTES, head[1]},
                               .value = {left->text + ARG_LIST_HEAD_BYTES + head[1], head[2]},
                               .quoted = head[0]};
    uint32_t bytes = ARG_LIST_HEAD_BYTES + item_out->key.bytes + item_out->value.bytes;
    *left = (struct trace_text){left->text + bytes, left->bytes - bytes};
    return true;
}
