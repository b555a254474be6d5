/* SPDX-License-Identifier: Apache-2.0 */
#include "names.h"

#include "clock.h"
#include "grow.h"
#include "live.h"
#include "in_process.h"
#include "slot_limits.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* One use of a slot, from claim to release. The list is in order of claims. */
struct slot_use {
    struct slot_use *next;
    char *name;             /* NULL: of several uses whose names were not kept */
    unsigned slot, kind;    /* kind: 1 + its number, 0 none */
    int64_t from_ns, to_ns; /* CLOCK_MONOTONIC; to_ns 0 while in use */
};

struct sub_item {
    char *name;
    unsigned type; /* enum rbwp_sub_item_type, or a kind of the program's own */
};

struct kind {
    char *name;
    unsigned flags;
};

enum { KINDS_MAX = RBWP_OWN_KIND_LAST - RBWP_OWN_KIND_FIRST + 1 };

/* Guards all below. Nothing is taken inside it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct slot_use *current[RBWP_SLOTS_MAX];
static struct slot_use *uses, **uses_end = &uses;
static struct slot_use *retired;   /* forgotten, as soon as no snapshot refers to them */
static struct sub_item *sub_items; /* grows by doubling */
static uint32_t sub_item_count, sub_item_room;
static struct kind kinds[KINDS_MAX];
static unsigned kind_count;
static size_t past_bytes;  /* of released uses in a file */
static unsigned snapshots; /* that refer to names */
static uint64_t left_uses; /* released ones whose names were not kept */
static bool in_session;    /* released uses are kept, news go to the live file */

/* In a forked child whoever held the lock does not exist. */
static void names_forget_in_child(void)
{
    pthread_mutex_init(&lock, NULL);
    snapshots = 0;
    in_session = false;
}

ON_FORK(2, NULL, NULL, names_forget_in_child)

static enum rbwp_status copy_name(const char *name, char **copy_out)
{
    if (!name)
        return RBWP_E_INVALID;
    if (strlen(name) > RBWP_NAME_BYTES_MAX)
        return RBWP_E_LIMIT;
    *copy_out = strdup(name);
    return *copy_out ? RBWP_OK : RBWP_E_MEMORY;
}

static enum rbwp_status new_use(const char *name, struct slot_use **use_out)
{
    struct slot_use *use = calloc(1, sizeof *use);
    if (!use)
        return RBWP_E_MEMORY;
    enum rbwp_status status = copy_name(name, &use->name);
    if (status != RBWP_OK) {
        free(use);
        return status;
    }
    *use_out = use;
    return RBWP_OK;
}

/* ---- the live file: what a crash would leave unnamed. Locked, and only during a session. --- */

struct __attribute__((packed)) slot_entry {
    int64_t time_ns;
    uint16_t slot;
};

static const char *names_name_of(const struct slot_use *use)
{
    return use->name ? use->name : "(name not kept)";
}

static void log_kind(unsigned id, const struct kind *kind, unsigned more_flags)
{
    const uint16_t entry[2] = {(uint16_t)id, (uint16_t)(kind->flags | more_flags)};
    live_log(LIVE_KIND, entry, sizeof entry, kind->name, strlen(kind->name));
}

static void log_slot_begin(const struct slot_use *use)
{
    struct slot_entry entry = {use->from_ns, (uint16_t)use->slot};
    const char *name = names_name_of(use);
    live_log(LIVE_SLOT_BEGIN, &entry, sizeof entry, name, strlen(name));
    if (use->kind)
        log_kind(use->slot, &kinds[use->kind - 1], RBWP_KIND_OF_SLOT);
}

static void log_slot_end(const struct slot_use *use)
{
    struct slot_entry entry = {use->to_ns, (uint16_t)use->slot};
    live_log(LIVE_SLOT_END, &entry, sizeof entry, NULL, 0);
}

/* NULL: of a type that the format knows. */
static const struct kind *names_kind_of(uint32_t id)
{
    unsigned number = sub_items[id].type - RBWP_OWN_KIND_FIRST;
    return sub_items[id].type >= RBWP_OWN_KIND_FIRST && number < kind_count ? &kinds[number] : NULL;
}

/* What version 1 says of a kind that it does not know. */
static uint8_t stored_type(uint32_t id)
{
    return names_kind_of(id) ? RBWP_AM_HANDLER : (uint8_t)sub_items[id].type;
}

static void log_sub_item(uint32_t id)
{
    const struct kind *kind = names_kind_of(id);
    const uint16_t entry[2] = {(uint16_t)id, stored_type(id)};
    live_log(LIVE_SUB_ITEM, entry, sizeof entry, sub_items[id].name, strlen(sub_items[id].name));
    if (kind)
        log_kind(id, kind, 0);
}

