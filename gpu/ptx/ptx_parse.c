/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statements from tokens.
 *
 * Directives that end with their line: .version, .target, .address_size, .file, .loc. .section ends
 * with its brace. All others end with a semicolon, but a function's header ends where its brace
 * opens.
 */
#include "ptx.h"
#include "ptx_text.h"

#include <string.h>

/* ---- the tokens of PTX. Blanks, comments and lines of a preprocessor stand between tokens ---- */
/*
 * Blanks, comments and lines of a preprocessor stand between tokens. A word is a name, number,
 * directive or mnemonic with all its dots; a colon ends it, two of them do not (shared::cta).
 */

enum { PTX_TOKEN_END = 0, PTX_TOKEN_WORD = 'w', PTX_TOKEN_STRING = 's' };

struct ptx_lex {
    struct ptx_module *module; /* gets its table of lines */
    struct ptx_error *error;
    uint32_t at, lines_room;
    /* The token: its kind (or the character that it is), bytes and line. */
    char kind;
    struct ptx_span span;
    uint32_t line;
};

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

static bool ptx_lex_next(struct ptx_lex *lex)
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

/* Both read a token; false with the error filled. */
static bool ptx_lex_start(struct ptx_lex *lex, struct ptx_module *module, struct ptx_error *error)
{
    *lex = (struct ptx_lex){.module = module, .error = error};
    return begin_line(lex, 0) && ptx_lex_next(lex);
}

/* ---- ptx parse ------------------------------------------------------------------------------- */

#define DEPTH_MAX 256 /* of braces in a function */

struct parser {
    struct ptx_lex lex;
    struct ptx_module *module;
    struct ptx_error *error;
    uint32_t room, function_room;
    uint32_t end; /* of the last token */
    uint32_t scope, depth;
};

static bool fail_here(struct parser *parser, const char *what)
{
    return ptx_fail(parser->error, parser->module, parser->lex.span.begin, "%s", what);
}

/* ---- statements ------------------------------------------------------------------------ */

/* A statement that begins with the token; its kind is set when it is known. */
static struct ptx_statement *add_statement(struct parser *parser)
{
    struct ptx_module *module = parser->module;
    struct ptx_statement *all =
        ptx_grow(module->statements, module->count, &parser->room, sizeof *all);
    if (!all) {
        ptx_fail_plain(parser->error, "out of memory");
        return NULL;
    }
    module->statements = all;
    struct ptx_statement *statement = &all[module->count++];
    *statement = (struct ptx_statement){.kind = PTX_DIRECTIVE,
                                        .lead = parser->end,
                                        .span = parser->lex.span,
                                        .line = parser->lex.line,
                                        .last_line = parser->lex.line,
                                        .scope = parser->scope,
                                        .match = PTX_NONE};
    return statement;
}

/* The token is part of the statement; the next one is read. */
static bool ptx_parse_take(struct parser *parser, struct ptx_statement *statement)
{
    statement->span.end = parser->end = parser->lex.span.end;
    statement->last_line = parser->lex.line;
    if (parser->lex.kind == PTX_TOKEN_WORD)
        statement->last = parser->lex.span;
    return ptx_lex_next(&parser->lex);
}

static bool take_line(struct parser *parser, struct ptx_statement *statement)
{
    while (parser->lex.kind != PTX_TOKEN_END && parser->lex.line == statement->line)
        if (!ptx_parse_take(parser, statement))
            return false;
    return true;
}

/* To the semicolon; braces, brackets and parentheses may stand before it. */
static bool take_to_semicolon(struct parser *parser, struct ptx_statement *statement)
{
    uint32_t depth = 0;
    for (;;) {
        char kind = parser->lex.kind;
        if (kind == PTX_TOKEN_END || (kind == '}' && depth == 0))
            return ptx_fail(parser->error, parser->module, statement->span.begin,
                            "no semicolon ends this");
        depth += kind == '{';
        depth -= kind == '}';
        if (!ptx_parse_take(parser, statement))
            return false;
        if (kind == ';' && depth == 0)
            return true;
    }
}

/* The brace that is the token, to the one that closes it. */
static bool take_braces(struct parser *parser, struct ptx_statement *statement)
{
    uint32_t depth = 0;
    do {
        char kind = parser->lex.kind;
        if (kind == PTX_TOKEN_END)
            return ptx_fail(parser->error, parser->module, statement->span.begin,
                            "no brace closes this");
        depth += kind == '{';
        depth -= kind == '}';
        if (!ptx_parse_take(parser, statement))
            return false;
    } while (depth > 0);
    return true;
}

