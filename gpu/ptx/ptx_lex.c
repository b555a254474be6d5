/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx_lex.h"
#include "ptx_grow.h"
#include "ptx_text.h"

#include <string.h>

static bool word_byte(char c)
{
    return ptx_name_byte(c) || c == '.';
}

static char byte_at(const struct ptx_lex *lex, uint32_t at)
{
    return at < lex->module->bytes ? lex->module->text[at] : '\0';
}

/* The line that begins at the byte at becomes known. */
static bool begin_line(struct ptx_lex *lex, uint32_t at)
{
    struct ptx_module *module = lex->module;
    uint32_t *lines = ptx_grow(module->lines, module->line_count, &lex->lines_room, sizeof *lines);
    if (!lines)
        return ptx_fail_plain(lex->error, "out of memory");
    module->lines = lines;
    lines[module->line_count++] = at;
    return true;
}

static bool skip_block_comment(struct ptx_lex *lex)
{
    uint32_t begin = lex->at;
    for (lex->at += 2; lex->at < lex->module->bytes; lex->at++) {
        if (byte_at(lex, lex->at) == '\n' && !begin_line(lex, lex->at + 1))
            return false;
        if (byte_at(lex, lex->at) == '*' && byte_at(lex, lex->at + 1) == '/') {
            lex->at += 2;
            return true;
        }
    }
    return ptx_fail(lex->error, lex->module, begin, "this comment is not closed");
}

static void skip_line(struct ptx_lex *lex)
{
    const char *from = lex->module->text + lex->at;
    const char *end = memchr(from, '\n', lex->module->bytes - lex->at);
    lex->at = end ? (uint32_t)(end - lex->module->text) : lex->module->bytes;
}

static bool skip_blanks(struct ptx_lex *lex)
{
    while (lex->at < lex->module->bytes) {
        char c = byte_at(lex, lex->at), next = byte_at(lex, lex->at + 1);
        if (c == '\n') {
            lex->at++;
            if (!begin_line(lex, lex->at))
                return false;
        } else if (c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f') {
            lex->at++;
        } else if ((c == '/' && next == '/') || c == '#') {
            skip_line(lex);
        } else if (c == '/' && next == '*') {
            if (!skip_block_comment(lex))
                return false;
        } else {
            break;
        }
    }
    return true;
}

static bool read_string(struct ptx_lex *lex)
{
    uint32_t begin = lex->at++;
    for (char c = byte_at(lex, lex->at); c != '"'; c = byte_at(lex, lex->at)) {
        if (lex->at >= lex->module->bytes || c == '\n')
            return ptx_fail(lex->error, lex->module, begin,
                            "this string is not closed in its line");
        lex->at += c == '\\' && byte_at(lex, lex->at + 1) != '\n' ? 2 : 1;
    }
    lex->at++;
    return true;
}

static void read_word(struct ptx_lex *lex)
{
    for (;;) {
        while (word_byte(byte_at(lex, lex->at)))
            lex->at++;
        if (byte_at(lex, lex->at) != ':' || byte_at(lex, lex->at + 1) != ':' ||
            !word_byte(byte_at(lex, lex->at + 2)))
            return;
        lex->at += 2;
    }
}

bool ptx_lex_next(struct ptx_lex *lex)
{
    if (!skip_blanks(lex))
        return false;
    lex->line = lex->module->line_count;
    lex->span.begin = lex->at;
    char c = byte_at(lex, lex->at);
    if (lex->at >= lex->module->bytes) {
        lex->kind = PTX_TOKEN_END;
    } else if (word_byte(c)) {
        lex->kind = PTX_TOKEN_WORD;
        read_word(lex);
    } else if (c == '"') {
        lex->kind = PTX_TOKEN_STRING;
        if (!read_string(lex))
            return false;
    } else if (c > ' ' && c < 0x7f) {
        lex->kind = c;
        lex->at++;
    } else {
        return ptx_fail(lex->error, lex->module, lex->at, "byte 0x%02x is no PTX",
                        (unsigned char)c);
    }
    lex->span.end = lex->at;
    return true;
}

bool ptx_lex_start(struct ptx_lex *lex, struct ptx_module *module, struct ptx_error *error)
{
    *lex = (struct ptx_lex){.module = module, .error = error};
    return begin_line(lex, 0) && ptx_lex_next(lex);
}
