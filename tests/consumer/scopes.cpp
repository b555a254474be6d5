/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scopes.cpp [kill] - a program of C++ that records by rbwp.hpp, with two threads: the scope of
 * each call is moved and has a part, every other call comes from a queue, every tenth ends by an
 * exception. Prints how many calls and parts have begun; kill: kills itself behind that, in the
 * middle of a call.
 */
#include <rbwp.hpp>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <unistd.h>

static const rbwp::item work("work");
static const rbwp::sub_item part("part");
static const rbwp::key number("number"), half("half"), below("below"), text("text"), other("other");
static std::atomic<unsigned> calls, parts;
static std::mutex turn;
enum { CALLS = 1000 };

static rbwp::scope moved(rbwp::scope &&call)
{
    return std::move(call);
}

static void run(unsigned call)
{
    rbwp::scope first(work, call % 2 ? work.queued() : rbwp_ticket());
    calls++;
    rbwp::scope scope(moved(std::move(first)));
    scope.arg(number, call % 7).arg(half, call % 4 / 2.0).arg(below, -1).arg(text, "a text");
    scope.arg(other, std::string("another"));
    rbwp::scope inner(part);
    parts++;
    if (call % 10 == 0)
        throw std::runtime_error("every tenth");
    inner.end();
}

static void thread(const char *name, bool dies)
{
    if (!rbwp::attach(name))
        std::abort();
    for (unsigned call = 1; call <= CALLS; call++) {
        std::lock_guard<std::mutex> held(turn);
        try {
            run(call);
        } catch (const std::runtime_error &) {
        }
        if (dies && call == CALLS / 2) {
            rbwp::scope open(work);
            std::printf("%u %u\n", ++calls, parts.load());
            std::fflush(stdout);
            kill(getpid(), SIGKILL);
        }
    }
}

int main(int argc, char **argv)
{
    rbwp::session session(argc, argv);
    if (!session) {
        std::fprintf(stderr, "not recorded: %s\n", session.error());
        return 3;
    }
    std::thread one(thread, "one", false),
        two(thread, "two", argc > 1 && !std::strcmp(argv[1], "kill"));
    one.join();
    two.join();
    std::printf("%u %u\n", calls.load(), parts.load());
    return session.stop() ? 0 : 1;
}
