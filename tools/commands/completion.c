/* SPDX-License-Identifier: Apache-2.0 */
#include "completion.h"
#include "critical_path.h"
#include "documents.h"
#include "dump_columns.h"
#include "info.h"
#include "kernel_dumps.h"
#include "processes.h"
#include "stacks.h"
#include "stats_diff.h"
#include "table_list.h"
#include "timeline.h"
#include "top.h"
#include "what_if.h"

#include <string.h>

/* ---- schemas --------------------------------------------------------------------------------- */
/* A document is the columns that print it: what is in the one is in the other. */

bool schema_write(struct out *out, const char *name)
{
    struct result_column stats[STATS_DOCUMENT_MAX];
    const struct {
        const char *name;
        const struct result_column *columns;
    } documents[] = {{"check", check_columns},
                     {"critical-path", critical_columns},
                     {"diff", diff_columns},
                     {"dump", dump_columns()},
                     {"events", events_columns},
                     {"info", info_document()->list->columns},
                     {"lanes", lanes_columns},
                     {"records", records_columns},
                     {"repair", repair_columns},
                     {"spans", spans_columns},
                     {"stats", stats},
                     {"tables", table_list_columns},
                     {"processes", processes_columns->list->columns},
                     {"stacks", stacks_columns->list->columns},
                     {"top", top_columns->list->columns},
                     {"ctl", ctl_columns->list->columns},
                     {"split", split_columns},
                     {"export", export_columns},
                     {"timeline", timeline_columns},
                     {"why", why_columns},
                     {"what-if", what_if_columns}};
    stats_document(stats);
    for (size_t i = 0; i < sizeof documents / sizeof documents[0]; i++)
        if (strcmp(name, documents[i].name) == 0) {
            result_schema(out, name, documents[i].columns);
            return true;
        }
    return false;
}

/* ---- completions and manual pages ------------------------------------------------------------ */
/* One pass over commands and options for each shell; only quoting and frame differ. */

struct writing {
    struct out *out;
    const struct command *command;
};

/* text with a backslash before each of the special characters; ' leaves the quotes around it. */
static void quoted(struct out *out, const char *text, const char *special)
{
    for (; *text; text++) {
        if (*text == '\'') {
            out_text(out, "'\\''");
            continue;
        }
        if (strchr(special, *text))
            out_text(out, "\\");
        out_bytes(out, text, 1);
    }
}

static void each_option(const struct writing *writing,
                        void (*take)(void *context, const struct option *option))
{
    options_each(writing->command->groups, take, (void *)(uintptr_t)writing);
}

/* ---- bash ------------------------------------------------------------------------------ */

static void bash_word(void *context, const struct option *option)
{
    const struct writing *writing = context;
    out_format(writing->out, "--%s ", option->name);
}

static void bash_choices(void *context, const struct option *option)
{
    const struct writing *writing = context;
    if (option_words(option))
        out_format(writing->out,
                   "    '%s --%s') COMPREPLY=($(compgen -W '%s' -- \"$cur\")); return ;;\n",
                   writing->command->name, option->name, option->choices);
    else if (option->argument)
        out_format(writing->out, "    '%s --%s') return ;;\n", writing->command->name,
                   option->name);
}

static void write_bash(struct out *out, struct command_list list)
{
    out_text(out, "# bash completion of rbwp; made from its tables of options\n"
                  "_rbwp() {\n"
                  "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
                  "    local command=${COMP_WORDS[1]} words=\n"
                  "    COMPREPLY=()\n"
                  "    if [[ ${1##*/} == rbwp-dump ]]; then\n"
                  "        command=dump\n"
                  "    elif [[ $COMP_CWORD -eq 1 ]]; then\n"
                  "        COMPREPLY=($(compgen -W '");
    for (int i = 0; i < list.count; i++)
        out_format(out, "%s ", list.commands[i]->name);
    out_text(out, "help version");
    out_text(out, "' -- \"$cur\"))\n        return\n    fi\n    case \"$command $prev\" in\n");
    for (int i = 0; i < list.count; i++)
        each_option(&(struct writing){out, list.commands[i]}, bash_choices);
    out_text(out, "    esac\n    [[ $cur == -* ]] || return\n    case $command in\n");
    for (int i = 0; i < list.count; i++) {
        out_format(out, "    %s) words='", list.commands[i]->name);
        each_option(&(struct writing){out, list.commands[i]}, bash_word);
        out_text(out, "' ;;\n");
    }
    out_text(out, "    esac\n    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n}\n"
                  "complete -o default -F _rbwp rbwp rbwp-dump\n");
}