/* Locked. */
static void claim(unsigned slot, struct slot_use *use)
{
    use->slot = slot;
    use->from_ns = clock_now_ns(0);
    current[slot] = use;
    *uses_end = use;
    uses_end = &use->next;
    if (in_session)
        log_slot_begin(use);
}

static void free_use(struct slot_use *use)
{
    free(use->name);
    free(use);
}

/* Locked. */
static void free_retired(void)
{
    while (snapshots == 0 && retired) {
        struct slot_use *next = retired->next;
        free_use(retired);
        retired = next;
    }
}

names_slot_fn *_Atomic names_on_slot;

/* Those who wait for a slot of that name. No lock is held. */
static void tell_of_name(unsigned slot, const char *name)
{
    if (names_on_slot)
        names_on_slot(slot, name);
    slot_wishes_named(slot, name);
}

/* slot: RBWP_SLOTS_MAX for any that is free. */
static enum rbwp_status register_name(unsigned slot, const char *name, unsigned *slot_out)
{
    const bool is_any = slot == RBWP_SLOTS_MAX;
    struct slot_use *use;
    enum rbwp_status status = new_use(name, &use);
    if (status != RBWP_OK)
        return status;
    pthread_mutex_lock(&lock);
    for (slot = is_any ? 0 : slot; is_any && slot < RBWP_SLOTS_MAX && current[slot];)
        slot++;
    const bool is_free = slot < RBWP_SLOTS_MAX && !current[slot];
    if (is_free)
        claim(slot, use);
    pthread_mutex_unlock(&lock);
    if (!is_free) {
        free_use(use);
        return is_any ? RBWP_E_LIMIT : RBWP_E_BUSY;
    }
    tell_of_name(slot, name);
    *slot_out = slot;
    return RBWP_OK;
}

enum rbwp_status rbwp_work_item_register_at(unsigned slot, const char *name)
{
    return slot < RBWP_SLOTS_MAX ? register_name(slot, name, &slot) : RBWP_E_INVALID;
}

enum rbwp_status rbwp_work_item_register(const char *name, unsigned *slot_out)
{
    return register_name(RBWP_SLOTS_MAX, name, slot_out);
}

/* ---- the past. Locked. ----------------------------------------------------------------- */

/* In the file, which has room for 64 MiB of all tables. */
#define PAST_BYTES_MAX (4u << 20)
#define USE_ENTRY_BYTES 24u

static size_t names_bytes_of(const struct slot_use *use)
{
    return USE_ENTRY_BYTES + (use->name ? strlen(use->name) : 0);
}

/* Lets the older use be both, and frees the younger, the next one of the slot. */
static void names_join(struct slot_use *use, struct slot_use **link)
{
    struct slot_use *younger = *link;
    use->to_ns = younger->to_ns;
    if (younger->to_ns == 0)
        current[use->slot] = use;
    else
        past_bytes -= names_bytes_of(younger);
    if (uses_end == &younger->next)
        uses_end = link;
    *link = younger->next;
    free_use(younger);
}

/* Nothing is lost by that: between two uses of one name no other one had the slot. */
static void join_same_names(void)
{
    struct slot_use *last[RBWP_SLOTS_MAX] = {0};
    for (struct slot_use **link = &uses; *link;) {
        struct slot_use *use = *link, *before = last[use->slot];
        if (before && before->name && strcmp(before->name, use->name) == 0) {
            if (use->to_ns == 0)
                past_bytes -= names_bytes_of(before);
            names_join(before, link);
            continue;
        }
        last[use->slot] = use;
        link = &use->next;
    }
}

/* The oldest names go, of each slot into one use without a name, until the past has half its room.
 * A slot's last name stays. */
static void leave_old_names_out(void)
{
    struct slot_use *nameless[RBWP_SLOTS_MAX] = {0};
    const struct slot_use *last[RBWP_SLOTS_MAX] = {0};
    for (const struct slot_use *use = uses; use; use = use->next)
        last[use->slot] = use;
    for (struct slot_use **link = &uses; *link && past_bytes > PAST_BYTES_MAX / 2;) {
        struct slot_use *use = *link, *before = nameless[use->slot];
        bool goes = use != last[use->slot] && use->to_ns != 0;
        left_uses += goes && use->name;
        if (goes && before) {
            names_join(before, link);
            continue;
        }
        if (goes) {
            past_bytes -= use->name ? strlen(use->name) : 0;
            free(use->name);
            use->name = NULL;
            nameless[use->slot] = use;
        }
        link = &use->next;
    }
}

