/* SPDX-License-Identifier: Apache-2.0 */
/*
 * manager.cpp COUNTERS ROUNDS [FLAG...] - a manager of background work of Realm's shape, recorded
 * by contrib/realm/rbwp_realm.h: slots with a bit each, two workers of its own and the main thread,
 * which lends itself, make_active, handlers in handlers. What ran is counted in the file COUNTERS,
 * each thing after its end, so that it is there after a kill. ROUNDS 0: until it is killed.
 */
#include "rbwp_realm.h"

#include <condition_variable>
#include <cstdio>
#include <fcntl.h>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

namespace engine
{

constexpr unsigned items = 3, first_slot = 7;
const char *const names[items] = {"activemsg handler", "memcpy channel", "deppart op queue"};

struct counters {
    std::atomic<uint64_t> calls[items], steps[items];
};
counters *counted;

struct AskMessage {
};
struct CopyTransfer {
};
struct UnionOperation {
};

std::atomic<long> left[items];
std::mutex mutex;
std::condition_variable bell;
unsigned active_bits;
bool shut_down;

void make_active(unsigned item)
{
    rbwp_realm::activate(first_slot + item);
    std::lock_guard<std::mutex> hold(mutex);
    active_bits |= 1u << item;
    bell.notify_one();
}

void handle(unsigned depth)
{
    {
        rbwp_realm::step step(RBWP_AM_HANDLER, typeid(AskMessage).name());
        if (depth)
            handle(depth - 1);
    }
    counted->steps[0]++;
}

/* True: more is to be done. */
bool do_work(unsigned item)
{
    if (item == 0) {
        handle(2);
    } else {
        {
            rbwp_realm::step step(item == 1 ? RBWP_XFER_CHANNEL : RBWP_DEPPART_OP,
                                  item == 1 ? typeid(CopyTransfer).name()
                                            : typeid(UnionOperation).name());
        }
        counted->steps[item]++;
    }
    return --left[item] > 0;
}

/* What is active once, as a worker or a thread that lends itself does it. False: nothing is. */
bool work(bool waits)
{
    unsigned item;
    {
        std::unique_lock<std::mutex> hold(mutex);
        while (waits && !active_bits && !shut_down)
            bell.wait(hold);
        if (!active_bits)
            return false;
        item = unsigned(__builtin_ctz(active_bits));
        active_bits &= active_bits - 1;
    }
    bool more;
    {
        rbwp_realm::call call(first_slot + item);
        more = do_work(item);
    }
    counted->calls[item]++;
    if (more)
        make_active(item);
    return true;
}

} // namespace engine

using namespace engine;

int main(int argc, char **argv)
{
    int file = open(argv[1], O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, sizeof *counted) != 0)
        return 1;
    counted = static_cast<counters *>(
        mmap(nullptr, sizeof *counted, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    std::vector<std::string> cmdline(argv + 3, argv + argc);
    std::puts(rbwp_realm::start(cmdline, 0, 1).c_str());
    for (const std::string &word : cmdline)
        std::printf("left: %s\n", word.c_str());
    for (unsigned item = 0; item < items; item++)
        if (!rbwp_realm::item(first_slot + item, names[item]))
            return 1;
    left[0] = 1;
    make_active(0);
    work(false); /* before there are workers: this thread lends itself, whatever the others do */
    std::vector<std::thread> workers;
    for (int worker = 1; worker <= 2; worker++)
        workers.emplace_back([worker] {
            rbwp_realm::thread("dedicated worker #" + std::to_string(worker));
            while (work(true))
                ;
        });
    const long rounds = std::strtol(argv[2], nullptr, 10);
    for (long round = 0; rounds == 0 || round < rounds; round++) {
        for (unsigned item = 0; item < items; item++)
            if (left[item]++ == 0)
                make_active(item);
        while (left[0] + left[1] + left[2] > 64)
            std::this_thread::yield();
    }
    while (left[0] + left[1] + left[2] > 0)
        work(false);
    {
        std::lock_guard<std::mutex> hold(mutex);
        shut_down = true;
        bell.notify_all();
    }
    for (std::thread &worker : workers)
        worker.join();
    handle(0); /* outside of any call, as a thread of the network does it */
    std::puts(rbwp_realm::stop().c_str());
    for (unsigned item = 0; item < items; item++)
        rbwp_realm::release(first_slot + item);
    return 0;
}
