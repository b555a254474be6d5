/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each request is a function in a table. What changes what is recorded is noted in the file too, as
 * rows of the table "control" (control_rows.h), so that a reader knows what a count stands for.
 */
#include "control_words.h"

#include "control_rows.h"
#include "dump.h"
#include "failure.h"
#include "names.h"
#include "node.h"
#include "rotate.h"
#include "running.h"
#include "settings_file.h"
#include "slot_limits.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN_NAME_BYTES 64
#define NO_DURATION "'%.40s' is no duration: 250ns, 10us, 1.5ms, 2s or 0"

/* ---- answers ---------------------------------------------------------------------------- */

static __attribute__((format(printf, 2, 3))) void control_words_add(struct control_answer *answer,
                                                                    const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    size_t room = sizeof answer->text - answer->bytes;
    int bytes = vsnprintf(answer->text + answer->bytes, room, format, arguments);
    va_end(arguments);
    if (bytes > 0)
        answer->bytes += (size_t)bytes < room ? (size_t)bytes : room - 1;
}

static __attribute__((format(printf, 2, 3))) void
control_words_refuse(struct control_answer *answer, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    answer->refused = true;
    answer->bytes = 0;
    control_words_add(answer, "%s\n", text);
}

/* A name of the program's, on one line. */
static const char *shown(const char *name, char text[SHOWN_NAME_BYTES])
{
    size_t i = 0;
    for (; name[i] && i < SHOWN_NAME_BYTES - 1; i++)
        text[i] = (unsigned char)name[i] < ' ' || name[i] == '\x7f' ? '?' : name[i];
    text[i] = '\0';
    return text;
}

/* ---- slots -------------------------------------------------------------------------------- */

static const struct rbwp_work_item_name *control_words_name_of(const struct names_snapshot *names,
                                                               unsigned slot)
{
    for (uint32_t i = 0; i < names->work_item_count; i++)
        if (names->work_items[i].slot == slot)
            return &names->work_items[i];
    return NULL;
}

static bool control_words_is_number(const char *word)
{
    return *word && word[strspn(word, "0123456789")] == '\0';
}

typedef void (*slot_fn)(unsigned slot, const char *name, uint64_t value);

/* Does it to all slots of that name, or to the one of that number. How many those were. */
static unsigned for_slots(const char *word, slot_fn act, uint64_t value)
{
    struct names_snapshot names;
    unsigned found = 0;
    if (names_take(&names) != RBWP_OK)
        return 0;
    for (uint32_t i = 0; i < names.work_item_count; i++)
        if (strcmp(names.work_items[i].name, word) == 0) {
            act(names.work_items[i].slot, names.work_items[i].name, value);
            found++;
        }
    if (!found && control_words_is_number(word) && strlen(word) < 4 &&
        atoi(word) < (int)RBWP_SLOTS_MAX) {
        const struct rbwp_work_item_name *name =
            control_words_name_of(&names, (unsigned)atoi(word));
        act((unsigned)atoi(word), name ? name->name : "", value);
        found++;
    }
    names_release(&names);
    return found;
}

static void set_disabled(unsigned slot, const char *name, uint64_t disabled)
{
    slot_limits_set_disabled(slot, disabled != 0);
    control_note(disabled ? "disable" : "enable", slot, name, 0);
}

static void set_least(unsigned slot, const char *name, uint64_t least_ns)
{
    slot_limits_set_least(slot, least_ns);
    control_note("least", slot, name, least_ns);
}

static void change_slots(const char *word, slot_fn act, uint64_t value,
                         struct control_answer *answer)
{
    char text[SHOWN_NAME_BYTES];
    unsigned found = for_slots(word, act, value);
    if (!found)
        control_words_refuse(answer, "no slot '%s' (status lists them)", shown(word, text));
    else if (found > 1)
        control_words_add(answer, "%u slots have that name\n", found);
}

static const struct {
    const char *name;
    double ns;
} units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
enum { UNITS = sizeof units / sizeof units[0] };

/* "250ns", "10us", "1.5ms", "2s", "0". */
static bool read_duration(const char *word, uint64_t *ns_out)
{
    char *end;
    if (!isdigit((unsigned char)word[0]))
        return false;
    double value = strtod(word, &end);
    *ns_out = 0;
    if (*end == '\0')
        return value == 0;
    for (size_t i = 0; i < UNITS; i++)
        if (strcmp(end, units[i].name) == 0 && value * units[i].ns < 1e18) {
            *ns_out = (uint64_t)(value * units[i].ns);
            return true;
        }
    return false;
}

/* ---- requests ------------------------------------------------------------------------------ */

struct request {
    const char *name;
    size_t least, most; /* words after it */
    void (*carry_out)(char *const *word, size_t count, struct control_answer *answer);
    const char *usage;
};

