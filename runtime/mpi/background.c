/* SPDX-License-Identifier: Apache-2.0 */
#include "background.h"

#include "failure.h"
#include "joined.h"
#include "rbwp_record.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>

#define SPIN_NS 20000     /* after something came, as the next may follow at once */
#define SHORTEST_NS 20000 /* then sleeps between looks, each a quarter longer */
#define LONGEST_NS 1000000
#define WORKER_LOOKS_NS 200000 /* who looked so lately will look again */

static void sleep_ns(uint64_t ns)
{
    struct timespec time = {.tv_nsec = (long)ns}; /* below a second */
    nanosleep(&time, NULL);
}

/* True if something had come, which a worker that looks anyway finds sooner. */
static bool look(struct rbwp_mpi *mpi, uint64_t now_ticks, bool worker_looks)
{
    if (pthread_mutex_trylock(&mpi->polling) != 0)
        return false;
    clocks_tick(mpi, now_ticks);
    watch_tick(mpi, now_ticks);
    bool had = !worker_looks && joined_poll(mpi);
    if (had)
        atomic_store_explicit(&mpi->background_had, true, memory_order_relaxed);
    pthread_mutex_unlock(&mpi->polling);
    return had;
}

static void *run(void *argument)
{
    struct rbwp_mpi *mpi = argument;
    prctl(PR_SET_TIMERSLACK, 1000ul); /* ns; the default adds 50 us to each sleep */
    uint64_t sleep = SHORTEST_NS, had_ticks = 0;
    while (!atomic_load(&mpi->stopping)) {
        uint64_t polled_ticks = atomic_load_explicit(&mpi->polled_ticks, memory_order_relaxed);
        uint64_t now_ticks = rbwp_now_ticks();
        bool worker_looks = now_ticks - polled_ticks < rbwp_ticks_from_ns(WORKER_LOOKS_NS);
        if (look(mpi, now_ticks, worker_looks)) {
            had_ticks = now_ticks;
            sleep = SHORTEST_NS;
        }
        if (!worker_looks && now_ticks - had_ticks < rbwp_ticks_from_ns(SPIN_NS)) {
            sched_yield();
            continue;
        }
        sleep_ns(worker_looks ? WORKER_LOOKS_NS : sleep);
        sleep = worker_looks ? SHORTEST_NS : sleep + sleep / 4;
        sleep = sleep < LONGEST_NS ? sleep : LONGEST_NS;
    }
    return NULL;
}

enum rbwp_status background_start(struct rbwp_mpi *mpi, struct rbwp_error *error)
{
    sigset_t all, before;
    sigfillset(&all); /* the program's handlers are for its own threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(&mpi->background, NULL, run, mpi);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    mpi->has_background = code == 0;
    return code == 0 ? RBWP_OK : failure(error, RBWP_E_IO, code, "no thread for MPI");
}

void background_stop(struct rbwp_mpi *mpi)
{
    atomic_store(&mpi->stopping, true);
    if (mpi->has_background)
        pthread_join(mpi->background, NULL);
    mpi->has_background = false;
}
