/* SPDX-License-Identifier: Apache-2.0 */
/* rbwp ctl: lists the processes of this user that record, and sets what one records. */
#include "controlled.h"
#include "documents.h"
#include "json_text.h"
#include "text_name.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LOOK_WAIT_S 2   /* for who is only asked how it is */
#define LIST_WAIT_S 10  /* for all of a list; more than so many that do not answer are left */
#define TELL_WAIT_S 120 /* a stop writes what is left */
#define WORDS_MAX 12
#define PATH_BYTES 4096

struct ctl_options {
    const char *file, *last, *csv;
    uint32_t level;
    bool json;
};

static const struct option ctl_option_table[] = {
    {"output", 'o', "FILE", NULL, "the file, for start with keys as in -bgworkprofile_logfile",
     offsetof(struct ctl_options, file), NULL},
    {"level", 'l', "N", "1..2", "start: at level 1 or 2", offsetof(struct ctl_options, level),
     NULL},
    {"last", 0, "DURATION", NULL, "dump: about the last 10s, by whole blocks",
     offsetof(struct ctl_options, last), NULL},
    {0},
};

static const struct option ctl_report_table[] = {
    {"json", 0, NULL, NULL, "as JSON: an array of processes, or what the one says",
     offsetof(struct ctl_options, json), NULL},
    CSV_OPTION(offsetof(struct ctl_options, csv), "processes"),
    {0},
};

static const struct option_group ctl_groups[] = {
    {"Report", ctl_report_table, 0},
    {"Start and dump", ctl_option_table, 0},
    {0},
};

/* Lines of another process: what is in them moves no cursor. */
static void put_lines(struct out *out, const char *text)
{
    while (*text) {
        size_t bytes = strcspn(text, "\n");
        text_name(out, text, bytes);
        out_text(out, "\n");
        text += bytes + (text[bytes] == '\n');
    }
}

/* Until the next call. */
static struct trace_text command_of(long pid)
{
    static char name[32];
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/comm", pid);
    FILE *file = fopen(path, "re");
    if (!file || !fgets(name, sizeof name, file))
        strcpy(name, "?");
    if (file)
        fclose(file);
    return (struct trace_text){name, (uint32_t)strcspn(name, "\n")};
}

/* "key: value" lines become members, all of them text; others are in "answer". */
static void ctl_put_json(struct out *out, const struct controlled *process,
                         const struct controlled_answer *answer)
{
    const struct trace_text name = command_of(process->pid);
    out_text(out, "{");
    json_i64(out, "pid", process->pid);
    json_name(out, "program", name.text, name.bytes);
    for (const char *line = answer->text; *line; line += *line == '\n') {
        const size_t bytes = strcspn(line, "\n"), key = strcspn(line, ":\n");
        const bool pair = key + 1 < bytes && line[key + 1] == ' ';
        out_text(out, ",");
        json_string(out, pair ? line : "answer", pair ? key : strlen("answer"));
        out_text(out, ":");
        json_string(out, pair ? line + key + 2 : line, pair ? bytes - key - 2 : bytes);
        line += bytes;
    }
    out_text(out, "}\n");
}

/* ---- the list --------------------------------------------------------------------------- */

/* What stands behind "key: " at the beginning of a line, up to its end. */
static struct result_cell value_of(const char *text, const char *key)
{
    size_t key_bytes = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, key_bytes) == 0 && strncmp(line + key_bytes, ": ", 2) == 0) {
            line += key_bytes + 2;
            return result_bytes((struct trace_text){line, (uint32_t)strcspn(line, "\n")});
        }
    }
    return result_nothing();
}

enum { RECORDING, LEVEL, FOR, THREADS, FILE_NAME, NOTE, DUMPS, REFUSED, FILE_OR_REFUSED };

/* at->all: what each answered. */
static struct result_cell answer_made(const struct result_at *at, int what)
{
    static const char *const keys[] = {"recording", "level", "for",           "threads",
                                       "file",      "note",  "dumps left out"};
    const struct controlled_answer *answer = (const struct controlled_answer *)at->all + at->number;
    if (answer->refused && what >= REFUSED)
        return result_bytes(
            (struct trace_text){answer->text, (uint32_t)strcspn(answer->text, "\n")});
    return answer->refused || what == REFUSED
               ? result_nothing()
               : value_of(answer->text, keys[what == FILE_OR_REFUSED ? FILE_NAME : what]);
}

RESULT_MAKES(answer_program, controlled, result_bytes(command_of(row->pid)))