static void add_duration(struct control_answer *answer, uint64_t ns)
{
    size_t unit = UNITS - 1;
    while (unit > 0 && ns % (uint64_t)units[unit].ns != 0)
        unit--;
    control_words_add(answer, ", least %llu %s",
                      (unsigned long long)(ns / (uint64_t)units[unit].ns), units[unit].name);
}

static void tell_slots(struct control_answer *answer)
{
    struct names_snapshot names;
    if (names_take(&names) != RBWP_OK)
        return;
    for (uint32_t i = 0; i < names.work_item_count; i++) {
        char text[SHOWN_NAME_BYTES];
        const unsigned slot = names.work_items[i].slot;
        const struct slot_limits limits = slot_limits_of(slot);
        control_words_add(answer, "slot %u: %s", slot, shown(names.work_items[i].name, text));
        if (limits.disabled)
            control_words_add(answer, ", disabled");
        if (limits.least_ns)
            add_duration(answer, limits.least_ns);
        if (control_left_out(slot))
            control_words_add(answer, ", %llu left out",
                              (unsigned long long)control_left_out(slot));
        control_words_add(answer, "\n");
    }
    names_release(&names);
}

static void add_rule(void *context, const char *rule_text, uint64_t met, const char *outcome,
                     const char *unknown)
{
    char text[SHOWN_NAME_BYTES];
    control_words_add(context, "rule: %s, met %llu times%s%s%s\n", shown(rule_text, text),
                      (unsigned long long)met,
                      *outcome  ? ", last: "
                      : unknown ? ": "
                                : "",
                      outcome, *outcome || !unknown ? "" : unknown);
}

static void status(char *const *word, size_t count, struct control_answer *answer)
{
    struct running running = {.trouble = ""};
    bool brief = count > 1 && strcmp(word[1], "brief") == 0;
    if (!running_look(&running)) {
        control_words_add(answer, "recording: no\n");
    } else {
        control_words_add(
            answer, "recording: %s\nlevel: %d\nfor: %.3f s\nthreads: %llu\nfile: %s\n",
            running.level ? "yes" : "paused", running.level, (double)running.for_ns / 1e9,
            (unsigned long long)running.threads, running.path);
        if (running.live_errno) {
            struct rbwp_error note;
            (void)failure(&note, RBWP_OK, running.live_errno, LIVE_MISSING_TEXT, running.path);
            control_words_add(answer, "note: %s\n", note.text);
        }
    }
    if (control_signals_left_out())
        control_words_add(answer,
                          "dumps left out: %llu (by signals: %d at once, then one a minute)\n",
                          (unsigned long long)control_signals_left_out(), CONTROL_DUMPS_AT_ONCE);
    if (brief)
        return;
    if (running.trouble[0])
        control_words_add(answer,
                          "rotation: %s; tried again every 10 s, %llu records lost so far\n",
                          running.trouble, (unsigned long long)running.dropped);
    tell_slots(answer);
    rules_each(add_rule, answer);
}

struct rbwp_session_config control_kept;
static _Atomic unsigned sessions; /* so far */

void control_words_session_began(void)
{
    atomic_fetch_add_explicit(&sessions, 1, memory_order_relaxed);
    control_count_from_now();
}

/* The name for the next session's file, where an earlier one of this process has it: "run.bin"
 * becomes "run-2.bin". */
static const char *fresh_file(const char *logfile, char *path, size_t path_bytes)
{
    const unsigned before = atomic_load_explicit(&sessions, memory_order_relaxed);
    if (before == 0)
        return logfile;
    char number[16];
    snprintf(number, sizeof number, "-%u", before + 1);
    node_file_with(logfile, number, path, path_bytes);
    return path;
}

static void control_words_start(char *const *word, size_t count, struct control_answer *answer)
{
    struct rbwp_error error;
    struct rbwp_session_config config = control_kept;
    struct running running;
    char path[sizeof running.path];
    int level = count > 2 ? atoi(word[2]) : config.level ? config.level : 1;
    if (level != 1 && level != 2) {
        control_words_refuse(answer, "level '%.20s' is not 1 or 2", word[2]);
        return;
    }
    config.level = level;
    if (count > 1 && word[1][0])
        config.logfile = word[1];
    else
        config.logfile = fresh_file(config.logfile, path, sizeof path);
    if (running_start(&config, &error) != RBWP_OK) {
        control_words_refuse(answer, "%s", error.text);
        return;
    }
    control_note("start", 0, "", (uint64_t)level);
    if (running_look(&running))
        control_words_add(answer, "records to %s\n", running.path);
}

