/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work.c - the public calls of the work manager: start, add, make active,
 * remove, lend, drain, stop.
 *
 * What happens to an item between being made active and having run is in
 * work_mask.h; who runs it and who sleeps, in worker.c and doorbell.h; when a
 * handle names an item, in worker.h.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "failure.h"
#include "test_point.h"
#include "worker.h"

#define WORKERS_DEFAULT 1u
#define WORKERS_MAX 1024u /* per domain; a doorbell counts up to DOORBELL_WORKERS_MAX */
#define SPIN_DEFAULT_NS UINT64_C(20000)
#define YIELD_NS UINT64_C(2000) /* about what a switch of threads costs */
#define SLICE_DEFAULT_NS UINT64_C(100000)
#define DURATION_MAX_NS (UINT64_C(3600) * 1000000000) /* of a slice or a spin */

_Static_assert(WORKERS_MAX <= DOORBELL_WORKERS_MAX, "a doorbell can count a group's workers");

bool rbwp_deadline_passed(struct rbwp_deadline deadline)
{
    return rbwp_now_ticks() >= deadline.ticks;
}

/* ---- start ------------------------------------------------------------------ */

/* The config with its defaults filled in. */
static enum rbwp_status complete_work_config(const struct rbwp_work_config *given,
                                             struct rbwp_work_config *config_out,
                                             struct rbwp_error *error)
{
    struct rbwp_work_config config;
    enum rbwp_status status = sized_take(&config, sizeof config, given, "rbwp_work_config", error);
    if (status != RBWP_OK)
        return status;
    if (config.workers == 0)
        config.workers = WORKERS_DEFAULT;
    if (config.spin_ns == 0)
        config.spin_ns = SPIN_DEFAULT_NS;
    if (config.slice_ns == 0)
        config.slice_ns = SLICE_DEFAULT_NS;
    if (config.workers > WORKERS_MAX)
        return failure(error, RBWP_E_INVALID, 0, "%u workers per NUMA domain; allowed are up to %u",
                       config.workers, WORKERS_MAX);
    if (config.spin_ns > DURATION_MAX_NS || config.slice_ns > DURATION_MAX_NS)
        return failure(error, RBWP_E_INVALID, 0,
                       "a time slice or spin time of more than an hour is not allowed");
    uint64_t stack_bytes_min = (uint64_t)sysconf(_SC_THREAD_STACK_MIN);
    if (config.stack_bytes != 0 &&
        (config.stack_bytes < stack_bytes_min || config.stack_bytes > SIZE_MAX / 2))
        return failure(error, RBWP_E_INVALID, 0,
                       "a worker stack of %llu bytes; the least possible is %llu",
                       (unsigned long long)config.stack_bytes, (unsigned long long)stack_bytes_min);
    *config_out = config;
    return RBWP_OK;
}

/* Memory for count objects that begin with a cache line, all bytes 0. */
static void *allocate_lines(size_t count, size_t bytes)
{
    void *memory = aligned_alloc(WORK_LINE_BYTES, count * bytes);
    return memory ? memset(memory, 0, count * bytes) : NULL;
}

static bool make_groups(struct rbwp_work_manager *manager, const struct rbwp_work_config *config,
                        const struct numa_map *map)
{
    manager->groups = allocate_lines(map->count, sizeof *manager->groups);
    if (!manager->groups)
        return false;
    manager->group_count = map->count;
    for (unsigned i = 0; i < map->count; i++) {
        work_filter_fill(&manager->groups[i].filter);
        manager->groups[i].domain = config->numa ? map->domains[i].id : -1;
        manager->groups[i].worker_count = config->workers;
    }
    return true;
}

static void manager_free(struct rbwp_work_manager *manager)
{
    pthread_cond_destroy(&manager->changed);
    pthread_mutex_destroy(&manager->lock);
    free(manager->groups);
    free(manager);
}

static void close_manager(struct rbwp_work_manager *manager)
{
    /* Sequentially consistent: before the ring in work_stop_workers. */
    atomic_store_explicit(&manager->phase, WORK_CLOSED, memory_order_seq_cst);
    work_stop_workers(manager);
}

