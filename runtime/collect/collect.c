/* SPDX-License-Identifier: Apache-2.0 */
#include "collect.h"

#include "rbwp_record.h"
#include "rbwp_session.h"
#include "record_extend.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NAMES_MAX = 4096, REGION_SLOTS_MAX = 200, OPEN_MAX = 1000, SHORT_WAIT_NS = 1000 };

static enum rbwp_sub_item_type types[COLLECT_KINDS];
static uint64_t short_wait_ticks;

/* ---- names ----------------------------------------------------------------------------------- */
/*
 * A table by hash that only grows. A place is found without a lock once it is whole; places are
 * made under one. Where it is full, names are what the caller gives instead.
 */

struct collect_name {
    _Atomic(const void *) key; /* stored last */
    enum collect_kind kind;
    unsigned id, slot; /* slot: of a region; RBWP_SLOTS_MAX: there is none left */
};

static struct collect_name table[NAMES_MAX];
static unsigned name_count, region_count;
static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;

/* A child that is forked meanwhile would find it locked for ever. */
static void collect_lock(void)
{
    pthread_mutex_lock(&making);
}
static void collect_unlock(void)
{
    pthread_mutex_unlock(&making);
}

/* The place with this key, or the free one where it goes; the table is never full. */
static struct collect_name *collect_place(enum collect_kind kind, const void *key)
{
    size_t at = (size_t)(((uintptr_t)key + kind) * UINT64_C(0x9e3779b97f4a7c15) >> 52);
    for (;; at++) {
        struct collect_name *place = &table[at % NAMES_MAX];
        const void *found = atomic_load_explicit(&place->key, memory_order_acquire);
        if (!found || (found == key && place->kind == kind))
            return place;
    }
}

/* Under the lock. */
static bool collect_make(struct collect_name *place, enum collect_kind kind, const void *key,
                         const char *text)
{
    if (name_count >= NAMES_MAX / 2 ||
        rbwp_sub_item_register(types[kind], text, &place->id) != RBWP_OK)
        return false;
    place->kind = kind;
    if ((kind != COLLECT_REGION && kind != COLLECT_CALL) || region_count == REGION_SLOTS_MAX ||
        rbwp_work_item_register(text, &place->slot) != RBWP_OK)
        place->slot = RBWP_SLOTS_MAX;
    else
        region_count++;
    name_count++;
    atomic_store_explicit(&place->key, key, memory_order_release);
    return true;
}

static const struct collect_name *collect_find(enum collect_kind kind, const void *key,
                                               const char *text)
{
    struct collect_name *place = collect_place(kind, key);
    if (atomic_load_explicit(&place->key, memory_order_acquire))
        return place;
    char code[RBWP_EXTEND_CODE_NAME_MAX];
    if (!text && !(text = rbwp_extend_code_name((uintptr_t)key, code)))
        return NULL;
    collect_lock();
    place = collect_place(kind, key);
    bool made = atomic_load_explicit(&place->key, memory_order_relaxed) ||
                collect_make(place, kind, key, text);
    collect_unlock();
    return made ? place : NULL;
}

const struct collect_name *collect_code(enum collect_kind kind, const void *code,
                                        const struct collect_name *otherwise)
{
    const struct collect_name *name = code ? collect_find(kind, code, NULL) : NULL;
    if (!name || (otherwise && kind <= COLLECT_CALL && name->slot == RBWP_SLOTS_MAX))
        return otherwise;
    return name;
}

const struct collect_name *collect_text(enum collect_kind kind, const void *key, const char *text)
{
    return collect_find(kind, key, text);
}

/* ---- regions --------------------------------------------------------------------------------- */
/*
 * A thread that is done with its part may be in the runtime until the next region, and only then
 * says that it has ended: so when a region was over is kept for the last REGIONS_KEPT of them. A
 * region's number has the place of its name in its low bits.
 */

enum { REGIONS_KEPT = 1024 };
static _Atomic uint64_t region_numbers;
static struct {
    _Atomic uint64_t region, ticks;
} regions_over[REGIONS_KEPT];

static uint64_t collect_place_of(uint64_t region)
{
    return region / NAMES_MAX % REGIONS_KEPT;
}

uint64_t collect_region_new(const struct collect_name *name)
{
    uint64_t number = 1 + atomic_fetch_add_explicit(&region_numbers, 1, memory_order_relaxed);
    return name ? number * NAMES_MAX + (uint64_t)(name - table) : 0;
}