static void note_past(const struct slot_use *use)
{
    past_bytes += names_bytes_of(use);
    if (past_bytes <= PAST_BYTES_MAX || snapshots > 0)
        return;
    join_same_names();
    if (past_bytes > PAST_BYTES_MAX / 2)
        leave_old_names_out();
}

/* Removes released uses from the list; snapshots may still refer to their names. */
static void forget_released(void)
{
    past_bytes = 0;
    left_uses = 0;
    struct slot_use **link = &uses;
    while (*link) {
        struct slot_use *use = *link;
        if (use->to_ns == 0) {
            link = &use->next;
        } else {
            *link = use->next;
            use->next = retired;
            retired = use;
        }
    }
    uses_end = link;
    free_retired();
}

enum rbwp_status rbwp_work_item_release(unsigned slot)
{
    if (slot < RBWP_SLOTS_MAX)
        slot_limits_clear(slot);
    pthread_mutex_lock(&lock);
    struct slot_use *use = slot < RBWP_SLOTS_MAX ? current[slot] : NULL;
    if (use) {
        use->to_ns = clock_now_ns(0);
        current[slot] = NULL;
        if (in_session) {
            log_slot_end(use);
            note_past(use);
        } else {
            forget_released();
        }
    }
    pthread_mutex_unlock(&lock);
    live_relog_if_due();
    return use ? RBWP_OK : RBWP_E_STATE;
}

enum rbwp_status rbwp_sub_item_register(enum rbwp_sub_item_type type, const char *name,
                                        unsigned *id_out)
{
    char *copy;
    if ((unsigned)type > UINT8_MAX)
        return RBWP_E_INVALID;
    enum rbwp_status status = copy_name(name, &copy);
    if (status != RBWP_OK)
        return status;
    pthread_mutex_lock(&lock);
    if (sub_item_count == RBWP_SUB_ITEMS_MAX)
        status = RBWP_E_LIMIT;
    else if (!grow_array32(&sub_items, &sub_item_room, sub_item_count + 1, sizeof *sub_items))
        status = RBWP_E_MEMORY;
    if (status == RBWP_OK) {
        *id_out = sub_item_count;
        sub_items[sub_item_count++] = (struct sub_item){copy, (unsigned)type};
        if (in_session)
            log_sub_item(*id_out);
    }
    pthread_mutex_unlock(&lock);
    if (status != RBWP_OK)
        free(copy);
    return status;
}

/* Locked. KINDS_MAX: there is none. */
static unsigned find_kind(const char *name, unsigned flags)
{
    for (unsigned i = 0; i < kind_count; i++)
        if (kinds[i].flags == flags && strcmp(kinds[i].name, name) == 0)
            return i;
    return KINDS_MAX;
}

enum rbwp_status rbwp_sub_item_kind_register(const char *name, unsigned flags,
                                             enum rbwp_sub_item_type *type_out)
{
    char *copy = NULL;
    if (!name || !name[0] || flags & ~RBWP_KIND_WAITS)
        return RBWP_E_INVALID;
    if (strlen(name) > RBWP_KIND_NAME_BYTES_MAX)
        return RBWP_E_LIMIT;
    enum rbwp_status status = copy_name(name, &copy);
    if (status != RBWP_OK)
        return status;
    pthread_mutex_lock(&lock);
    unsigned number = find_kind(name, flags);
    if (number == KINDS_MAX && kind_count < KINDS_MAX) {
        number = kind_count;
        kinds[kind_count++] = (struct kind){copy, flags};
        copy = NULL;
    }
    pthread_mutex_unlock(&lock);
    free(copy);
    if (number == KINDS_MAX)
        return RBWP_E_LIMIT;
    *type_out = (enum rbwp_sub_item_type)(RBWP_OWN_KIND_FIRST + number);
    return RBWP_OK;
}

enum rbwp_status rbwp_work_item_set_kind(unsigned slot, enum rbwp_sub_item_type kind)
{
    unsigned number = (unsigned)kind - RBWP_OWN_KIND_FIRST;
    enum rbwp_status status = RBWP_OK;
    if (slot >= RBWP_SLOTS_MAX || kind < RBWP_OWN_KIND_FIRST)
        return RBWP_E_INVALID;
    pthread_mutex_lock(&lock);
    if (number >= kind_count)
        status = RBWP_E_INVALID;
    else if (!current[slot])
        status = RBWP_E_STATE;
    if (status == RBWP_OK) {
        current[slot]->kind = number + 1;
        if (in_session)
            log_kind(slot, &kinds[number], RBWP_KIND_OF_SLOT);
    }
    pthread_mutex_unlock(&lock);
    return status;
}