/* ---- zsh ------------------------------------------------------------------------------- */

static void zsh_option(void *context, const struct option *option)
{
    const struct writing *writing = context;
    struct out *out = writing->out;
    out_format(out, " \\\n            '*--%s%s[", option->name, option->argument ? "=" : "");
    quoted(out, option->help, "[]:\\");
    out_text(out, "]");
    if (option->argument) {
        out_text(out, ":");
        quoted(out, option->argument, ":\\");
        if (option_words(option))
            out_format(out, ":(%s)", option->choices);
        else
            out_text(out, strcmp(option->argument, "FILE") == 0 ? ":_files" : ": ");
    }
    out_text(out, "'");
}

static void write_zsh(struct out *out, struct command_list list)
{
    out_text(out, "#compdef rbwp rbwp-dump\n"
                  "# zsh completion of rbwp; made from its tables of options\n"
                  "_rbwp() {\n"
                  "    local command=${words[2]}\n"
                  "    if [[ $service == rbwp-dump ]]; then\n"
                  "        command=dump\n"
                  "    elif (( CURRENT == 2 )); then\n"
                  "        _values command \\\n");
    for (int i = 0; i < list.count; i++) {
        out_format(out, "            '%s[", list.commands[i]->name);
        quoted(out, list.commands[i]->summary, "[]:\\");
        out_text(out, "]' \\\n");
    }
    out_text(out, "            'help[show help]' 'version[show the version]'\n"
                  "        return\n    else\n        shift words\n        (( CURRENT-- ))\n    fi\n"
                  "    case $command in\n");
    for (int i = 0; i < list.count; i++) {
        out_format(out, "    %s)\n        _arguments", list.commands[i]->name);
        each_option(&(struct writing){out, list.commands[i]}, zsh_option);
        out_text(out, " \\\n            '*:file:_files' ;;\n");
    }
    out_text(out, "    esac\n}\n_rbwp \"$@\"\n");
}

/* ---- fish ------------------------------------------------------------------------------ */

static void fish_description(struct out *out, const char *text)
{
    out_text(out, " -d '");
    quoted(out, text, "\\");
    out_text(out, "'\n");
}

static void fish_option(void *context, const struct option *option)
{
    const struct writing *writing = context;
    struct out *out = writing->out;
    out_format(out, "complete -c rbwp -n '__fish_seen_subcommand_from %s' -l %s",
               writing->command->name, option->name);
    if (option->letter)
        out_format(out, " -s %c", option->letter);
    if (option_words(option))
        out_format(out, " -x -a '%s'", option->choices);
    else if (option->argument)
        out_text(out, strcmp(option->argument, "FILE") == 0 ? " -r" : " -x");
    fish_description(out, option->help);
}

static void write_fish(struct out *out, struct command_list list)
{
    out_text(out, "# fish completion of rbwp; made from its tables of options\n");
    for (int i = 0; i < list.count; i++) {
        out_format(out, "complete -c rbwp -n __fish_use_subcommand -a %s", list.commands[i]->name);
        fish_description(out, list.commands[i]->summary);
        each_option(&(struct writing){out, list.commands[i]}, fish_option);
    }
}

bool completion_write(struct out *out, const char *shell, struct command_list list)
{
    if (strcmp(shell, "bash") == 0)
        write_bash(out, list);
    else if (strcmp(shell, "zsh") == 0)
        write_zsh(out, list);
    else if (strcmp(shell, "fish") == 0)
        write_fish(out, list);
    else
        return false;
    return true;
}

/* ---- a manual page ----------------------------------------------------------------------- */

static void man_option(void *context, const struct option *option)
{
    const struct writing *writing = context;
    struct out *out = writing->out;
    out_text(out, ".It Fl ");
    if (option->letter)
        out_format(out, "%c , ", option->letter);
    out_format(out, "-%s", option->name);
    if (option->argument)
        out_format(out, " Ar %s", option->argument);
    out_text(out, "\n");
    for (const char *at = option->help; *at; at++)
        out_text(out, *at == '\\' ? "\\e" : *at == '-' ? "\\-" : (char[]){*at, '\0'});
    out_text(out, "\n");
}

void completion_man(struct out *out, const struct command *command)
{
    out_text(out, ".Bl -tag -width Fl\n");
    each_option(&(struct writing){out, command}, man_option);
    out_text(out, ".El\n");
}
