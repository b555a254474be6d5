/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments as JSON. */
#include "args_json.h"
#include "json_text.h"
#include "own_keys.h"
#include "trace_detail.h"
#include "utf8.h"

#include <stdlib.h>

/* A character that is obeyed instead of shown, or U+FFFD. */
static void put_escaped(struct out *out, struct trace_text one, bool is_text)
{
    const unsigned char *bytes = (const unsigned char *)one.text;
    unsigned code = one.bytes == 1 ? bytes[0]
                    : one.bytes == 2
                        ? (bytes[0] & 0x1fu) << 6 | (bytes[1] & 0x3fu)
                        : (bytes[0] & 0xfu) << 12 | (bytes[1] & 0x3fu) << 6 | (bytes[2] & 0x3fu);
    out_format(out, "\\u%04x", is_text ? 0xfffdu : code);
}

static void args_json_put_string(struct out *out, struct viewer_text *made, struct trace_text text)
{
    text = viewer_text(made, text);
    json_string(out, text.text, text.bytes);
}

/* As the source had it, in one line that is safe to show: what is no plain character stands in
 * strings only, where it may be escaped, or between values. */
static void args_json_put_json(struct out *out, struct trace_text text)
{
    const unsigned char *bytes = (const unsigned char *)text.text;
    for (size_t at = 0, length; at < text.bytes; at += length) {
        length = utf8_length(bytes + at, text.bytes - at);
        if (length == 1 && bytes[at] < 0x20) {
            out_bytes(out, " ", 1);
        } else if (length == 0 || utf8_is_control(bytes + at, length)) {
            struct trace_text one = {text.text + at, (uint32_t)(length ? length : 1)};
            put_escaped(out, one, length == 0);
            length += length == 0;
        } else {
            out_bytes(out, text.text + at, length);
        }
    }
}

void args_json_value(struct out *out, struct viewer_text *made, const struct trace *trace,
                     const struct trace_detail *detail, const struct trace_arg *arg)
{
    switch ((enum trace_arg_type)arg->type) {
    case TRACE_ARG_U64:
    case TRACE_ARG_DURATION:
        out_u64(out, arg->value.u64);
        break;
    case TRACE_ARG_I64:
    case TRACE_ARG_TIME:
        out_i64(out, arg->value.i64);
        break;
    case TRACE_ARG_F64:
        json_f64(out, arg->value.f64);
        break;
    case TRACE_ARG_BOOL:
        out_text(out, arg->value.u64 ? "true" : "false");
        break;
    case TRACE_ARG_NAME:
        args_json_put_string(out, made, trace_name_of(trace, (uint32_t)arg->value.u64));
        break;
    case TRACE_ARG_TEXT:
        args_json_put_string(out, made, trace_arg_text(detail, arg));
        break;
    case TRACE_ARG_JSON:
        args_json_put_json(out, trace_arg_text(detail, arg));
        break;
    }
}

static void args_json_put_key(struct out *out, struct viewer_text *text, struct args_keys *keys,
                              const struct trace *trace, uint32_t number)
{
    enum { ESCAPED_BYTES = 6 }; /* of a byte, at most */
    struct args_key *known =
        &keys->known[number % (uint32_t)(sizeof keys->known / sizeof keys->known[0])];
    char *at = out_room(out, ESCAPED_BYTES * sizeof known->text);
    if (known->bytes && known->number == number) {
        memcpy(at, known->text, sizeof known->text);
        out_end(out, at + known->bytes);
        return;
    }
    struct trace_text name = trace_name_of(trace, number);
    size_t begin = out->used;
    if (keys->beside_ours && own_key_is_taken(name)) { /* plain, then */
        out_text(out, "\"" OWN_KEY_PREFIX);
        out_bytes(out, name.text, name.bytes);
        out_bytes(out, "\"", 1);
    } else {
        args_json_put_string(out, text, name);
    }
    out_bytes(out, ":", 1);
    /* A short one lies in the buffer in one piece. */
    if (name.bytes > sizeof known->text / 2 || out->used - begin > sizeof known->text)
        return;
    known->number = number;
    known->bytes = (uint32_t)(out->used - begin);
    memcpy(known->text, at, known->bytes);
}

void args_json_members(struct out *out, struct viewer_text *text, struct args_keys *keys,
                       const struct trace *trace, const struct trace_detail *detail)
{
    for (uint32_t i = 0; i < detail->arg_count; i++) {
        if (i)
            out_bytes(out, ",", 1);
        args_json_put_key(out, text, keys, trace, trace_args_of(detail)[i].key);
        args_json_value(out, text, trace, detail, &trace_args_of(detail)[i]);
    }
}

/* ---- as a text -------------------------------------------------------------------- */

static void spill(struct out *out, const char *bytes, size_t count)
{
    struct args_json *made = out->layer_state;
    size_t needed = made->spilled_bytes + count;
    if (!grow_array(&made->spilled, &made->spilled_room, needed, 1)) {
        made->failed = true;
        return;
    }
    memcpy(made->spilled + made->spilled_bytes, bytes, count);
    made->spilled_bytes = needed;
}

struct trace_text args_json_make(struct args_json *made, const struct trace *trace,
                                 const struct trace_detail *detail)
{
    struct trace_text none = {"", 0};
    struct out *out = &made->out;
    if (!detail || detail->arg_count == 0)
        return none;
    if (!out->buffer && !(out->buffer = malloc(OUT_BUFFER_BYTES))) {
        made->failed = true;
        return none;
    }
    out->used = made->spilled_bytes = 0;
    out->layer = spill;
    out->layer_state = made;
    out_bytes(out, "{", 1);
    args_json_members(out, &made->text, &made->keys, trace, detail);
    out_bytes(out, "}", 1);
    made->failed |= made->text.failed;
    if (made->spilled_bytes == 0)
        return (struct trace_text){out->buffer, (uint32_t)out->used};
    out_flush(out);
    return made->failed ? none : (struct trace_text){made->spilled, (uint32_t)made->spilled_bytes};
}

void args_json_free(struct args_json *made)
{
    free(made->out.buffer);
    free(made->spilled);
    viewer_text_free(&made->text);
}