enum rbwp_status rbwp_work_start(const struct rbwp_work_config *given,
                                 struct rbwp_work_manager **manager_out, struct rbwp_error *error)
{
    *manager_out = NULL;
    struct rbwp_work_config config;
    enum rbwp_status status = complete_work_config(given, &config, error);
    if (status != RBWP_OK)
        return status;
    struct numa_map map;
    status = numa_read(NUMA_NODE_FOLDER, config.numa, &map);
    if (status != RBWP_OK)
        return failure(error, status, 0, "the CPUs of this process cannot be listed");
    struct rbwp_work_manager *manager = allocate_lines(1, sizeof *manager);
    if (!manager || !make_groups(manager, &config, &map)) {
        free(manager);
        numa_free(&map);
        return failure(error, RBWP_E_MEMORY, 0, "no memory for a work manager");
    }
    manager->slice_ticks = rbwp_ticks_from_ns(config.slice_ns);
    manager->spin_ticks = config.no_spin ? 0 : rbwp_ticks_from_ns(config.spin_ns);
    manager->yield_ticks = rbwp_ticks_from_ns(YIELD_NS);
    pthread_mutex_init(&manager->lock, NULL);
    pthread_cond_init(&manager->changed, NULL);
    manager->is_lent_only = config.no_workers;
    if (!config.no_workers)
        status = work_start_workers(manager, &config, &map, error);
    if (status != RBWP_OK) {
        close_manager(manager);
        manager_free(manager);
    } else {
        *manager_out = manager;
    }
    numa_free(&map); /* which workers read until they are ready */
    return status;
}

/* ---- items ------------------------------------------------------------------ */

/* Lets the workers of a domain, or with -1 or a domain without workers all, run a slot. */
static void set_domain(struct rbwp_work_manager *manager, unsigned slot, int domain)
{
    bool has_workers = false;
    for (unsigned i = 0; i < manager->group_count; i++)
        has_workers |= manager->groups[i].domain == domain;
    for (unsigned i = 0; i < manager->group_count; i++)
        work_filter_set(&manager->groups[i].filter, slot,
                        domain == -1 || !has_workers || manager->groups[i].domain == domain);
}

/* Somebody may wait for it to have run. */
static void drop_activation(struct rbwp_work_manager *manager, unsigned slot)
{
    if (work_mask_deactivate(&manager->mask, slot))
        event_signal(&manager->settled);
}

enum rbwp_status rbwp_work_add(struct rbwp_work_manager *manager, const char *name,
                               rbwp_do_work_fn do_work, void *argument, int domain,
                               struct rbwp_work_handle *handle_out)
{
    *handle_out = (struct rbwp_work_handle){0, 0};
    if (!name || !do_work || domain < -1)
        return RBWP_E_INVALID;
    if (atomic_load_explicit(&manager->phase, memory_order_acquire) != WORK_OPEN)
        return RBWP_E_STATE;
    unsigned slot;
    enum rbwp_status status = rbwp_work_item_register(name, &slot);
    if (status != RBWP_OK)
        return status;
    set_domain(manager, slot, domain);
    work_mask_use(&manager->mask, slot);
    drop_activation(manager, slot); /* left over from the slot's last item */
    handle_out->slot = (uint16_t)slot;
    handle_out->generation = work_slot_fill(&manager->slots[slot], do_work, argument);
    return RBWP_OK;
}

enum rbwp_status rbwp_work_make_active(struct rbwp_work_manager *manager,
                                       struct rbwp_work_handle handle)
{
    if (handle.slot >= RBWP_SLOTS_MAX ||
        !work_slot_is_named_by(&manager->slots[handle.slot], handle.generation))
        return RBWP_E_INVALID;
    if (work_is_closed(manager))
        return RBWP_E_STATE;
    if (rbwp_is_on_(2))
        work_slot_enqueue(&manager->slots[handle.slot], handle.slot);
    if (work_mask_activate(&manager->mask, handle.slot)) {
        TEST_POINT("make active: bit set, nobody woken");
        work_wake_for(manager, handle.slot);
    }
    return RBWP_OK;
}