#define ANSWER(key, title, width, which)                                                           \
    {                                                                                              \
        key, title, width, RESULT_TEXT, RESULT_MADE(answer_made, which), .optional = true          \
    }
static const struct result_column answer_columns[] = {
    ANSWER(NULL, "file", 0, FILE_OR_REFUSED),
    {"pid", "pid", 8, RESULT_ID, RESULT_FIELD(struct controlled, pid)},
    {"program", "program", -15, RESULT_TEXT, RESULT_MADE(answer_program, 0)},
    ANSWER("refused", NULL, 0, REFUSED),
    ANSWER("recording", "recording", -9, RECORDING),
    ANSWER("level", "level", -5, LEVEL),
    ANSWER("for", "for", -13, FOR),
    ANSWER("threads", "threads", -7, THREADS),
    ANSWER("file", NULL, 0, FILE_NAME),
    ANSWER("note", NULL, 0, NOTE),
    ANSWER("dumps left out", NULL, 0, DUMPS),
    RESULT_LAST};
static const struct result_table answers_table = {
    "processes", NULL, answer_columns, "pid,program,recording,level,for,threads,file", NULL, 0};
const struct result_column ctl_columns[] = {
    {"processes", NULL, 0, RESULT_LIST, .list = &answers_table}, RESULT_LAST};

/* As many as are asked at the same time, so that those that are mute keep nobody waiting for each
 * other. */
static void list_some(struct out *out, const struct ctl_options *options,
                      const struct result_rows *rows, bool first, unsigned wait_s)
{
    static struct controlled_answer answers[CONTROLLED_AT_ONCE];
    const struct result_view view = {out, {"", "", "", "", false}, UINT16_MAX, false, 0, NULL};
    const struct result_layout layout = result_layout(&view, &answers_table, NULL, 0);
    char *words[] = {(char[]){"status"}, (char[]){"brief"}};
    controlled_ask((const struct controlled *)(const void *)rows->first, rows->count, words, 2,
                   wait_s, answers);
    if (options->csv) {
        result_csv(out, &answers_table, rows, answers, first);
        return;
    }
    if (first && !options->json)
        result_text_titles(&view, &layout);
    if (!options->json)
        result_text_rows(&view, &layout, rows, answers, NULL, NULL);
    for (uint32_t i = 0; options->json && i < rows->count; i++) {
        const struct result_at at = result_row(rows, answers, NULL, i);
        out_text(out, first && i == 0 ? "" : ",\n");
        result_json_object(out, answer_columns, &at);
    }
}

static enum exit_code list_all(const struct ctl_options *options, const struct controlled *list,
                               size_t count)
{
    struct out out;
    if (count == 0 && !options->json && !options->csv) {
        message("no process of this user listens: none records now");
        return EXIT_GOOD;
    }
    if (!out_open(&out, &(struct out_options){0}, (struct operands){0}))
        return EXIT_BAD_DATA;
    out_text(&out, options->json ? "[" : "");
    const time_t begin = time(NULL);
    size_t at = 0;
    do {
        size_t some = count - at < CONTROLLED_AT_ONCE ? count - at : CONTROLLED_AT_ONCE;
        const struct result_rows rows = result_array(list + at, sizeof *list, (uint32_t)some);
        list_some(&out, options, &rows, at == 0,
                  time(NULL) - begin < LIST_WAIT_S ? LOOK_WAIT_S : 0);
        at += some;
    } while (at < count);
    out_text(&out, options->json ? "]\n" : "");
    return out_close(&out);
}

/* ---- one process -------------------------------------------------------------------------- */

static enum exit_code ctl_report(const struct controlled *process, char *const *words, size_t count,
                                 bool json)
{
    static struct controlled_answer answer;
    struct out out;
    const bool looks = strcmp(words[0], "status") == 0;
    controlled_ask(process, 1, words, count, looks ? LOOK_WAIT_S : TELL_WAIT_S, &answer);
    if (answer.refused)
        return message_bad_data("process %ld: %.*s", process->pid, (int)strcspn(answer.text, "\n"),
                                answer.text);
    if (!out_open(&out, &(struct out_options){0}, (struct operands){0}))
        return EXIT_BAD_DATA;
    if (json)
        ctl_put_json(&out, process, &answer);
    else
        put_lines(&out, answer.text);
    return out_close(&out);
}