static bool ends_with_line(const struct ptx_module *module, struct ptx_span name)
{
    return ptx_is(module, name, ".loc") || ptx_is(module, name, ".file") ||
           ptx_is(module, name, ".version") || ptx_is(module, name, ".target") ||
           ptx_is(module, name, ".address_size");
}

/* ---- bodies ---------------------------------------------------------------------------- */

static bool open_brace(struct parser *parser)
{
    struct ptx_statement *open = add_statement(parser);
    if (!open)
        return false;
    if (++parser->depth > DEPTH_MAX)
        return fail_here(parser, "braces are nested too deep");
    open->kind = PTX_OPEN;
    parser->scope = parser->module->count - 1;
    return ptx_parse_take(parser, open);
}

static bool close_brace(struct parser *parser)
{
    struct ptx_statement *close = add_statement(parser);
    if (!close)
        return false;
    struct ptx_statement *open = &parser->module->statements[parser->scope];
    close->kind = PTX_CLOSE;
    close->match = parser->scope;
    open->match = parser->module->count - 1;
    close->scope = parser->scope;
    parser->scope = open->scope;
    parser->depth--;
    return ptx_parse_take(parser, close);
}

static bool body_directive(struct parser *parser, struct ptx_statement *statement)
{
    if (ptx_is(parser->module, statement->name, ".loc"))
        statement->kind = PTX_LOC;
    if (ends_with_line(parser->module, statement->name))
        return take_line(parser, statement);
    return take_to_semicolon(parser, statement);
}

static bool guard(struct parser *parser, struct ptx_statement *statement)
{
    statement->guarded = true;
    if (!ptx_parse_take(parser, statement) ||
        (parser->lex.kind == '!' && !ptx_parse_take(parser, statement)))
        return false;
    if (parser->lex.kind != PTX_TOKEN_WORD)
        return fail_here(parser, "a predicate is missing here");
    if (!ptx_parse_take(parser, statement))
        return false;
    return parser->lex.kind == PTX_TOKEN_WORD ||
           fail_here(parser, "an instruction is missing here");
}

static bool body_statement(struct parser *parser)
{
    struct ptx_statement *statement = add_statement(parser);
    if (!statement)
        return false;
    if (parser->lex.kind == ';') { /* an empty one */
        statement->name = (struct ptx_span){parser->lex.span.begin, parser->lex.span.begin};
        return ptx_parse_take(parser, statement);
    }
    if (parser->lex.kind == '@' && !guard(parser, statement))
        return false;
    if (parser->lex.kind != PTX_TOKEN_WORD)
        return fail_here(parser, "neither instruction, label nor directive");
    statement->name = parser->lex.span;
    if (!ptx_parse_take(parser, statement))
        return false;
    if (parser->lex.kind == ':' && !statement->guarded) {
        statement->kind = PTX_LABEL;
        return ptx_parse_take(parser, statement);
    }
    if (parser->module->text[statement->name.begin] == '.' && !statement->guarded)
        return body_directive(parser, statement);
    statement->kind = PTX_INSTRUCTION;
    return take_to_semicolon(parser, statement);
}

static bool body(struct parser *parser, struct ptx_function *function)
{
    if (!open_brace(parser))
        return false;
    function->open = parser->module->count - 1;
    while (parser->depth > 0) {
        char kind = parser->lex.kind;
        if (kind == PTX_TOKEN_END)
            return ptx_fail(parser->error, parser->module,
                            parser->module->statements[parser->scope].span.begin,
                            "no brace closes this");
        if (!(kind == '{'   ? open_brace(parser)
              : kind == '}' ? close_brace(parser)
                            : body_statement(parser)))
            return false;
    }
    function->close = parser->module->count - 1;
    return true;
}

/* ---- outside of functions -------------------------------------------------------------- */

static struct ptx_function *add_function(struct parser *parser, bool entry)
{
    struct ptx_module *module = parser->module;
    struct ptx_function *all =
        ptx_grow(module->functions, module->function_count, &parser->function_room, sizeof *all);
    if (!all) {
        ptx_fail_plain(parser->error, "out of memory");
        return NULL;
    }
    module->functions = all;
    struct ptx_function *function = &all[module->function_count++];
    *function = (struct ptx_function){
        .entry = entry, .header = module->count - 1, .open = PTX_NONE, .close = PTX_NONE};
    return function;
}