/* ---- snapshots ---------------------------------------------------------------------- */

static struct rbwp_slot_use use_in_file(const struct slot_use *use)
{
    const char *name = names_name_of(use);
    return (struct rbwp_slot_use){(uint16_t)use->slot, use->from_ns, use->to_ns,
                                  (uint16_t)strlen(name), name};
}

/* Locked. */
static void names_fill(struct names_snapshot *snapshot)
{
    const struct slot_use *last_use[RBWP_SLOTS_MAX] = {0};
    for (const struct slot_use *use = uses; use; use = use->next) {
        if (use->to_ns || last_use[use->slot])
            snapshot->slot_uses[snapshot->slot_use_count++] = use_in_file(use);
        last_use[use->slot] = use;
    }
    snapshot->left_uses = left_uses;
    for (unsigned slot = 0; slot < RBWP_SLOTS_MAX; slot++)
        if (last_use[slot])
            snapshot->work_items[snapshot->work_item_count++] = (struct rbwp_work_item_name){
                (uint16_t)slot, (uint16_t)strlen(last_use[slot]->name), last_use[slot]->name};
    for (uint32_t id = 0; id < sub_item_count; id++)
        snapshot->sub_items[snapshot->sub_item_count++] =
            (struct rbwp_sub_item_name){(uint16_t)id, stored_type(id),
                                        (uint16_t)strlen(sub_items[id].name), sub_items[id].name};
    for (uint32_t id = 0; id < sub_item_count; id++) {
        const struct kind *kind = names_kind_of(id);
        if (kind)
            snapshot->kinds[snapshot->kind_count++] = (struct rbwp_sub_item_kind){
                (uint16_t)id, (uint16_t)strlen(kind->name), kind->flags, kind->name};
    }
    for (unsigned slot = 0; slot < RBWP_SLOTS_MAX; slot++)
        if (last_use[slot] && last_use[slot]->kind) {
            const struct kind *kind = &kinds[last_use[slot]->kind - 1];
            snapshot->kinds[snapshot->kind_count++] =
                (struct rbwp_sub_item_kind){(uint16_t)slot, (uint16_t)strlen(kind->name),
                                            kind->flags | RBWP_KIND_OF_SLOT, kind->name};
        }
}

enum rbwp_status names_take(struct names_snapshot *snapshot_out)
{
    struct names_snapshot snapshot = {0};
    pthread_mutex_lock(&lock);
    size_t use_count = 0;
    for (const struct slot_use *use = uses; use; use = use->next)
        use_count++;
    snapshot.work_items = calloc(RBWP_SLOTS_MAX, sizeof *snapshot.work_items);
    snapshot.sub_items = calloc(sub_item_count + 1, sizeof *snapshot.sub_items);
    snapshot.slot_uses = calloc(use_count + 1, sizeof *snapshot.slot_uses);
    snapshot.kinds = calloc(sub_item_count + RBWP_SLOTS_MAX, sizeof *snapshot.kinds);
    bool whole = snapshot.work_items && snapshot.sub_items && snapshot.slot_uses && snapshot.kinds;
    if (whole)
        names_fill(&snapshot);
    snapshots++;
    pthread_mutex_unlock(&lock);
    if (!whole)
        names_release(&snapshot);
    *snapshot_out = snapshot;
    return whole ? RBWP_OK : RBWP_E_MEMORY;
}

void names_release(struct names_snapshot *snapshot)
{
    pthread_mutex_lock(&lock);
    snapshots--;
    free_retired();
    pthread_mutex_unlock(&lock);
    free(snapshot->work_items);
    free(snapshot->sub_items);
    free(snapshot->slot_uses);
    free(snapshot->kinds);
    *snapshot = (struct names_snapshot){0};
}

/* Locked. */
static void log_all(void)
{
    for (const struct slot_use *use = uses; use; use = use->next) {
        log_slot_begin(use);
        if (use->to_ns)
            log_slot_end(use);
    }
    for (uint32_t id = 0; id < sub_item_count; id++)
        log_sub_item(id);
}

void names_log(void)
{
    pthread_mutex_lock(&lock);
    if (in_session)
        log_all();
    pthread_mutex_unlock(&lock);
}

void names_begin_session(void)
{
    pthread_mutex_lock(&lock);
    forget_released(); /* a parent's */
    in_session = true;
    log_all();
    pthread_mutex_unlock(&lock);
}

void names_end_session(void)
{
    pthread_mutex_lock(&lock);
    in_session = false;
    forget_released();
    pthread_mutex_unlock(&lock);
}
