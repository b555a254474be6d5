/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments come to lie where they will be read, texts are put behind them at the end. */
#include "span_detail.h"
#include "grow.h"
#include "trace_track.h"

#include <stdlib.h>
#include <string.h>

enum {
    SPAN_DETAIL_HEAD_WORDS = sizeof(struct trace_detail) / 8,
    ARG_WORDS = sizeof(struct trace_arg) / 8
};
_Static_assert(sizeof(struct trace_detail) % 8 == 0 && sizeof(struct trace_arg) % 8 == 0, "words");

void span_detail_start(struct detail_maker *maker)
{
    maker->head = (struct trace_detail){.launch_track = TRACE_NONE};
    maker->text_bytes = 0;
    maker->set = maker->has_texts = false;
}

static bool span_detail_reserve(struct detail_maker *maker, uint32_t words)
{
    if (!GROW_ARRAY(maker->packed, maker->packed_room, words))
        maker->failed = true;
    return !maker->failed;
}

static struct trace_arg *span_detail_add_arg(struct detail_maker *maker, uint32_t key,
                                             enum trace_arg_type type)
{
    uint32_t count = maker->head.arg_count;
    if (count == DETAIL_ARGS_MAX) {
        maker->cut++;
        return NULL;
    }
    if (!span_detail_reserve(maker, SPAN_DETAIL_HEAD_WORDS + (count + 1) * ARG_WORDS))
        return NULL;
    maker->head.arg_count++;
    maker->set = true;
    struct trace_arg *arg = (void *)(maker->packed + SPAN_DETAIL_HEAD_WORDS + count * ARG_WORDS);
    *arg = (struct trace_arg){.key = key, .type = type};
    return arg;
}

void span_detail_arg(struct detail_maker *maker, uint32_t key, enum trace_arg_type type,
                     uint64_t bits)
{
    struct trace_arg *arg = span_detail_add_arg(maker, key, type);
    if (arg)
        arg->value.u64 = bits;
}

void span_detail_text(struct detail_maker *maker, uint32_t key, enum trace_arg_type type,
                      struct trace_text text)
{
    uint32_t left = DETAIL_TEXT_MAX - maker->text_bytes;
    bool cut = text.bytes > left;
    if (cut)
        maker->cut++;
    if (cut && type == TRACE_ARG_JSON)
        return;
    uint32_t bytes = cut ? left : text.bytes;
    if (!grow_array32(&maker->texts, &maker->text_room, maker->text_bytes + bytes + 1, 1)) {
        maker->failed = true;
        return;
    }
    struct trace_arg *arg = span_detail_add_arg(maker, key, type);
    if (!arg)
        return;
    maker->has_texts = true;
    arg->value.text.offset = maker->text_bytes; /* moved behind the arguments in the end */
    arg->value.text.bytes = bytes;
    if (bytes)
        memcpy(maker->texts + maker->text_bytes, text.text, bytes);
    maker->text_bytes += bytes;
}

void span_detail_continue(struct detail_maker *maker, const struct trace_detail *detail)
{
    span_detail_start(maker);
    maker->head = *detail;
    maker->head.arg_count = 0;
    maker->set = true;
    for (uint32_t i = 0; i < detail->arg_count; i++) {
        const struct trace_arg *arg = &trace_args_of(detail)[i];
        if (arg->type == TRACE_ARG_TEXT || arg->type == TRACE_ARG_JSON)
            span_detail_text(maker, arg->key, arg->type, trace_arg_text(detail, arg));
        else
            span_detail_arg(maker, arg->key, arg->type, arg->value.u64);
    }
}

/* Their offsets were those among the texts. */
static void put_texts(struct detail_maker *maker, struct trace_detail *packed)
{
    uint32_t texts_at = (uint32_t)(sizeof *packed + packed->arg_count * sizeof(struct trace_arg));
    struct trace_arg *args = (void *)(packed + 1);
    for (uint32_t i = 0; i < packed->arg_count; i++)
        if (args[i].type == TRACE_ARG_TEXT || args[i].type == TRACE_ARG_JSON)
            args[i].value.text.offset += texts_at;
    if (maker->text_bytes)
        memcpy((char *)packed + texts_at, maker->texts, maker->text_bytes);
}

const struct trace_detail *span_detail_finish(struct detail_maker *maker)
{
    struct trace_detail *head = &maker->head;
    if (maker->failed || !(maker->set || head->flags || head->category || head->correlation))
        return NULL;
    uint32_t text_words = (maker->text_bytes + 7) / 8;
    head->words = SPAN_DETAIL_HEAD_WORDS + head->arg_count * ARG_WORDS + text_words;
    if (!span_detail_reserve(maker, head->words))
        return NULL;
    if (text_words)
        maker->packed[head->words - 1] = 0;
    memcpy(maker->packed, head, sizeof *head);
    if (maker->has_texts)
        put_texts(maker, (void *)maker->packed);
    return (void *)maker->packed;
}

void span_detail_free(struct detail_maker *maker)
{
    free(maker->texts);
    free(maker->packed);
    *maker = (struct detail_maker){0};
}

uint32_t span_details_add(struct trace_details *details, const struct trace_detail *detail,
                          bool *failed)
{
    if (!detail)
        return 0;
    uint32_t place = details->count ? details->count : 1;
    if (detail->words > UINT32_MAX - place ||
        !GROW_ARRAY(details->words, details->room, place + detail->words)) {
        *failed = true;
        return 0;
    }
    memcpy(details->words + place, detail, detail->words * sizeof *details->words);
    details->count = place + detail->words;
    return place;
}

void span_details_free(struct trace_details *details)
{
    free(details->words);
    *details = (struct trace_details){0};
}
