/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbwp_realm.h - record the background work of Realm, or of a manager of its shape: items with a
 * slot below 256 that threads of all kinds take up when they have been made active.
 *
 *     rbwp_realm::start(cmdline, node, nodes);             where flags are read; before any thread
 *     rbwp_realm::item(slot, name);                        an item gets its slot
 *     rbwp_realm::activate(slot);                          make_active, before the slot is marked
 *     { rbwp_realm::call c(slot); item->do_work(limit); }
 *     rbwp_realm::step s(RBWP_AM_HANDLER, entry->name);    inside: until the end of the block
 *     rbwp_realm::thread(name);                            in a thread, before its first call
 *     rbwp_realm::stop();                                  when the workers have been joined
 *
 * All flags of rbwp_session.h are read, with -ll: before them too. Level 1 records calls; level 2
 * also steps, and how long each item had been active before a thread took it up. A thread without a
 * name attaches itself at its first call or step. Nothing here prints: start and stop return a line
 * for the log, empty if there is nothing to say. Off, each call is one load and a branch.
 */
#ifndef RBWP_REALM_H
#define RBWP_REALM_H

#include <rbwp_queue.h>
#include <rbwp_session.h>

#include <atomic>
#include <cstdlib>
#include <cxxabi.h>
#include <map>
#include <mutex>
#include <string>
#include <typeinfo>
#include <vector>

namespace rbwp_realm
{

/* When a slot was made active and by which thread; 0: nobody has since it was taken up. */
struct alignas(64) active_since {
    std::atomic<uint64_t> ticks, thread;
};
inline active_since active[RBWP_SLOTS_MAX];
constexpr uint64_t being_written = 1;

inline rbwp_session *session;

/* The flags that it takes are removed from cmdline, which does not begin with the program's name.
 * One that is wrong stays there. */
inline std::string start(std::vector<std::string> &cmdline, unsigned node, unsigned nodes)
{
    char program[] = "realm";
    std::vector<char *> argv{program};
    for (std::string &word : cmdline)
        argv.push_back(word.data());
    int argc = int(argv.size());
    argv.push_back(nullptr);
    rbwp_session_config config;
    rbwp_error error = {};
    rbwp_session_defaults(&config);
    config.node = node;
    config.own_node = true;
    config.nodes = nodes;
    if (rbwp_session_parse(&config, &argc, argv.data(), &error) != RBWP_OK)
        return error.text;
    for (active_since &slot : active)
        slot.ticks = 0;
    if (rbwp_session_start(&config, &session, &error) != RBWP_OK)
        session = nullptr;
    cmdline = std::vector<std::string>(argv.begin() + 1, argv.begin() + argc);
    return error.text;
}

inline std::string stop()
{
    rbwp_session_summary summary = {};
    (void)rbwp_session_stop(session, &summary);
    session = nullptr;
    return summary.error.text;
}

/* False: another item has the slot. */
inline bool item(unsigned slot, const std::string &name)
{
    return rbwp_work_item_register_at(slot, name.c_str()) == RBWP_OK;
}

inline void release(unsigned slot)
{
    (void)rbwp_work_item_release(slot);
}

inline void thread(const std::string &name)
{
    (void)rbwp_thread_attach(name.c_str());
}

inline void attach()
{
    if (__builtin_expect(!rbwp_thread_number_(), 0))
        (void)rbwp_thread_attach(nullptr);
}

/* Again before it is taken up: the first time counts. */
inline void activate(unsigned slot)
{
    if (!rbwp_is_on_(2))
        return;
    active_since &since = active[slot];
    uint64_t none = 0;
    if (since.ticks.load(std::memory_order_relaxed) ||
        !since.ticks.compare_exchange_strong(none, being_written))
        return;
    rbwp_ticket ticket;
    rbwp_enqueue(slot, &ticket);
    since.thread.store(ticket.thread, std::memory_order_relaxed);
    since.ticks.store(ticket.ticks, std::memory_order_release);
}

/* Whose ticket another thread is writing or has just taken has none: its delay is not known. */
inline rbwp_ticket take(unsigned slot)
{
    active_since &since = active[slot];
    uint64_t ticks = since.ticks.load(std::memory_order_acquire);
    rbwp_ticket ticket = {ticks, since.thread.load(std::memory_order_relaxed), slot};
    if (ticks <= being_written || !since.ticks.compare_exchange_strong(ticks, 0))
        ticket.ticks = 0;
    return ticket;
}

/* In line is only the test for a session: what Realm does around it is short. */
struct call {
    RBWP_HOT_ explicit call(unsigned slot)
    {
        if (rbwp_is_on_(1))
            begin(slot);
    }
    RBWP_HOT_ ~call() { rbwp_end(); }
    call(const call &) = delete;
    static void begin(unsigned slot)
    {
        attach();
        if (rbwp_is_on_(2))
            rbwp_begin_with(slot, take(slot));
        else
            rbwp_begin(slot);
    }
};

/* The id of a sub-item by the name of a type (typeid) or of anything else. */
inline unsigned sub_item(rbwp_sub_item_type type, const char *name)
{
    static std::mutex mutex;
    static auto *ids = new std::map<std::string, unsigned>; /* threads outlive what exit destroys */
    std::lock_guard<std::mutex> hold(mutex);
    auto [at, is_new] = ids->emplace(name, 0);
    if (is_new) {
        char *plain = abi::__cxa_demangle(name, nullptr, nullptr, nullptr);
        if (rbwp_sub_item_register(type, plain ? plain : name, &at->second) != RBWP_OK)
            at->second = RBWP_SUB_ITEMS_MAX; /* its steps are counted as lost */
        std::free(plain);
    }
    return at->second;
}

/* The name's text must stay where it is, as that of a type does: threads remember ids by it. */
struct step {
    step(rbwp_sub_item_type type, const char *name) : on(rbwp_is_on_(2))
    {
        if (!on)
            return;
        struct known {
            const char *name;
            unsigned id;
        };
        static thread_local known recent[64];
        known &here = recent[reinterpret_cast<uintptr_t>(name) / 8 % 64];
        if (here.name != name)
            here = {name, sub_item(type, name)};
        attach();
        rbwp_fine_begin(here.id);
    }
    ~step()
    {
        if (on)
            rbwp_fine_end();
    }
    step(const step &) = delete;
    const bool on;
};

} // namespace rbwp_realm

#endif /* RBWP_REALM_H */
