/* SPDX-License-Identifier: Apache-2.0 */
/* Cells. What is escaped holds no tab and no line end, so TSV has it as it is and CSV only quotes.
 */
#include "cell_text.h"
#include "plain_text.h"
#include "terminal_text.h"
#include "text_name.h"

/* A quote within quotes is doubled. */
static void put_quoted(struct out *out, const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        out_bytes(out, text[i] == '"' ? "\"\"" : &text[i], text[i] == '"' ? 2 : 1);
}

static bool needs_quotes(struct trace_text text)
{
    for (uint32_t i = 0; i < text.bytes; i++)
        if (strchr("\",\n\r", text.text[i]) && text.text[i])
            return true;
    return text.bytes && (text.text[0] == ' ' || text.text[text.bytes - 1] == ' ');
}

/* True when a spreadsheet calculates instead of showing: = + - @, as ASCII or U+FF1D, FF0B, FF0D,
 * FF20; and for the apostrophe that says so. */
static bool needs_apostrophe(struct trace_text text)
{
    static const char wide[] = "\x9d\x8b\x8d\xa0";
    if (text.bytes == 0)
        return false;
    if (text.bytes >= 3 && memcmp(text.text, "\xef\xbc", 2) == 0)
        return memchr(wide, text.text[2], sizeof wide - 1);
    return memchr("=+-@'", text.text[0], 5);
}

/* True for what is the same in every kind of cell. */
static bool is_plain(struct trace_text text)
{
    static const char special[3] = {'"', ',', '\\'};
    return text.bytes && text_is_plain(text.text, text.bytes, special) && text.text[0] != ' ' &&
           text.text[text.bytes - 1] != ' ' && !needs_apostrophe(text);
}

void cell_csv(struct out *out, struct trace_text text, bool raw)
{
    if (is_plain(text)) { /* nearly all */
        out_bytes(out, text.text, text.bytes);
        return;
    }
    const char *quote = needs_quotes(text) ? "\"" : "", *at = text.text;
    size_t left = text.bytes;
    out_text(out, quote);
    if (!raw && needs_apostrophe(text))
        out_text(out, "'");
    if (!*quote && raw)
        out_bytes(out, at, left);
    else if (!*quote)
        text_name(out, at, left);
    else if (raw)
        put_quoted(out, at, left);
    else
        while (left > 0) {
            char shown[1024];
            put_quoted(out, shown, terminal_text_piece(&at, &left, shown, sizeof shown));
        }
    out_text(out, quote);
}

static void put_raw_tsv(struct out *out, struct trace_text text)
{
    static const char special[] = "\t\n\r\\", written[] = "tnr\\";
    for (uint32_t i = 0; i < text.bytes; i++) {
        const char *found = text.text[i] ? strchr(special, text.text[i]) : NULL;
        if (found) {
            char pair[2] = {'\\', written[found - special]};
            out_bytes(out, pair, 2);
        } else {
            out_bytes(out, &text.text[i], 1);
        }
    }
}

void cell_tsv(struct out *out, struct trace_text text, bool raw)
{
    if (is_plain(text)) {
        out_bytes(out, text.text, text.bytes);
        return;
    }
    if (raw) {
        put_raw_tsv(out, text);
        return;
    }
    if (needs_apostrophe(text))
        out_text(out, "'");
    text_name(out, text.text, text.bytes);
}
