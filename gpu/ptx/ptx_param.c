/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx_param.h"
#include "ptx_emit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The type of a parameter is the word before its name, which other words may stand before. */
static bool is_pointer_wide(const struct ptx_module *module, const struct ptx_function *function,
                            struct ptx_span name)
{
    uint32_t begin = name.begin;
    while (begin > function->params.begin && module->text[begin - 1] != ',')
        begin--;
    const char *text = module->text + begin;
    size_t count = name.begin - begin;
    return memmem(text, count, ".u64", 4) || memmem(text, count, ".b64", 4) ||
           memmem(text, count, ".s64", 4);
}

/* n of a NAME_param_<n> that begins at name, PTX_NONE if it is none. */
static uint32_t param_number(const char *text, const char *end, const char *prefix, size_t count)
{
    uint64_t number = 0;
    if ((size_t)(end - text) <= count || memcmp(text, prefix, count) != 0 || text[count] < '0' ||
        text[count] > '9')
        return PTX_NONE;
    for (text += count; text < end && *text >= '0' && *text <= '9' && number < PTX_NONE; text++)
        number = number * 10 + (uint64_t)(*text - '0');
    return number < PTX_NONE ? (uint32_t)number : PTX_NONE;
}

/* The greatest n of all NAME_param_<n> in the text, wherever they are named; PTX_NONE: none. */
static uint32_t greatest_param(const struct ptx_module *module, const char *prefix)
{
    uint32_t greatest = PTX_NONE;
    size_t count = strlen(prefix);
    const char *at = module->text, *end = at + module->bytes;
    while ((at = memmem(at, (size_t)(end - at), prefix, count))) {
        uint32_t number = param_number(at, end, prefix, count);
        if (number != PTX_NONE && (greatest == PTX_NONE || number > greatest))
            greatest = number;
        at += count;
    }
    return greatest;
}

static bool third_from_last(const struct ptx_param_choice *choice)
{
    const struct ptx_function *function = choice->function;
    char *param = choice->param;
    const size_t room = PTX_PARAM_NAME_BYTES;
    int name = (int)(function->name.end - function->name.begin);
    const char *text = choice->module->text + function->name.begin;
    if ((size_t)name + 32 > room)
        return ptx_fail(choice->error, choice->module, function->name.begin,
                        "this name is too long: name the parameter");
    snprintf(param, room, "%.*s_param_", name, text);
    uint32_t greatest = greatest_param(choice->module, param);
    if (greatest == PTX_NONE || greatest < 2)
        return ptx_fail(choice->error, choice->module, function->name.begin,
                        "the buffer is the third parameter from last, and of %.80s<n> there are %u",
                        param, greatest == PTX_NONE ? 0 : greatest + 1);
    snprintf(param, room, "%.*s_param_%u", name, text, greatest - 2);
    return true;
}

static bool check_param(const struct ptx_param_choice *choice)
{
    const struct ptx_function *function = choice->function;
    const char *wanted = choice->param;
    for (uint32_t i = 0;; i++) {
        struct ptx_span name = ptx_param(choice->module, function, i);
        if (name.end == 0)
            return ptx_fail(choice->error, choice->module, function->name.begin,
                            "this kernel has no parameter %.150s", wanted);
        if (!ptx_is(choice->module, name, wanted))
            continue;
        return is_pointer_wide(choice->module, function, name) ||
               ptx_fail(choice->error, choice->module, name.begin,
                        "the buffer's parameter has not 64 bits");
    }
}

/* ---- room for one more ----------------------------------------------------------------- */

/* What stands behind word in the text, as a number; otherwise where it is not there. */
static uint64_t number_behind(const char *text, const char *word, uint64_t otherwise)
{
    const char *at = strstr(text, word);
    return at ? strtoull(at + strlen(word), NULL, 10) : otherwise;
}

/* Bits of the type: the number behind its letter. */
static uint64_t type_bits(const char *text)
{
    static const char *const letters[] = {".u", ".s", ".b", ".f"};
    for (const char *at = strchr(text, '.'); at; at = strchr(at + 1, '.'))
        for (int i = 0; i < 4; i++)
            if (strncmp(at, letters[i], 2) == 0 && at[2] >= '0' && at[2] <= '9')
                return strtoull(at + 2, NULL, 10);
    return 64;
}

/* Where the next parameter may begin, behind the one that is declared in text and begins at or
 * behind offset. Of a pointer .align is that of what it points to. */
static uint64_t behind_param(const char *text, uint64_t offset)
{
    uint64_t bytes = type_bits(text) / 8, align = bytes ? bytes : 1;
    if (!strstr(text, ".ptr"))
        align = number_behind(text, ".align ", align);
    if (align == 0 || align > 4096)
        align = 1;
    uint64_t count = number_behind(text, "[", 1);
    return (offset + align - 1) / align * align + bytes * (count < UINT32_MAX ? count : UINT32_MAX);
}

static uint64_t all_params(const struct ptx_module *module, const struct ptx_function *function)
{
    uint64_t offset = 0;
    uint32_t begin = function->params.begin;
    while (begin < function->params.end) {
        char text[256];
        const char *from = module->text + begin;
        const char *comma = memchr(from, ',', function->params.end - begin);
        size_t count = comma ? (size_t)(comma - from) : function->params.end - begin;
        size_t kept = count < sizeof text ? count : sizeof text - 1;
        memcpy(text, from, kept);
        text[kept] = '\0';
        if (strstr(text, ".param"))
            offset = behind_param(text, offset);
        begin += (uint32_t)count + 1;
    }
    return offset;
}

/* Version 8.1 has more of it, for GPUs of this decade. */
static uint64_t param_room(const struct ptx_module *module)
{
    for (uint32_t i = 0; i < module->count; i++) {
        struct ptx_span last = module->statements[i].last;
        if (!ptx_is(module, module->statements[i].name, ".version"))
            continue;
        bool old = ptx_is(module, last, "8.0") || module->text[last.begin] < '8';
        return old && last.end - last.begin == 3 ? 4352 : 32764;
    }
    return 4352;
}

static bool room_for_param(const struct ptx_param_choice *choice)
{
    uint64_t used = all_params(choice->module, choice->function), room = param_room(choice->module);
    return (used + 7) / 8 * 8 + 8 <= room ||
           ptx_fail(choice->error, choice->module, choice->function->name.begin,
                    "this kernel has no room for another parameter: %llu of %llu bytes are taken",
                    (unsigned long long)used, (unsigned long long)room);
}

bool ptx_choose_param(const struct ptx_param_choice *choice)
{
    char *param = choice->param;
    const size_t room = PTX_PARAM_NAME_BYTES;
    switch (choice->options->binding) {
    case PTX_BIND_VARIABLE:
        return true;
    case PTX_BIND_APPEND:
        snprintf(param, room, "%s", PTX_BUFFER_NAME);
        return room_for_param(choice);
    case PTX_BIND_PARAM:
        break;
    }
    if (!choice->options->param)
        return third_from_last(choice) && check_param(choice);
    if (strlen(choice->options->param) >= room)
        return ptx_fail_plain(choice->error, "a parameter's name has below %zu bytes", room);
    snprintf(param, room, "%s", choice->options->param);
    return check_param(choice);
}
