/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a recording thread meets is one of three tables with an entry a slot, or a counter; it has
 * the rule's number. One letter box takes what was met until it is dealt with: whoever comes
 * meanwhile only counts.
 */
#include "dump.h"

#include "clock.h"
#include "failure.h"
#include "names.h"
#include "helper_thread.h"
#include "rbwp_rows.h"
#include "recording.h"
#include "settings_file.h"
#include "record_extend.h"
#include "session_config.h"
#include "slot_limits.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OUTCOME_BYTES 320

struct rule {
    enum rule_kind kind;
    char *text, *name;
    uint64_t limit; /* ns, or the counter's */
    uint64_t counter_name;
    _Atomic uint64_t met;
    _Atomic bool known; /* a slot or a counter has this name, or had in this session */
    char outcome[OUTCOME_BYTES];
};

/* Guards all below, but where it says otherwise. */
static pthread_mutex_t session_rules_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rule rules[RULES_MAX];
static _Atomic unsigned rule_count; /* those before it do not change; read without the lock */
static bool can_dump;
static dump_fn *dumper; /* set before there is a thread */
static int64_t every_ns, next_ns;
static pthread_t thread;
static bool has_thread;

/* By slot: 1 + the number of its rule, 0 none; and the least delay, in ticks. */
static _Atomic uint8_t call_rule[RBWP_SLOTS_MAX], queue_rule[RBWP_SLOTS_MAX];
static _Atomic uint64_t queue_ticks[RBWP_SLOTS_MAX];
static _Atomic unsigned watched[RULE_WATCHES]; /* rules about it */

/* The letter box. */
static atomic_flag taken = ATOMIC_FLAG_INIT;
static struct {
    unsigned rule;
    uint64_t value; /* ns, or the counter's */
} letter;
static sem_t posted;
static atomic_bool stopping;

/* ---- on recording threads -------------------------------------------------------------------- */

static void post(unsigned rule, uint64_t value)
{
    atomic_fetch_add_explicit(&rules[rule].met, 1, memory_order_relaxed);
    if (atomic_flag_test_and_set_explicit(&taken, memory_order_acquire))
        return;
    letter.rule = rule;
    letter.value = value;
    sem_post(&posted);
}

static void ring(unsigned slot, uint64_t begin_ticks, uint64_t end_ticks)
{
    unsigned rule = atomic_load_explicit(&call_rule[slot], memory_order_acquire);
    if (rule)
        post(rule - 1, clock_ns_from_ticks(end_ticks - begin_ticks));
}

bool rule_watch_wants(enum rule_watch what)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST); /* see recording_slow_rows */
    return atomic_load_explicit(&watched[what], memory_order_relaxed) > 0;
}

void rule_watch_queue(unsigned slot, uint64_t delay_ticks)
{
    unsigned rule =
        slot < RBWP_SLOTS_MAX ? atomic_load_explicit(&queue_rule[slot], memory_order_acquire) : 0;
    if (rule && delay_ticks > atomic_load_explicit(&queue_ticks[slot], memory_order_relaxed))
        post(rule - 1, clock_ns_from_ticks(delay_ticks));
}

void rule_watch_counter(uint64_t name, int64_t value)
{
    unsigned count = atomic_load_explicit(&rule_count, memory_order_acquire);
    for (unsigned i = 0; i < count; i++) {
        if (rules[i].kind != RULE_COUNTER || rules[i].counter_name != name)
            continue;
        atomic_store_explicit(&rules[i].known, true, memory_order_relaxed);
        if (value > 0 && (uint64_t)value > rules[i].limit)
            post(i, (uint64_t)value);
    }
}

/* ---- the thread that dumps ---------------------------------------------------------------------
 */

static void session_rules_describe(const struct rule *rule, uint64_t value, char *text, size_t room)
{
    if (rule->kind == RULE_COUNTER)
        snprintf(text, room, "%s: %llu", rule->text, (unsigned long long)value);
    else
        snprintf(text, room, "%s: %.3f ms", rule->text, (double)value / 1e6);
}

static void answer_letter(void)
{
    char text[512], path[DUMP_PATH_BYTES_MAX], outcome[OUTCOME_BYTES];
    struct rbwp_error error = {0};
    struct rule *rule = &rules[letter.rule];
    const struct dump_wish wish = {.why = RBWP_KEPT_RULE, .text = text};
    session_rules_describe(rule, letter.value, text, sizeof text);
    bool written = dumper(&wish, path, &error) == RBWP_OK;
    snprintf(outcome, sizeof outcome, "%.*s", OUTCOME_BYTES - 1, written ? path : error.text);
    pthread_mutex_lock(&session_rules_lock);
    memcpy(rule->outcome, outcome, sizeof outcome);
    next_ns = clock_now_ns(0) + every_ns;
    pthread_mutex_unlock(&session_rules_lock);
}