/* The process may be in another folder. False, and a message is given: there is no name. */
static bool make_absolute(const char *file, char path[PATH_BYTES])
{
    char folder[PATH_BYTES] = "";
    if (file && file[0] != '/' && !getcwd(folder, sizeof folder))
        return message_fail("the folder has no name any more: give a path that begins with /");
    int bytes =
        snprintf(path, PATH_BYTES, "%s%s%s", folder, folder[0] ? "/" : "", file ? file : "");
    if (bytes < 0 || bytes >= PATH_BYTES)
        return message_fail("%s: the name is too long", file);
    return true;
}

/* For the process: the operands, then what options say. */
struct words {
    char *word[WORDS_MAX + 3];
    size_t count;
    char path[PATH_BYTES], level[2];
};

/* False, and a message is given: they do not go together. */
static bool fill_words(const struct ctl_options *options, struct operands operands,
                       struct words *words)
{
    for (int i = 1; i < operands.count; i++)
        words->word[words->count++] = operands.words[i];
    if (words->count == 0)
        words->word[words->count++] = (char *)(uintptr_t) "status";
    bool starts = strcmp(words->word[0], "start") == 0, dumps = strcmp(words->word[0], "dump") == 0;
    if ((options->level && !starts) || (options->last && !dumps) ||
        (options->file && !starts && !dumps)) {
        message_usage("--level is for start, --last for dump, --output for both");
        return false;
    }
    if (!make_absolute(options->file, words->path))
        return false;
    if (options->file || options->level || options->last)
        words->word[words->count++] = words->path;
    words->level[0] = (char)('0' + options->level);
    if (options->level)
        words->word[words->count++] = words->level;
    if (options->last)
        words->word[words->count++] = (char *)(uintptr_t)options->last;
    return true;
}

static enum exit_code print_pid(const struct ctl_options *options, struct operands operands,
                                const struct controlled *list, size_t count)
{
    static struct words words;
    char *end;
    errno = 0;
    long pid = strtol(operands.words[0], &end, 10);
    if (*end || end == operands.words[0] || pid <= 0 || errno)
        return message_usage("'%s' is no process id", operands.words[0]);
    if (!fill_words(options, operands, &words))
        return EXIT_USAGE;
    enum exit_code code = EXIT_GOOD;
    bool found = false;
    for (size_t i = 0; i < count; i++)
        if (list[i].pid == pid) {
            code = exit_worse(code, ctl_report(&list[i], words.word, words.count, options->json));
            found = true;
        }
    if (found)
        return code;
    controlled_explain(pid);
    return EXIT_BAD_DATA;
}

static enum exit_code ctl_run(void *config, struct operands operands)
{
    struct controlled *list;
    size_t count;
    if (operands.count > WORDS_MAX)
        return message_usage("too many words");
    const struct ctl_options *options = config;
    if (options->csv && operands.count > 0)
        return message_usage("--csv is for the list of processes");
    if (!csv_is_known(result_has_list(ctl_columns, options->csv), options->csv, options->json))
        return EXIT_USAGE;
    if (!controlled_list(&list, &count))
        return EXIT_BAD_DATA;
    enum exit_code code = operands.count == 0 ? list_all(options, list, count)
                                              : print_pid(options, operands, list, count);
    free(list);
    return code;
}

const struct command command_ctl = {
    .name = "ctl",
    .summary = "list the processes that record, and control one",
    .operands = "[PID [status|start|stop|level N|enable SLOT|disable SLOT|least SLOT "
                "DURATION|reload|rule|dump|rotate]]",
    .description =
        "Without words it lists this user's processes that record, or would (root: all users').\n"
        "With a process id it changes what that one records, which needs no code for it:\n"
        "  status               what it records, its slots and their limits\n"
        "  start, stop          begin a recording; end it, so that its file is whole\n"
        "  level 0|1|2          pause; work items; sub-items too\n"
        "  disable, enable SLOT leave the slot's calls out, or record them again\n"
        "  least SLOT DURATION  leave calls out that last less: 10us, 1.5ms; 0 none\n"
        "  reload               read its file of settings again\n"
        "  rule [RULE]          dump when call:SLOT>10ms, queue:SLOT>5ms or counter:NAME>100\n"
        "  dump                 write what it keeps to a file, while it goes on\n"
        "  rotate               go on in another file\n"
        "SLOT is a name or a number. A process listens while it records, with\n"
        "-bgworkprofile_ctl 1 also before, with 0 never. Exit status: 0 done, 1 not, 2 usage.",
    .groups = ctl_groups,
    .config_bytes = sizeof(struct ctl_options),
    .inputs = INPUTS_NONE,
    .run = ctl_run,
};