static void control_words_stop(char *const *word, size_t count, struct control_answer *answer)
{
    struct rbwp_session_summary summary;
    (void)word, (void)count;
    control_note("stop", 0, "", 0);
    if (running_stop(&summary) == RBWP_OK)
        control_words_add(answer, "%llu records, %llu bytes in %s\n",
                          (unsigned long long)summary.records, (unsigned long long)summary.bytes,
                          summary.path);
    else
        control_words_refuse(answer, "%s", summary.error.text);
}

static void level(char *const *word, size_t count, struct control_answer *answer)
{
    struct rbwp_error error;
    (void)count;
    if (strlen(word[1]) != 1 || word[1][0] < '0' || word[1][0] > '2') {
        control_words_refuse(answer, "level '%.20s' is not 0, 1 or 2", word[1]);
        return;
    }
    const int to = word[1][0] - '0';
    if (to == 0) { /* while it is still recorded */
        control_note_left_out();
        control_note("level", 0, "", 0);
    }
    if (running_set_level(to, &error) != RBWP_OK)
        control_words_refuse(answer, "%s", error.text);
    else if (to != 0)
        control_note("level", 0, "", (uint64_t)to);
}

static void enable_or_disable(char *const *word, size_t count, struct control_answer *answer)
{
    (void)count;
    change_slots(word[1], set_disabled, strcmp(word[0], "disable") == 0, answer);
}

static void least(char *const *word, size_t count, struct control_answer *answer)
{
    uint64_t ns;
    (void)count;
    if (read_duration(word[2], &ns))
        change_slots(word[1], set_least, ns, answer);
    else
        control_words_refuse(answer, NO_DURATION, word[2]);
}

static void dump(char *const *word, size_t count, struct control_answer *answer)
{
    static char path[DUMP_PATH_BYTES_MAX];
    struct rbwp_error error;
    struct dump_wish wish = {.why = RBWP_KEPT_CONTROL};
    if (count > 1 && word[1][0])
        wish.path = word[1];
    if (count > 2 && !read_duration(word[2], &wish.last_ns))
        control_words_refuse(answer, NO_DURATION, word[2]);
    else if (dump_now(&wish, path, &error) == RBWP_OK)
        control_words_add(answer, "%s\n", path);
    else
        control_words_refuse(answer, "%s", error.text);
}

static void rule(char *const *word, size_t count, struct control_answer *answer)
{
    struct rbwp_error error;
    if (count > 1 && rules_add(word[1], &error) != RBWP_OK)
        control_words_refuse(answer, "%s", error.text);
    else
        rules_each(add_rule, answer);
}

/* A wish for slots of a name, whether there are some yet or not. True if the words are one. */
static bool is_wish(char *const *word, size_t count)
{
    uint64_t ns = 0;
    bool enables = strcmp(word[0], "enable") == 0, disables = strcmp(word[0], "disable") == 0;
    if (count == 2 && (enables || disables) && !control_words_is_number(word[1])) {
        (void)for_slots(word[1], set_disabled, disables);
        return slot_wishes_add(word[1], disables ? SLOT_WISH_DISABLED : SLOT_WISH_ENABLED, 0);
    }
    if (count != 3 || strcmp(word[0], "least") != 0 || control_words_is_number(word[1]) ||
        !read_duration(word[2], &ns))
        return false;
    (void)for_slots(word[1], set_least, ns);
    return slot_wishes_add(word[1], SLOT_WISH_LEAST, ns);
}

/* Of the flags one has a meaning while a session runs. */
static void apply_flag(char *const *word, size_t count, struct control_answer *answer)
{
    struct running running;
    const char *name = word[0] + strspn(word[0], "-");
    const char *value = count > 1 ? word[1] : strchr(word[0], '=') ? strchr(word[0], '=') + 1 : "";
    char *words[] = {(char[]){"level"}, (char *)(uintptr_t)value};
    if (strcmp(name, "bgworkprofile") == 0 || strncmp(name, "bgworkprofile=", 14) == 0) {
        if (running_look(&running) && running.level != atoi(value))
            level(words, 2, answer);
    } else {
        control_words_add(answer, "%.*s: when the program starts again\n",
                          (int)strcspn(word[0], "="), word[0]);
    }
}

/* first: at the session's start, which has the flags already. */
static void apply_settings(const char *path, bool first, struct control_answer *answer)
{
    struct rbwp_error error;
    char *text, *word[SETTINGS_WORDS_MAX];
    if (settings_read(path, &text, &error) != RBWP_OK) {
        control_words_refuse(answer, "%s", error.text);
        return;
    }
    slot_wishes_forget();
    char *rest = text;
    for (size_t count; !answer->refused && (count = settings_line(&rest, word)) > 0;) {
        char shown_word[SHOWN_NAME_BYTES];
        if (word[0][0] != '-' && !is_wish(word, count))
            control_words_refuse(
                answer, "'%s': a line is a flag, or disable, enable or least with a slot's name",
                shown(word[0], shown_word));
        else if (word[0][0] == '-' && !first)
            apply_flag(word, count, answer);
    }
    free(text);
}