static bool is_due(void)
{
    pthread_mutex_lock(&session_rules_lock);
    bool due = clock_now_ns(0) >= next_ns;
    pthread_mutex_unlock(&session_rules_lock);
    return due;
}

static void *watch(void *argument)
{
    (void)argument;
    for (;;) {
        while (sem_wait(&posted) != 0 && errno == EINTR)
            ;
        if (atomic_load_explicit(&stopping, memory_order_acquire))
            return NULL;
        if (is_due())
            answer_letter();
        atomic_flag_clear_explicit(&taken, memory_order_release);
    }
}

/* Locked. */
static bool start_thread(void)
{
    if (has_thread)
        return true;
    atomic_store(&stopping, false);
    atomic_flag_clear(&taken);
    sem_init(&posted, 0, 0);
    has_thread = helper_thread_start(&thread, "rbwp-rules", watch, NULL) == 0;
    return has_thread;
}

/* ---- rules in force. Locked. --------------------------------------------------------------------
 */

/* The one of this kind that is about the name and has the least limit; 0 none, else 1 + its number.
 */
static uint8_t find_rule(enum rule_kind kind, const char *name)
{
    unsigned found = 0;
    for (unsigned i = 0; i < rule_count; i++)
        if (rules[i].kind == kind && strcmp(rules[i].name, name) == 0) {
            atomic_store_explicit(&rules[i].known, true, memory_order_relaxed);
            if (!found || rules[i].limit < rules[found - 1].limit)
                found = i + 1;
        }
    return (uint8_t)found;
}

static void apply_to_slot(unsigned slot, const char *name)
{
    uint8_t call = find_rule(RULE_CALL, name), queue = find_rule(RULE_QUEUE, name),
            before = atomic_load(&call_rule[slot]);
    if (queue)
        atomic_store(&queue_ticks[slot], rbwp_ticks_from_ns(rules[queue - 1].limit));
    atomic_store_explicit(&queue_rule[slot], queue, memory_order_release);
    atomic_store_explicit(&call_rule[slot], call, memory_order_release);
    if (call || before)
        slot_limits_set_alarm(slot, call ? rules[call - 1].limit : SLOT_LIMITS_NONE);
}

static void apply_to_all(const struct names_snapshot *names)
{
    for (uint32_t i = 0; i < names->work_item_count; i++)
        if (names->work_items[i].slot < RBWP_SLOTS_MAX)
            apply_to_slot(names->work_items[i].slot, names->work_items[i].name);
    unsigned queues = 0, counters = 0;
    for (unsigned i = 0; i < rule_count; i++) {
        queues += rules[i].kind == RULE_QUEUE;
        counters += rules[i].kind == RULE_COUNTER;
    }
    atomic_store(&watched[RULE_WATCH_QUEUES], queues);
    atomic_store(&watched[RULE_WATCH_COUNTERS], counters);
}

static enum rbwp_status add_rule(const char *text, size_t count, struct rbwp_error *error)
{
    struct rule_text said;
    unsigned number = rule_count;
    if (number == RULES_MAX)
        return failure(error, RBWP_E_LIMIT, 0, "there are %u rules already", RULES_MAX);
    struct rule *rule = &rules[number];
    if (!rule_text_read(text, count, &said))
        return RBWP_E_USAGE;
    rule->text = strndup(text, count);
    rule->name = strndup(said.name, said.name_bytes);
    enum rbwp_status status = rule->text && rule->name ? RBWP_OK : RBWP_E_MEMORY;
    if (status == RBWP_OK && said.kind == RULE_COUNTER)
        status = rbwp_name_intern(rule->name, said.name_bytes, &rule->counter_name);
    if (status != RBWP_OK) {
        free(rule->text);
        free(rule->name);
        return failure(error, status, 0, "no memory for a rule");
    }
    rule->kind = said.kind;
    rule->limit = said.limit;
    rule->outcome[0] = '\0';
    atomic_store(&rule->met, 0);
    atomic_store(&rule->known, false);
    atomic_store_explicit(&rule_count, number + 1, memory_order_release);
    return RBWP_OK;
}

static enum rbwp_status add_all(const char *text, struct rbwp_error *error)
{
    enum rbwp_status status = RBWP_OK;
    if (!can_dump)
        return failure(error, RBWP_E_STATE, 0,
                       "a rule dumps what is kept: that needs a session in progress with "
                       "-bgworkprofile_keep");
    if (!start_thread())
        return failure(error, RBWP_E_MEMORY, 0, "no thread for rules");
    slot_limits_on_alarm(ring);
    for (const char *at = text; *at && status == RBWP_OK; at += *at == ',') {
        size_t count = strcspn(at, ",");
        status = add_rule(at, count, error);
        at += count;
    }
    return status;
}