/* Waits until condition holds; it is made true by something that signals manager->settled. */
static void work_wait_until(struct rbwp_work_manager *manager,
                            bool (*condition)(struct rbwp_work_manager *manager, unsigned slot),
                            unsigned slot)
{
    struct event *event = &manager->settled;
    event_start_wait(event);
    for (;;) {
        uint32_t seen = event_read(event);
        if (condition(manager, slot))
            break;
        TEST_POINT("wait: not yet");
        event_sleep(event, seen);
    }
    event_end_wait(event);
}

static bool is_not_running(struct rbwp_work_manager *manager, unsigned slot)
{
    return !work_mask_is_running(&manager->mask, slot);
}

enum rbwp_status rbwp_work_remove(struct rbwp_work_manager *manager, struct rbwp_work_handle handle)
{
    if (handle.slot >= RBWP_SLOTS_MAX)
        return RBWP_E_INVALID;
    const struct work_runner *here = work_runner_here();
    struct work_slot *slot = &manager->slots[handle.slot];
    if (here && here->manager == manager && here->slot == handle.slot &&
        work_slot_is_named_by(slot, handle.generation))
        return RBWP_E_STATE;
    if (!work_slot_empty(slot, handle.generation))
        return RBWP_E_INVALID;
    TEST_POINT("remove: slot emptied");
    work_wait_until(manager, is_not_running, handle.slot);
    drop_activation(manager, handle.slot);
    return rbwp_work_item_release(handle.slot);
}

/* ---- waiting and lending ---------------------------------------------------- */

enum rbwp_status rbwp_work_run(struct rbwp_work_manager *manager, uint64_t limit_ns)
{
    if (rbwp_extend_work_inside())
        return RBWP_E_STATE;
    uint64_t limit_ticks = UINT64_MAX;
    if (limit_ns < DURATION_MAX_NS)
        limit_ticks = rbwp_now_ticks() + rbwp_ticks_from_ns(limit_ns);
    return work_lend(manager, limit_ticks, limit_ns == 0);
}

static bool is_quiet(struct rbwp_work_manager *manager, unsigned slot)
{
    (void)slot;
    return work_is_quiet(manager);
}

static bool is_quiet_or_has_candidate(struct rbwp_work_manager *manager, unsigned slot)
{
    return is_quiet(manager, slot) || rbwp_extend_work_waiting(manager);
}

void rbwp_work_drain(struct rbwp_work_manager *manager)
{
    if (rbwp_extend_work_inside())
        return;
    if (!manager->is_lent_only) {
        work_wait_until(manager, is_quiet, 0);
        return;
    }
    do { /* who waits does the work, and sleeps while others do what there is */
        (void)work_lend(manager, UINT64_MAX, false);
        work_wait_until(manager, is_quiet_or_has_candidate, 0);
    } while (!work_is_quiet(manager));
}

/* ---- stop ------------------------------------------------------------------- */

static void wait_for_lent(struct rbwp_work_manager *manager)
{
    pthread_mutex_lock(&manager->lock);
    while (manager->lent > 0)
        pthread_cond_wait(&manager->changed, &manager->lock);
    pthread_mutex_unlock(&manager->lock);
}

enum rbwp_status rbwp_work_stop(struct rbwp_work_manager *manager, bool finish,
                                struct rbwp_slot_set *queued_out)
{
    if (queued_out)
        *queued_out = (struct rbwp_slot_set){{0}};
    if (!manager)
        return RBWP_OK;
    if (rbwp_extend_work_inside())
        return RBWP_E_STATE;
    if (finish) {
        atomic_store_explicit(&manager->phase, WORK_CLOSING, memory_order_release);
        rbwp_work_drain(manager);
    }
    close_manager(manager);
    wait_for_lent(manager);

    for (unsigned slot = 0; slot < RBWP_SLOTS_MAX; slot++) {
        if (work_slot_generation(&manager->slots[slot]) == 0)
            continue;
        if (work_mask_deactivate(&manager->mask, slot) && queued_out)
            queued_out->bits[slot / 64] |= UINT64_C(1) << (slot % 64);
        (void)rbwp_work_item_release(slot);
    }
    manager_free(manager);
    return RBWP_OK;
}
