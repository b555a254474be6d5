/* SPDX-License-Identifier: Apache-2.0 */

#include "clock.h"
#include "control_words.h"
#include "failure.h"
#include "held.h"
#include "running.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define SIGNALS_MAX 8
#define DUMP_EVERY_NS INT64_C(60000000000)

enum action { TOGGLE, START, STOP, PAUSE, LEVEL, DUMP };
static const char *const action_names[] = {"toggle", "start", "stop", "pause", "level", "dump"};
enum { ACTIONS = sizeof action_names / sizeof action_names[0] };

static const struct {
    const char *name;
    int number;
} signal_names[] = {{"HUP", SIGHUP},       {"USR1", SIGUSR1}, {"USR2", SIGUSR2},
                    {"WINCH", SIGWINCH},   {"URG", SIGURG},   {"IO", SIGIO},
                    {"VTALRM", SIGVTALRM}, {"PROF", SIGPROF}, {"PWR", SIGPWR}};

struct taken {
    int number;
    enum action action;
    struct sigaction before;
};

static struct taken taken[SIGNALS_MAX];
static _Atomic size_t taken_count;   /* handlers read those before it */
static atomic_uint pending[ACTIONS]; /* since the thread looked */
static const struct held *_Atomic control_signals_waker;
static _Atomic uint64_t dumps_left_out;

/* ---- words ------------------------------------------------------------------------------ */

static int control_signals_number_of(const char *name, size_t bytes)
{
    char text[16];
    if (bytes >= sizeof text)
        return 0;
    memcpy(text, name, bytes);
    text[bytes] = '\0';
    const char *bare = strncmp(text, "SIG", 3) == 0 ? text + 3 : text;
    for (size_t i = 0; i < sizeof signal_names / sizeof signal_names[0]; i++)
        if (strcmp(bare, signal_names[i].name) == 0)
            return signal_names[i].number;
    if (strncmp(bare, "RTMIN", 5) == 0)
        return SIGRTMIN + atoi(bare + 5);
    return isdigit((unsigned char)bare[0]) ? atoi(bare) : 0;
}

static bool action_of(const char *name, size_t bytes, enum action *action_out)
{
    for (unsigned i = 0; i < ACTIONS; i++)
        if (strlen(action_names[i]) == bytes && memcmp(action_names[i], name, bytes) == 0) {
            *action_out = (enum action)i;
            return true;
        }
    return bytes == 0;
}

static enum rbwp_status read_word(const char *word, size_t bytes, struct taken *taken_out,
                                  struct rbwp_error *error)
{
    const char *equals = memchr(word, '=', bytes);
    size_t name_bytes = equals ? (size_t)(equals - word) : bytes;
    *taken_out =
        (struct taken){.number = control_signals_number_of(word, name_bytes), .action = TOGGLE};
    if (taken_out->number <= 0 || taken_out->number > SIGRTMAX)
        return failure(error, RBWP_E_USAGE, 0,
                       "'%.*s' is no signal to control the recording by: USR1, USR2, HUP, WINCH, "
                       "RTMIN+1 ...",
                       (int)(name_bytes < 40 ? name_bytes : 40), word);
    if (equals && !action_of(equals + 1, bytes - name_bytes - 1, &taken_out->action))
        return failure(
            error, RBWP_E_USAGE, 0,
            "'%.*s' is nothing that a signal does: toggle, start, stop, pause, level, dump",
            (int)(bytes - name_bytes - 1 < 40 ? bytes - name_bytes - 1 : 40), equals + 1);
    return RBWP_OK;
}

/* ---- handlers ----------------------------------------------------------------------------- */