enum rbwp_status rules_add(const char *text, struct rbwp_error *error)
{
    struct names_snapshot names;
    enum rbwp_status status = rule_text_check(text, error);
    if (status != RBWP_OK)
        return status;
    if (names_take(&names) != RBWP_OK)
        return failure(error, RBWP_E_MEMORY, 0, "no memory for a rule");
    pthread_mutex_lock(&session_rules_lock);
    status = add_all(text, error);
    apply_to_all(&names);
    pthread_mutex_unlock(&session_rules_lock);
    names_release(&names);
    for (enum rule_watch watch = 0; watch < RULE_WATCHES; watch++)
        if (rule_watch_wants(watch))
            recording_slow_rows(watch);
    return status;
}

/* A slot has this name from now on. No lock is held. */
static void slot_named(unsigned slot, const char *name)
{
    if (atomic_load_explicit(&rule_count, memory_order_relaxed) == 0)
        return;
    pthread_mutex_lock(&session_rules_lock);
    apply_to_slot(slot, name);
    pthread_mutex_unlock(&session_rules_lock);
}

/* Recording has ended: no call is under way that could have read a rule's number. */
static void take_back(void)
{
    unsigned count = atomic_exchange(&rule_count, 0);
    for (unsigned slot = 0; slot < RBWP_SLOTS_MAX; slot++) {
        if (atomic_exchange(&call_rule[slot], 0))
            slot_limits_set_alarm(slot, SLOT_LIMITS_NONE);
        atomic_store(&queue_rule[slot], 0);
    }
    for (unsigned i = 0; i < RULE_WATCHES; i++)
        atomic_store(&watched[i], 0);
    for (unsigned i = 0; i < count; i++) {
        free(rules[i].text);
        free(rules[i].name);
        rules[i].text = rules[i].name = NULL;
    }
}

static const char *unknown_text(const struct rule *rule)
{
    return atomic_load(&rule->known)    ? NULL
           : rule->kind == RULE_COUNTER ? "no counter of this name had a value"
                                        : "no work item of this name was registered";
}

void rules_each(rules_visit_fn *visit, void *context)
{
    pthread_mutex_lock(&session_rules_lock);
    for (unsigned i = 0; i < rule_count; i++)
        visit(context, rules[i].text, atomic_load(&rules[i].met), rules[i].outcome,
              unknown_text(&rules[i]));
    pthread_mutex_unlock(&session_rules_lock);
}

/* ---- life --------------------------------------------------------------------------------------
 */

static void end_thread(void)
{
    pthread_mutex_lock(&session_rules_lock);
    bool had = has_thread;
    has_thread = false;
    pthread_mutex_unlock(&session_rules_lock);
    if (!had)
        return;
    atomic_store_explicit(&stopping, true, memory_order_release);
    sem_post(&posted);
    pthread_join(thread, NULL);
    sem_destroy(&posted);
}

void rules_begin_session(const struct session_settings *settings, dump_fn *dump)
{
    pthread_mutex_lock(&session_rules_lock);
    dumper = dump;
    names_on_slot = slot_named;
    can_dump = settings->keep_bytes || settings->rotate_bytes;
    every_ns = settings->rule_every_ns;
    next_ns = 0;
    pthread_mutex_unlock(&session_rules_lock);
    if (settings->rules)
        (void)rules_add(settings->rules, NULL);
}

void rules_end_session(char unknown_out[RULES_UNKNOWN_BYTES])
{
    end_thread();
    unknown_out[0] = '\0';
    pthread_mutex_lock(&session_rules_lock);
    for (unsigned i = 0; i < rule_count && !unknown_out[0]; i++)
        if (unknown_text(&rules[i]))
            snprintf(unknown_out, RULES_UNKNOWN_BYTES, "rule \"%.100s\" was never met: %s",
                     rules[i].text, unknown_text(&rules[i]));
    can_dump = false;
    take_back();
    pthread_mutex_unlock(&session_rules_lock);
}

void rules_after_fork(void)
{
    pthread_mutex_init(&session_rules_lock, NULL);
    can_dump = has_thread = false;
    atomic_store(&rule_count, 0); /* texts are given up: another thread may have been at them */
    for (unsigned slot = 0; slot < RBWP_SLOTS_MAX; slot++) {
        atomic_store(&call_rule[slot], 0);
        atomic_store(&queue_rule[slot], 0);
    }
    for (unsigned i = 0; i < RULE_WATCHES; i++)
        atomic_store(&watched[i], 0);
}
