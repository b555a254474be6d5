/* SPDX-License-Identifier: Apache-2.0 */
#include "known_tables.h"
#include "stall_python_layout.h"
#include "stall_stack.h"
#include "stray_rows.h"

#include <stdio.h>
#include <string.h>

#define THREADS_MAX 1024u    /* that are looked through for one, the newest first */
#define TEXT_CHARS_MAX 1024u /* longer names are not known */
#define LINES_MAX 16384u     /* bytes of a function's table of lines */
#define ATTEMPTS 3           /* at a thread that goes on while it is read */

/* A set of offsets for each version. */
#define AT_NAME(name, structure, member, in_3_11, in_3_12) name,
#define AT_3_11(name, structure, member, in_3_11, in_3_12) [name] = (in_3_11),
#define AT_3_12(name, structure, member, in_3_11, in_3_12) [name] = (in_3_12),
enum python_field { PYTHON_LAYOUT(AT_NAME) FIELDS };
static const struct python_layout {
    uint32_t version;
    uint16_t at[FIELDS];
} layouts[] = {{PYTHON_3_11, {PYTHON_LAYOUT(AT_3_11)}}, {PYTHON_3_12, {PYTHON_LAYOUT(AT_3_12)}}};
enum { BYTES_MAX = 256 /* of the structures up to the last of those fields */ };

enum python_type { TYPE_CODE, TYPE_TEXT, TYPE_BYTES, TYPES };
static const char type_names[TYPES][16] = {"PyCode_Type", "PyUnicode_Type", "PyBytes_Type"};

/* Of this process; 0: not known. */
static uint64_t runtime, types[TYPES];
static const struct python_layout *layout;
static char unknown[64]; /* what Python it is, if its frames are not known */
static unsigned python_table;

void python_prepare(unsigned number)
{
    python_table = number;
    runtime = 0;
    unknown[0] = '\0';
}

/* ---- memory ---------------------------------------------------------------------------------- */

static uint64_t word_at(uint64_t address)
{
    uint64_t word = 0;
    return proc_read_memory(&word, address, sizeof word) == sizeof word ? word : 0;
}

static uint64_t field_at(uint64_t structure, enum python_field field)
{
    return word_at(structure + layout->at[field]);
}

/* Of a structure whose first bytes have been read. */
static uint64_t field_in(const unsigned char *bytes, enum python_field field)
{
    uint64_t word;
    memcpy(&word, bytes + layout->at[field], sizeof word);
    return word;
}

static bool read_fields(unsigned char *bytes, uint64_t structure, enum python_field last)
{
    const size_t wanted = layout->at[last] + sizeof(uint64_t);
    return proc_read_memory(bytes, structure, wanted) == wanted;
}

static bool is_of_type(uint64_t object, enum python_type type)
{
    return object && field_at(object, OBJECT_TYPE) == types[type];
}

/* ---- the interpreter ------------------------------------------------------------------------- */

static void note_unknown(uint64_t version)
{
    if (version)
        snprintf(unknown, sizeof unknown, "Python %u.%u: frames not known",
                 (unsigned)(version >> 24), (unsigned)(version >> 16 & 255));
    else
        snprintf(unknown, sizeof unknown, "Python before 3.11: frames not known");
}