void collect_region_over(uint64_t region)
{
    const uint64_t place = collect_place_of(region);
    atomic_store_explicit(&regions_over[place].ticks, rbwp_now_ticks(), memory_order_relaxed);
    atomic_store_explicit(&regions_over[place].region, region, memory_order_release);
}

static uint64_t collect_until(uint64_t region, uint64_t now_ticks)
{
    const uint64_t place = collect_place_of(region);
    if (atomic_load_explicit(&regions_over[place].region, memory_order_acquire) != region)
        return now_ticks;
    uint64_t ticks = atomic_load_explicit(&regions_over[place].ticks, memory_order_relaxed);
    return ticks < now_ticks ? ticks : now_ticks;
}

/* ---- what is open on a thread ---------------------------------------------------------------- */

struct open {
    uint64_t what; /* of a region: its number */
    enum collect_kind kind;
    bool is_call;
};

/* Of a thread, and of others after it. Deeper ones are counted and not recorded. */
struct collect_thread {
    struct collect_thread *next;
    _Atomic uint64_t thread_id; /* 0: nobody's */
    _Atomic unsigned depth;
    struct open open[OPEN_MAX];
};
static _Atomic(struct collect_thread *) threads;

/* A pointer: libraries that are loaded late have little room for such variables. */
static _Thread_local struct collect_thread *mine RBWP_TLS_MODEL_;

/* Of a thread that ends without a word: the recorder detaches it. */
static pthread_key_t leaving;

static void collect_thread_leave(void *thread)
{
    mine = NULL;
    atomic_store(&((struct collect_thread *)thread)->depth, 0);
    atomic_store(&((struct collect_thread *)thread)->thread_id, 0);
}

static struct collect_thread *collect_thread_take(void)
{
    struct collect_thread *thread;
    for (thread = atomic_load(&threads); thread; thread = thread->next) {
        uint64_t nobody = 0;
        if (atomic_compare_exchange_strong(&thread->thread_id, &nobody, rbwp_thread_number_()))
            return thread;
    }
    if (!(thread = calloc(1, sizeof *thread)))
        return NULL;
    atomic_store(&thread->thread_id, rbwp_thread_number_());
    thread->next = atomic_load(&threads);
    while (!atomic_compare_exchange_weak(&threads, &thread->next, thread))
        ;
    return thread;
}

static unsigned collect_depth(const struct collect_thread *thread)
{
    return thread ? atomic_load_explicit(&thread->depth, memory_order_relaxed) : 0;
}

/* When what is open above this depth was over. */
static uint64_t collect_over(const struct collect_thread *thread, unsigned depth,
                             uint64_t now_ticks)
{
    for (unsigned at = depth > OPEN_MAX ? OPEN_MAX : depth; at-- > 0;)
        if (thread->open[at].kind == COLLECT_REGION)
            return collect_until(thread->open[at].what, now_ticks);
    return now_ticks;
}

/* For the session's end, when nobody records. */
static uint64_t collect_until_of(uint64_t thread_id, uint64_t now_ticks)
{
    for (struct collect_thread *thread = atomic_load(&threads); thread; thread = thread->next)
        if (atomic_load(&thread->thread_id) == thread_id)
            return collect_over(thread, collect_depth(thread), now_ticks);
    return now_ticks;
}

void collect_attach(const char *name)
{
    static _Atomic unsigned number;
    char text[64];
    if (mine)
        return;
    snprintf(text, sizeof text, name, atomic_fetch_add(&number, 1)); /* NOLINT */
    const bool is_first = syscall(SYS_gettid) == getpid();
    if (rbwp_thread_attach(is_first ? program_invocation_short_name : text) == RBWP_OK &&
        (mine = collect_thread_take()))
        (void)pthread_setspecific(leaving, mine);
}

static void collect_push(uint64_t what, const struct collect_name *name)
{
    struct collect_thread *thread = mine;
    if (!thread)
        return;
    const unsigned depth = collect_depth(thread);
    if (depth < OPEN_MAX) {
        bool is_call = depth == 0 && name->slot != RBWP_SLOTS_MAX;
        thread->open[depth] = (struct open){what, name->kind, is_call};
        if (is_call)
            rbwp_begin(name->slot);
        else
            rbwp_fine_begin(name->id);
    }
    atomic_store_explicit(&thread->depth, depth + 1, memory_order_release);
}