static void control_signals_note(int number)
{
    int host_errno = errno;
    for (size_t i = 0; i < atomic_load_explicit(&taken_count, memory_order_acquire); i++)
        if (taken[i].number == number)
            atomic_fetch_add_explicit(&pending[taken[i].action], 1, memory_order_relaxed);
    /* Relaxed: the descriptor in it, which was stored last, says whether the rest is there
     * (held.c). */
    const struct held *end = atomic_load_explicit(&control_signals_waker, memory_order_relaxed);
    if (end && held_is_ours(end))
        (void)!send(end->fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    errno = host_errno;
}

static bool is_ours(const struct sigaction *action)
{
    return !(action->sa_flags & SA_SIGINFO) && action->sa_handler == control_signals_note;
}

static bool is_taken(int number)
{
    bool found = false;
    for (size_t i = 0; i < taken_count; i++)
        found |= taken[i].number == number;
    return found;
}

static enum rbwp_status take_signal_action(struct taken *one, struct rbwp_error *error)
{
    struct sigaction handler = {.sa_handler = control_signals_note, .sa_flags = SA_RESTART};
    sigemptyset(&handler.sa_mask);
    if (sigaction(one->number, NULL, &one->before) == 0 &&
        (!is_ours(&one->before) || is_taken(one->number)) &&
        ((one->before.sa_flags & SA_SIGINFO) ||
         (one->before.sa_handler != SIG_DFL && one->before.sa_handler != SIG_IGN)))
        return failure(error, RBWP_E_USAGE, 0,
                       "signal %d is the program's own: take another to control the recording by",
                       one->number);
    taken[taken_count] = *one; /* before it counts: a handler may look meanwhile */
    taken_count++;
    if (sigaction(one->number, &handler, NULL) == 0)
        return RBWP_OK;
    taken_count--;
    return failure(error, RBWP_E_USAGE, errno, "signal %d cannot be used", one->number);
}

enum rbwp_status control_signals_take(const char *signals, struct rbwp_error *error)
{
    enum rbwp_status status = RBWP_OK;
    taken_count = 0;
    while (status == RBWP_OK && signals && *signals) {
        size_t bytes = strcspn(signals, ",");
        struct taken one;
        status = taken_count == SIGNALS_MAX
                     ? failure(error, RBWP_E_USAGE, 0, "more than %d signals", SIGNALS_MAX)
                     : read_word(signals, bytes, &one, error);
        if (status == RBWP_OK)
            status = take_signal_action(&one, error);
        signals += bytes + (signals[bytes] == ',');
    }
    if (status != RBWP_OK)
        control_signals_give_back();
    return status;
}

void control_signals_give_back(void)
{
    atomic_store(&control_signals_waker, NULL);
    while (taken_count > 0) {
        const struct taken *last = &taken[--taken_count];
        struct sigaction now;
        if (last->before.sa_handler == SIG_IGN && sigaction(last->number, NULL, &now) == 0 &&
            is_ours(&now))
            (void)sigaction(last->number, &last->before, NULL);
    }
}

void control_signals_wake(const struct held *end)
{
    atomic_store(&control_signals_waker, end);
}

/* ---- what they do --------------------------------------------------------------------------- */

static void control_signals_say(const char *word, const char *argument)
{
    static struct control_answer answer; /* which nobody reads */
    char *words[2] = {(char *)(uintptr_t)word, (char *)(uintptr_t)argument};
    answer.bytes = 0;
    control_carry_out(words, argument ? 2 : 1, &answer);
}

static void carry_out(enum action action)
{
    static int level_before_pause = 1;
    struct running running;
    bool records = running_look(&running);
    switch (action) {
    case TOGGLE:
        control_signals_say(records ? "stop" : "start", NULL);
        break;
    case START:
    case STOP:
    case DUMP:
        control_signals_say(action_names[action], NULL);
        break;
    case PAUSE:
        if (running.level > 0 && records)
            level_before_pause = running.level;
        control_signals_say(
            "level", records && running.level == 0 ? level_before_pause == 2 ? "2" : "1" : "0");
        break;
    case LEVEL:
        control_signals_say("level", records && running.level == 1 ? "2" : "1");
        break;
    }
}

/* Whoever sends signals without end fills no disk: so many dumps at once, and one more now and
 * then.
 */
static bool may_dump(void)
{
    static int64_t paid_ns; /* for all dumps so far, at one each DUMP_EVERY_NS */
    const int64_t now_ns = clock_now_ns(0);
    if (paid_ns < now_ns)
        paid_ns = now_ns;
    if (paid_ns - now_ns > (CONTROL_DUMPS_AT_ONCE - 1) * DUMP_EVERY_NS)
        return false;
    paid_ns += DUMP_EVERY_NS;
    return true;
}

uint64_t control_signals_left_out(void)
{
    return atomic_load(&dumps_left_out);
}

void control_signals_carry_out(void)
{
    for (unsigned action = 0; action < ACTIONS; action++)
        for (unsigned times = atomic_exchange(&pending[action], 0); times > 0; times--)
            if (action != DUMP || may_dump())
                carry_out((enum action)action);
            else
                atomic_fetch_add(&dumps_left_out, 1);
}
