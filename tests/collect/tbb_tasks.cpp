// SPDX-License-Identifier: Apache-2.0
// tbb_tasks - a program with oneTBB that knows nothing of RBWP, and counts the tasks that it has executed in FILE: each part of a
// loop is one, as the loop is cut into parts of a fixed length.
//
//     tbb_tasks FILE [kill]      kill: itself, in the middle of the second loop
#include <atomic>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_group.h>
#include <unistd.h>

static std::atomic<long> *count;

static void work()
{
    for (volatile int i = 0; i < 2000; i = i + 1)
        ;
}

__attribute__((noinline)) static void loop(long parts, long until)
{
    tbb::parallel_for(
        tbb::blocked_range<long>(0, parts, 1),
        [until](const tbb::blocked_range<long> &) {
            if (++*count == until)
                kill(getpid(), SIGKILL);
            work();
        },
        tbb::simple_partitioner());
}

__attribute__((noinline)) static void many_tasks()
{
    tbb::task_group group;
    for (int i = 0; i < 100; i++)
        group.run([] { ++*count; });
    group.wait();
}

int main(int argc, char **argv)
{
    const int fd = argc < 2 ? -1 : open(argv[1], O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, sizeof *count) != 0)
        return 1;
    void *at = mmap(nullptr, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        return 1;
    count = static_cast<std::atomic<long> *>(at);
    tbb::global_control threads(tbb::global_control::max_allowed_parallelism, 3);
    loop(500, 0);
    many_tasks();
    loop(500, argc > 2 && std::strcmp(argv[2], "kill") == 0 ? 900 : 0);
}