void collect_begin(const struct collect_name *name, const void *what)
{
    if (name)
        collect_push((uintptr_t)what, name);
}

void collect_region_begin(uint64_t region)
{
    if (region)
        collect_push(region, &table[region % NAMES_MAX]);
}

/* What is above this depth ends. */
static void collect_pop(struct collect_thread *thread, unsigned to, uint64_t ticks)
{
    unsigned depth = collect_depth(thread);
    while (depth > to)
        if (--depth < OPEN_MAX) {
            if (thread->open[depth].is_call)
                rbwp_end_at(ticks);
            else
                rbwp_fine_end_at(ticks);
        }
    atomic_store_explicit(&thread->depth, depth, memory_order_release);
}

void collect_detach(void)
{
    struct collect_thread *thread = mine;
    if (thread) {
        collect_pop(thread, 0, collect_over(thread, collect_depth(thread), rbwp_now_ticks()));
        (void)pthread_setspecific(leaving, NULL);
        collect_thread_leave(thread);
    }
    (void)rbwp_thread_detach();
}

/* The place above the innermost open one of this kind and mark; 0: there is none. */
static unsigned collect_above(enum collect_kind kind, const void *what)
{
    unsigned depth = collect_depth(mine);
    for (unsigned at = depth < OPEN_MAX ? depth : OPEN_MAX; at > 0; at--) {
        const struct open *open = &mine->open[at - 1];
        if (open->kind == kind && (kind == COLLECT_REGION || open->what == (uintptr_t)what))
            return at;
        if (open->kind == COLLECT_REGION)
            break;
    }
    return 0;
}

bool collect_is_open(const void *what)
{
    return collect_above(COLLECT_TASK, what) != 0;
}

void collect_end(enum collect_kind kind, const void *what)
{
    const unsigned depth = collect_depth(mine);
    const unsigned above = depth > OPEN_MAX ? depth : collect_above(kind, what);
    if (above == 0)
        return;
    const uint64_t now = rbwp_now_ticks();
    collect_pop(mine, above - 1, kind == COLLECT_TASK ? now : collect_over(mine, depth, now));
}

void collect_waited(const struct collect_name *name, uint64_t since_ticks)
{
    uint64_t now = rbwp_now_ticks();
    if (!mine || !name || now - since_ticks < short_wait_ticks)
        return;
    rbwp_fine_begin_at(name->id, since_ticks);
    rbwp_fine_end_at(now);
}

/* ---- session --------------------------------------------------------------------------------- */
static struct rbwp_session *session;

void collect_refuse(const char *what, const char *why)
{
    fprintf(stderr, "rbwp: %s is not recorded: %s\n", what, why);
}

bool collect_start(const char *what)
{
    static const char *const kinds[COLLECT_KINDS] = {"region", "task", "task", "wait"};
    struct rbwp_session_config config = {
        .size = sizeof config, .level = 2, .at_cap = RBWP_AT_CAP_DROP};
    struct rbwp_error error;
    for (unsigned kind = 0; kind < COLLECT_KINDS; kind++)
        if (rbwp_sub_item_kind_register(kinds[kind], kind == COLLECT_WAIT ? RBWP_KIND_WAITS : 0,
                                        &types[kind]) != RBWP_OK) {
            collect_refuse(what, "no memory");
            return false;
        }
    if (pthread_key_create(&leaving, collect_thread_leave) != 0) {
        collect_refuse(what, "no key for its threads");
        return false;
    }
    rbwp_extend_end_items(collect_until_of);
    const char *file = secure_getenv("RBWP_COLLECT_FILE");
    bool begun = rbwp_session_parse(&config, NULL, NULL, &error) == RBWP_OK;
    if (file && *file)
        config.logfile = file;
    if (!begun || rbwp_session_start(&config, &session, &error) != RBWP_OK) {
        collect_refuse(what, error.text);
        return false;
    }
    rbwp_extend_code_names();
    (void)pthread_atfork(collect_lock, collect_unlock, collect_unlock);
    short_wait_ticks = rbwp_ticks_from_ns(SHORT_WAIT_NS);
    return session != NULL;
}

void collect_stop(void)
{
    (void)rbwp_session_stop(session, NULL);
    session = NULL;
}