/* Those that were released, and on machines like those that the offsets are from. */
static const struct python_layout *find_layout(uint64_t version)
{
    if (sizeof(void *) == 8 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
        for (unsigned i = 0; i < sizeof layouts / sizeof *layouts; i++)
            if (version >> 16 == layouts[i].version >> 16 && version >= layouts[i].version)
                return &layouts[i];
    return NULL;
}

/* A file that has an interpreter says its version since 3.11. */
static void look_into(uint64_t file)
{
    struct code_symbols symbols;
    if (!code_symbols(file, &symbols))
        return;
    const uint64_t found = code_symbol(&symbols, "_PyRuntime");
    const uint64_t place = code_symbol(&symbols, "Py_Version");
    const uint64_t version = place ? word_at(place) : 0;
    layout = find_layout(version);
    bool good = found && layout;
    for (unsigned i = 0; i < TYPES && good; i++) {
        types[i] = code_symbol(&symbols, type_names[i]);
        good = types[i] != 0;
    }
    runtime = good ? found : 0;
    if (!good && (found || place))
        note_unknown(version);
}

static bool is_known(void)
{
    uint64_t file;
    while (!runtime && (file = code_new_file()))
        look_into(file);
    return runtime != 0;
}

/* The frame that a thread is in, of one that runs as its copied stack has it: the structure that
 * has its address is a variable of the function that interprets it. */
static uint64_t innermost_frame(const struct stack_copy *copy, uint64_t cframe)
{
    const uint64_t at = cframe + layout->at[CFRAME_FRAME] - copy->stack;
    if (at / sizeof(uint64_t) < copy->count && at % sizeof(uint64_t) == 0)
        return copy->words[at / sizeof(uint64_t)];
    return copy->is_asked ? 0 : field_at(cframe, CFRAME_FRAME);
}

/* Where the thread's structure has the innermost frame; 0: it is in none, or not found. A new
 * thread's structure has its maker's number for a while. */
static uint64_t find_cframe(const struct stack_copy *copy)
{
    unsigned char thread[BYTES_MAX];
    uint64_t interpreter = field_at(runtime, RUNTIME_INTERPRETERS);
    unsigned count = 0;
    for (; interpreter && count < THREADS_MAX;
         interpreter = field_at(interpreter, INTERPRETER_NEXT), count++) {
        uint64_t next = field_at(interpreter, INTERPRETER_THREADS);
        for (; next && count < THREADS_MAX; next = field_in(thread, THREAD_NEXT), count++) {
            if (!read_fields(thread, next, THREAD_OS_ID))
                return 0;
            const uint64_t cframe = field_in(thread, THREAD_CFRAME);
            if (field_in(thread, THREAD_OS_ID) == copy->os_id && innermost_frame(copy, cframe))
                return cframe;
        }
    }
    return 0;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* A byte that is in no encoding is a character of its own (PEP 383). */
static size_t put_utf8(char *to, uint32_t c)
{
    if (c < 0x80 || (c >= 0xdc80 && c <= 0xdcff)) {
        to[0] = (char)c;
        return 1;
    }
    const size_t more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    for (size_t i = more; i > 0; i--, c >>= 6)
        to[i] = (char)(0x80 | (c & 0x3f));
    to[0] = (char)(UINT32_C(0xf0) << (3 - more) | c);
    return more + 1;
}

/* The number of a text's characters in UTF-8; 0: not known. */
static uint64_t text_name(uint64_t text)
{
    static unsigned char chars[TEXT_CHARS_MAX * 4];
    static char utf8[TEXT_CHARS_MAX * 4];
    const uint64_t count = field_at(text, TEXT_COUNT);
    const uint32_t state = (uint32_t)field_at(text, TEXT_STATE); /* :2, kind:3, compact, ascii */
    const uint32_t kind = state >> 2 & 7;
    if (!is_of_type(text, TYPE_TEXT) || !(state >> 5 & 1) ||
        (kind != 1 && kind != 2 && kind != 4) || count > TEXT_CHARS_MAX ||
        proc_read_memory(chars, text + layout->at[state >> 6 & 1 ? TEXT_ASCII : TEXT_OTHER],
                         count * kind) != count * kind)
        return 0;
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t c = 0;
        memcpy(&c, chars + i * kind, kind);
        bytes += put_utf8(utf8 + bytes, c & 0x1fffff);
    }
    return code_name(utf8, bytes);
}

/* Six bits each, the lowest first, 0x40 where there are more; a sign is the lowest bit. */
static int64_t take_signed(const unsigned char **at, const unsigned char *end)
{
    uint64_t value = 0;
    unsigned char byte = 0x40;
    for (unsigned shift = 0; *at < end && byte & 0x40 && shift < 36; shift += 6) {
        byte = *(*at)++;
        value |= (uint64_t)(byte & 0x3f) << shift;
    }
    return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

/* The line of a code unit, by CPython's Objects/locations.md; 0: it has none, or not known. */
static uint64_t find_line(uint64_t table, int64_t line, uint64_t unit)
{
    static unsigned char lines[LINES_MAX];
    uint64_t count = field_at(table, BYTES_COUNT);
    if (!is_of_type(table, TYPE_BYTES))
        return 0;
    count = count < sizeof lines ? count : sizeof lines;
    if (proc_read_memory(lines, table + layout->at[BYTES_FIRST], count) != count)
        return 0;
    for (const unsigned char *at = lines, *end = lines + count; at < end;) {
        const unsigned char first = *at++;
        const unsigned form = first >> 3 & 15, units = (first & 7) + 1u;
        line += form >= 13 && form <= 14  ? take_signed(&at, end)
                : form >= 10 && form < 13 ? (int)form - 10
                                          : 0;
        if (unit < units)
            return form == 15 || line < 0 ? 0 : (uint64_t)line;
        unit -= units;
        while (at < end && !(*at & 0x80)) /* its columns: only a first byte has that bit */
            at++;
    }
    return 0;
}

/* ---- frames ---------------------------------------------------------------------------------- */

/* What is the same in two readings was so between them. */
struct python_link {
    uint64_t address, code, instruction, entry;
};

static uint32_t read_links(uint64_t address, struct python_link *links)
{
    unsigned char frame[BYTES_MAX];
    uint32_t count = 0;
    for (unsigned i = 0; i < 2 * PYTHON_FRAMES_MAX && address && count < PYTHON_FRAMES_MAX; i++) {
        if (!read_fields(frame, address, FRAME_MARK))
            return 0;
        const unsigned char mark = frame[layout->at[FRAME_MARK]];
        const bool is_3_11 = layout->version == PYTHON_3_11;
        if (is_3_11 || mark != PYTHON_BETWEEN)
            links[count++] =
                (struct python_link){address, field_in(frame, FRAME_CODE),
                                     field_in(frame, FRAME_INSTRUCTION), is_3_11 && mark};
        else if (count)
            links[count - 1].entry = 1;
        address = field_in(frame, FRAME_PREVIOUS);
    }
    return count;
}

/* False: there is no function where the frame says so. */
static bool read_frame(const struct python_link *link, struct python_frame *frame_out)
{
    unsigned char code[BYTES_MAX];
    int32_t line;
    if (!is_of_type(link->code, TYPE_CODE) || !read_fields(code, link->code, CODE_LINES))
        return false;
    memcpy(&line, code + layout->at[CODE_FIRST_LINE], sizeof line);
    const int64_t bytes = (int64_t)(link->instruction - link->code) - layout->at[CODE_INSTRUCTIONS];
    frame_out->function = text_name(field_in(code, CODE_NAME));
    frame_out->file = text_name(field_in(code, CODE_FILE));
    frame_out->line = bytes < 0 ? (uint64_t)(line > 0 ? line : 0) /* it has not begun */
                                : find_line(field_in(code, CODE_LINES), line, (uint64_t)bytes / 2);
    frame_out->entry = link->entry;
    return true;
}

/* How many frames; 0: the thread has gone on meanwhile. Who runs has, when its stack is there, but
 * is mostly still in the function that it was in then, if not in others that this one has called.
 */
static uint32_t read_frames(struct stack_copy *copy, uint64_t cframe)
{
    static struct python_link links[PYTHON_FRAMES_MAX], again[PYTHON_FRAMES_MAX];
    const uint64_t innermost = innermost_frame(copy, cframe);
    const uint32_t count = read_links(field_at(cframe, CFRAME_FRAME), links);
    uint32_t first = 0;
    while (first < count && links[first].address != innermost)
        first++;
    for (uint32_t i = first; i < count; i++)
        if (!read_frame(&links[i], &copy->python[i - first]))
            return 0;
    if (read_links(field_at(cframe, CFRAME_FRAME), again) != count)
        return 0;
    if (copy->is_asked)
        again[0].instruction = links[0].instruction; /* from one to the next: both are right */
    return memcmp(links, again, count * sizeof *links) == 0 ? count - first : 0;
}

void python_read(struct stack_copy *copy)
{
    copy->python_count = 0;
    const uint64_t cframe = is_known() ? find_cframe(copy) : 0;
    for (int i = 0; i < ATTEMPTS && cframe && !copy->python_count; i++)
        copy->python_count = read_frames(copy, cframe);
    if (!runtime && unknown[0]) {
        copy->python[0] = (struct python_frame){code_name(unknown, strlen(unknown)), 0, 0, 2};
        copy->python_count = 1;
    }
}

void python_write(const struct stack_copy *copy)
{
    for (uint32_t i = 0; i < copy->python_count; i++) {
        const struct python_frame *frame = &copy->python[i];
        const uint64_t cells[COLUMNS_python_frame] = {
            [AT_python_frame_time] = copy->ticks,
            [AT_python_frame_thread] = copy->opened.thread_id,
            [AT_python_frame_since] = copy->opened.since_ticks,
            [AT_python_frame_depth] = i,
            [AT_python_frame_function] = frame->function,
            [AT_python_frame_file] = frame->file,
            [AT_python_frame_line] = frame->line,
            [AT_python_frame_entry] = frame->entry,
        };
        stray_rows_add(python_table, cells);
    }
}
