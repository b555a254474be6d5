/* SPDX-License-Identifier: Apache-2.0 */
/* The tree as text, with what was put between. */
#include "ptx.h"
#include "ptx_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- edits ----------------------------------------------------------------------------- */

void ptx_edits_free(struct ptx_edits *edits)
{
    free(edits->edits);
    free(edits->bytes);
    *edits = (struct ptx_edits){0};
}

void ptx_edit_at(struct ptx_edits *edits, uint32_t at)
{
    struct ptx_edit *all = ptx_grow(edits->edits, edits->count, &edits->room, sizeof *all);
    if (!all || edits->used > UINT32_MAX) {
        edits->failed = true;
        return;
    }
    edits->edits = all;
    uint32_t used = (uint32_t)edits->used;
    all[edits->count++] = (struct ptx_edit){at, {used, used}};
}

static bool bytes_room(struct ptx_edits *edits, size_t more)
{
    size_t room = edits->bytes_room ? edits->bytes_room : 4096;
    while (room - edits->used < more)
        room *= 2;
    if (room == edits->bytes_room)
        return true;
    char *bytes = realloc(edits->bytes, room);
    if (!bytes)
        return false;
    edits->bytes = bytes;
    edits->bytes_room = room;
    return true;
}

void ptx_edit_add(struct ptx_edits *edits, const char *format, ...)
{
    va_list arguments;
    size_t wanted = 1024; /* that is enough for nearly all, so they are formatted once */
    for (int round = 0; round < 2 && !edits->failed; round++) {
        if (!bytes_room(edits, wanted) || edits->used + wanted > UINT32_MAX)
            break;
        va_start(arguments, format);
        int count = vsnprintf(edits->bytes + edits->used, wanted, format, arguments);
        va_end(arguments);
        if (count >= 0 && (size_t)count < wanted) {
            edits->used += (size_t)count;
            edits->edits[edits->count - 1].text.end = (uint32_t)edits->used;
            return;
        }
        wanted = (size_t)count + 1;
    }
    edits->failed = true;
}

/* ---- where text goes ------------------------------------------------------------------- */

static bool blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

uint32_t ptx_before(const struct ptx_module *module, uint32_t statement)
{
    uint32_t begin = module->statements[statement].span.begin, at = begin;
    uint32_t lead = module->statements[statement].lead;
    while (at > lead && blank(module->text[at - 1]))
        at--;
    return at == 0 || module->text[at - 1] == '\n' ? at : begin;
}

uint32_t ptx_after(const struct ptx_module *module, uint32_t statement)
{
    uint32_t end = module->statements[statement].span.end, at = end;
    while (at < module->bytes && blank(module->text[at]))
        at++;
    if (at + 1 < module->bytes && module->text[at] == '/' && module->text[at + 1] == '/')
        while (at < module->bytes && module->text[at] != '\n')
            at++;
    return at < module->bytes && module->text[at] == '\n' ? at + 1 : end;
}

/* ---- printing -------------------------------------------------------------------------- */

struct printer {
    const struct ptx_module *module;
    const struct ptx_edits *edits;
    uint32_t next; /* edit */
    char *text;
    size_t used;
};

static void ptx_print_put(struct printer *printer, const char *bytes, size_t count)
{
    if (count > 0)
        memcpy(printer->text + printer->used, bytes, count);
    printer->used += count;
}

/* The text from begin to end, with the edits that belong before its bytes. */
static void ptx_print_put_span(struct printer *printer, uint32_t begin, uint32_t end)
{
    const struct ptx_edits *edits = printer->edits;
    while (edits && printer->next < edits->count && edits->edits[printer->next].at < end) {
        const struct ptx_edit *edit = &edits->edits[printer->next++];
        if (edit->at > begin) {
            ptx_print_put(printer, printer->module->text + begin, edit->at - begin);
            begin = edit->at;
        }
        ptx_print_put(printer, edits->bytes + edit->text.begin, edit->text.end - edit->text.begin);
    }
    ptx_print_put(printer, printer->module->text + begin, end - begin);
}

char *ptx_print(const struct ptx_module *module, const struct ptx_edits *edits, size_t *bytes_out)
{
    struct printer printer = {.module = module, .edits = edits};
    printer.text = malloc(module->bytes + (edits ? edits->used : 0) + 1);
    if (!printer.text || (edits && edits->failed)) {
        free(printer.text);
        return NULL;
    }
    uint32_t end = 0;
    for (uint32_t i = 0; i < module->count; i++) {
        const struct ptx_statement *statement = &module->statements[i];
        ptx_print_put_span(&printer, statement->lead, statement->span.end);
        end = statement->span.end;
    }
    ptx_print_put_span(&printer, end, module->bytes);
    printer.text[printer.used] = '\0';
    *bytes_out = printer.used;
    return printer.text;
}