static void lift_least(unsigned slot, const char *name, uint64_t value)
{
    (void)name, (void)value;
    slot_limits_set_least(slot, 0);
}

static void lift_disabled(unsigned slot, const char *name, uint64_t value)
{
    (void)name, (void)value;
    slot_limits_set_disabled(slot, false);
}

static void lift(const char *name, enum slot_wish wish)
{
    (void)for_slots(name, wish == SLOT_WISH_LEAST ? lift_least : lift_disabled, 0);
}

void control_lift_settings(void)
{
    slot_wishes_lift(lift);
}

enum rbwp_status control_apply_settings(const char *path, struct rbwp_error *error)
{
    struct control_answer *answer = calloc(1, sizeof *answer);
    if (!answer)
        return failure(error, RBWP_E_MEMORY, 0, "no memory for settings");
    apply_settings(path, true, answer);
    enum rbwp_status status = RBWP_OK;
    if (answer->refused)
        status = failure(error, RBWP_E_USAGE, 0, "settings \"%s\": %.*s", path,
                         (int)strcspn(answer->text, "\n"), answer->text);
    free(answer);
    return status;
}

static void reload(char *const *word, size_t count, struct control_answer *answer)
{
    const char *path = control_kept.settings;
    (void)word, (void)count;
    if (path)
        apply_settings(path, false, answer);
    else
        control_words_refuse(answer, "it has no file of settings (-bgworkprofile_settings)");
}

static void rotate(char *const *word, size_t count, struct control_answer *answer)
{
    static char path[DUMP_PATH_BYTES_MAX];
    struct rbwp_error error;
    (void)word, (void)count;
    if (rotate_now(path, &error) == RBWP_OK)
        control_words_add(answer, "%s\n", path);
    else
        control_words_refuse(answer, "%s", error.text);
}

static const struct request requests[] = {
    {"status", 0, 1, status, "status"},
    {"start", 0, 2, control_words_start, "start [FILE [LEVEL]]"},
    {"stop", 0, 0, control_words_stop, "stop"},
    {"level", 1, 1, level, "level 0|1|2"},
    {"enable", 1, 1, enable_or_disable, "enable SLOT"},
    {"disable", 1, 1, enable_or_disable, "disable SLOT"},
    {"least", 2, 2, least, "least SLOT DURATION"},
    {"reload", 0, 0, reload, "reload"},
    {"rotate", 0, 0, rotate, "rotate"},
    {"rule", 0, 1, rule, "rule [RULE,...]"},
    {"dump", 0, 2, dump, "dump [FILE [DURATION]]"},
};
enum { REQUESTS = sizeof requests / sizeof requests[0] };

static const struct request *control_words_find(const char *name)
{
    for (size_t i = 0; i < REQUESTS; i++)
        if (strcmp(requests[i].name, name) == 0)
            return &requests[i];
    return NULL;
}

void control_carry_out(char *const *word, size_t count, struct control_answer *answer)
{
    char text[SHOWN_NAME_BYTES];
    const struct request *request = count ? control_words_find(word[0]) : NULL;
    if (!request)
        control_words_refuse(answer, "'%s' is nothing that this process can be told",
                             shown(count ? word[0] : "", text));
    else if (count - 1 < request->least || count - 1 > request->most)
        control_words_refuse(answer, "it is: %s", request->usage);
    else
        request->carry_out(word, count, answer);
}

void control_carry_out_bytes(char *bytes, size_t count, bool may_name_files,
                             struct control_answer *answer)
{
    char *word[CONTROL_WORDS_MAX];
    size_t words = 0;
    if (count == 0 || count > CONTROL_REQUEST_BYTES_MAX || bytes[count - 1] != '\0') {
        control_words_refuse(answer, "a request is up to %u bytes of words, each ended by a 0",
                             CONTROL_REQUEST_BYTES_MAX);
        return;
    }
    for (size_t at = 0; at < count && words < CONTROL_WORDS_MAX; at += strlen(bytes + at) + 1)
        word[words++] = bytes + at;
    const struct request *request = control_words_find(word[0]);
    const bool writes =
        request && (request->carry_out == control_words_start || request->carry_out == dump);
    if (writes && words > 1 && word[1][0] && !may_name_files)
        control_words_refuse(
            answer, "the process has rights that its caller lacks: which file it writes to is not "
                    "said from outside (leave FILE away)");
    else
        control_carry_out(word, words, answer);
}