/* Parentheses, the first of which is the token. inside_out may be NULL. */
static bool take_parentheses(struct parser *parser, struct ptx_statement *header,
                             struct ptx_span *inside_out)
{
    uint32_t depth = 0, begin = parser->lex.span.end, end;
    do {
        if (parser->lex.kind == PTX_TOKEN_END || parser->lex.kind == '{' || parser->lex.kind == ';')
            return fail_here(parser, "a parenthesis is not closed before this");
        depth += parser->lex.kind == '(';
        depth -= parser->lex.kind == ')';
        end = parser->lex.span.begin;
        if (!ptx_parse_take(parser, header))
            return false;
    } while (depth > 0);
    if (inside_out)
        *inside_out = (struct ptx_span){begin, end};
    return true;
}

/* Behind .entry or .func: results, name, parameters, directives, up to { or ;. */
static bool function_rest(struct parser *parser, bool entry)
{
    uint32_t index = parser->module->count - 1;
    struct ptx_statement *header = &parser->module->statements[index];
    struct ptx_function *function = add_function(parser, entry);
    if (!function)
        return false;
    header->kind = PTX_HEADER;
    bool params = false;
    while (parser->lex.kind != '{' && parser->lex.kind != ';') {
        if (parser->lex.kind == PTX_TOKEN_END)
            return ptx_fail(parser->error, parser->module, header->span.begin,
                            "this function has no body and no semicolon");
        bool named = function->name.end > 0;
        if (parser->lex.kind == PTX_TOKEN_WORD &&
            ptx_is(parser->module, parser->lex.span, ".pragma")) { /* has a semicolon of its own */
            if (!take_to_semicolon(parser, header))
                return false;
            continue;
        }
        if (parser->lex.kind == '(') {
            struct ptx_span *inside = named && !params ? &function->params : NULL;
            params = params || named;
            if (!take_parentheses(parser, header, inside))
                return false;
            continue;
        }
        if (!named && parser->lex.kind == PTX_TOKEN_WORD &&
            parser->module->text[parser->lex.span.begin] != '.')
            function->name = parser->lex.span;
        if (!ptx_parse_take(parser, header))
            return false;
    }
    if (function->name.end == 0)
        return fail_here(parser, "a function without a name ends here");
    return parser->lex.kind == ';' ? ptx_parse_take(parser, header) : body(parser, function);
}

static bool module_statement(struct parser *parser)
{
    struct ptx_module *module = parser->module;
    struct ptx_statement *statement = add_statement(parser);
    if (!statement)
        return false;
    if (parser->lex.kind == ';')
        return ptx_parse_take(parser, statement);
    if (parser->lex.kind != PTX_TOKEN_WORD || module->text[parser->lex.span.begin] != '.')
        return fail_here(parser, "no directive, and outside of a function");
    statement->name = parser->lex.span;
    if (ends_with_line(module, statement->name))
        return take_line(parser, statement);
    if (ptx_is(module, statement->name, ".section")) {
        while (parser->lex.kind != '{' && parser->lex.kind != PTX_TOKEN_END)
            if (!ptx_parse_take(parser, statement))
                return false;
        return take_braces(parser, statement);
    }
    for (;;) {
        struct ptx_span word = parser->lex.span;
        char kind = parser->lex.kind;
        if (kind == ';' || kind == '{' || kind == '}' || kind == PTX_TOKEN_END)
            return take_to_semicolon(parser, statement);
        if (!ptx_parse_take(parser, statement))
            return false;
        bool entry = ptx_is(module, word, ".entry");
        if (kind == PTX_TOKEN_WORD && (entry || ptx_is(module, word, ".func")))
            return function_rest(parser, entry);
    }
}

bool ptx_parse(struct ptx_module *module, const char *text, size_t bytes, struct ptx_error *error)
{
    *module = (struct ptx_module){.text = text, .bytes = (uint32_t)bytes};
    if (bytes > PTX_BYTES_MAX)
        return ptx_fail_plain(error, "more than %u MiB are no PTX that is read",
                              PTX_BYTES_MAX >> 20);
    struct parser parser = {.module = module, .error = error, .scope = PTX_NONE};
    bool read = ptx_lex_start(&parser.lex, module, error);
    while (read && parser.lex.kind != PTX_TOKEN_END)
        read = module_statement(&parser);
    if (!read)
        ptx_free(module);
    return read;
}

void ptx_free(struct ptx_module *module)
{
    free(module->lines);
    free(module->statements);
    free(module->functions);
    *module = (struct ptx_module){0};
}
