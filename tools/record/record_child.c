/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terminal sends its signals to the program and to us: we go on, and see how it takes them.
 * Those that are sent to us alone are handed on.
 */
#include "record_child.h"

#include "message.h"
#include "read_clock.h"
#include "record_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const int from_terminal[] = {SIGINT, SIGQUIT};
static const int handed_on[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
#define COUNT(array) (int)(sizeof(array) / sizeof(array)[0])

bool record_set(struct record_environment *environment, const char *name, const char *value)
{
    char *copy = value ? strdup(value) : NULL;
    if ((value && !copy) || environment->count == RECORD_WORDS_MAX)
        return message_fail("out of memory");
    environment->variables[environment->count].name = name;
    environment->variables[environment->count++].value = copy;
    return true;
}

void record_environment_free(struct record_environment *environment)
{
    for (int i = 0; i < environment->count; i++)
        free(environment->variables[i].value);
    environment->count = 0;
}

/* ---- signals --------------------------------------------------------------------------- */

static volatile sig_atomic_t program; /* its process; 0: there is none */
static volatile sig_atomic_t stopped_by;

int record_stopped(void)
{
    return stopped_by;
}

static void note_stop(int number)
{
    stopped_by = number;
}

static void hand_on(int number)
{
    int kept = errno;
    if (number == SIGTERM || number == SIGHUP)
        stopped_by = number;
    if (program > 0)
        kill((pid_t)program, number);
    errno = kept;
}

struct dispositions {
    struct sigaction of_terminal[COUNT(from_terminal)], of_others[COUNT(handed_on)];
    sigset_t mask;
};

/* From here on until restore nothing of these ends us; they are blocked until the program runs. */
static void child_take_signals(struct dispositions *before)
{
    struct sigaction note = {.sa_handler = note_stop}, hand = {.sa_handler = hand_on};
    sigset_t blocked;
    sigemptyset(&blocked);
    hand.sa_flags = note.sa_flags = SA_RESTART;
    for (int i = 0; i < COUNT(handed_on); i++)
        sigaddset(&blocked, handed_on[i]);
    sigprocmask(SIG_BLOCK, &blocked, &before->mask);
    for (int i = 0; i < COUNT(from_terminal); i++)
        sigaction(from_terminal[i], &note, &before->of_terminal[i]);
    for (int i = 0; i < COUNT(handed_on); i++) {
        sigaction(handed_on[i], NULL, &before->of_others[i]);
        if (before->of_others[i].sa_handler != SIG_IGN) /* as nohup wants it */
            sigaction(handed_on[i], &hand, NULL);
    }
}

static void restore_signals(const struct dispositions *before)
{
    for (int i = 0; i < COUNT(from_terminal); i++)
        sigaction(from_terminal[i], &before->of_terminal[i], NULL);
    for (int i = 0; i < COUNT(handed_on); i++)
        sigaction(handed_on[i], &before->of_others[i], NULL);
    sigprocmask(SIG_SETMASK, &before->mask, NULL);
}

/* ---- running --------------------------------------------------------------------------- */

static _Noreturn void become(char **words, const struct record_environment *environment,
                             const struct dispositions *before)
{
    restore_signals(before);
    signal(SIGPIPE, SIG_DFL);
    for (int i = 0; i < environment->count; i++)
        if (environment->variables[i].value)
            setenv(environment->variables[i].name, environment->variables[i].value, 1);
        else
            unsetenv(environment->variables[i].name);
    if (environment->own_number) {
        char number[24];
        snprintf(number, sizeof number, "%ld", (long)getpid());
        setenv(environment->own_number, number, 1);
    }
    if (environment->repeated) {
        const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0)
            (void)dup2(nothing, STDOUT_FILENO);
    }
    execvp(words[0], words);
    message_hold(NULL);
    message("%s: %s", words[0], strerror(errno));
    _exit(errno == ENOENT || errno == ENOTDIR ? 127 : 126);
}

static struct recover_end ended;

struct recover_end record_end_seen(void)
{
    return ended;
}

int record_run(char **words, const struct record_environment *environment)
{
    struct dispositions before;
    int status = -1;
    child_take_signals(&before);
    pid_t pid = fork();
    if (pid == 0)
        become(words, environment, &before);
    if (pid < 0)
        message("%s: %s", words[0], strerror(errno));
    program = pid > 0 ? pid : 0;
    sigprocmask(SIG_SETMASK, &before.mask, NULL);
    siginfo_t seen; /* not reaped yet: until program is 0 nobody else has its number */
    while (pid > 0 && waitid(P_PID, (id_t)pid, &seen, WEXITED | WNOWAIT) < 0 && errno == EINTR)
        ;
    program = 0;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    ended = (struct recover_end){pid > 0 ? (uint64_t)pid : 0, read_clock_ns(CLOCK_MONOTONIC)};
    restore_signals(&before);
    return status;
}

int record_end_like(int status)
{
    if (status == -1)
        return 126;
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    int number = WTERMSIG(status);
    struct sigaction otherwise = {.sa_handler = SIG_DFL};
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, number);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}); /* the program's core is the one of interest */
    sigaction(number, &otherwise, NULL);
    sigprocmask(SIG_UNBLOCK, &only, NULL);
    kill(getpid(), number);
    return 128 + number;
}

/* The library in the program adds a line "+" before fork returns in the parent, which may end at
 * once (daemon(3)), and a line "PID NAME" in the child (runtime/threads/wrap_thread.c). */

enum { NAMED_MAX = 5, TEXT_BYTES = 512 };

static char list[PATH_MAX]; /* "": there is none */

bool record_children_set_up(struct record_environment *environment)
{
    const char *temporary = getenv("TMPDIR");
    snprintf(list, sizeof list, "%s/rbwp-children-XXXXXX",
             temporary && *temporary ? temporary : "/tmp");
    int fd = mkstemp(list);
    if (fd < 0) {
        message("%s: %s: forked processes are not counted", list, strerror(errno));
        list[0] = '\0';
        return true;
    }
    close(fd);
    return record_set(environment, "RBWP_THREADS_CHILDREN", list);
}

/* How many, and who they are, as far as they have come to say so. */
static unsigned read_list(FILE *lines, char names[TEXT_BYTES])
{
    char *line = NULL;
    size_t room = 0, used = 0;
    unsigned count = 0, named = 0;
    names[0] = '\0';
    for (ssize_t bytes; (bytes = getline(&line, &room, lines)) > 0;) {
        line[bytes - 1] = '\0';
        count += strcmp(line, "+") == 0;
        char *name = strchr(line, ' ');
        if (!name || named++ >= NAMED_MAX)
            continue;
        *name = '\0';
        used += (size_t)snprintf(names + used, TEXT_BYTES - used, "%s%.40s %.12s", used ? ", " : "",
                                 name + 1, line);
    }
    free(line);
    if (named > NAMED_MAX)
        snprintf(names + used, TEXT_BYTES - used, " and %u more", named - NAMED_MAX);
    return count;
}

void record_children_say(const char *file)
{
    char names[TEXT_BYTES], with[PATH_MAX];
    FILE *lines = *list ? fopen(list, "re") : NULL;
    if (!lines)
        return;
    const unsigned count = read_list(lines, names);
    fclose(lines);
    (void)unlink(list);
    list[0] = '\0';
    if (count && record_files_name(file, "%p", with, sizeof with))
        message_plain("%u process%s that it forked %s not recorded%s%s%s: -o %s records each",
                      count, count == 1 ? "" : "es", count == 1 ? "is" : "are", *names ? " (" : "",
                      names, *names ? ")" : "", with);
}
