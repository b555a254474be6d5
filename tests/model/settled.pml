/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removing an item and waiting until all is done: runtime/work/work_slot.h,
 * run_claimed and work_is_quiet in runtime/work/worker.c, rbwp_work_remove and
 * rbwp_work_drain in runtime/work/work.c, and the event in runtime/work/doorbell.h that
 * both sleep on.
 *
 * One worker runs two items. Item 0 is removed by one thread and made active
 * by another that may come too late; a third drains. A run of item 1 makes item
 * 0 active; while it is long nothing else is run. What must hold:
 *
 *   1. A removed item's function is not entered any more once remove has
 *      returned, nor is it inside then.
 *   2. Nobody sleeps on the event while what he waits for has come: at rest
 *      (nothing moves but by the end of a long run) the remover sleeps only if
 *      the item runs, the drainer only if an item is active or runs.
 *   3. Drain returns only if at some moment since its call nothing was active or
 *      running.
 *   4. Neither hangs: at the end both have returned.
 *
 * All operations here are sequentially consistent read-modify-writes, or loads
 * after one, so there are no store buffers.
 *
 * Bugs to plant: BUG_1 a runner that finds the slot empty tells nobody that its
 * run is over. BUG_2 a removal that drops an activation tells nobody. BUG_3 the
 * runner looks at the generation before its claim. BUG_4 remove does not wait for
 * the run. BUG_5 a waiter looks at what it waits for before it announces itself.
 * BUG_6 drain does not compare the counts of runs. BUG_7 a run that ends after
 * the removal tells nobody. BUG_8 a worker that falls asleep after a run tells nobody
 * that it has nothing to do.
 */
bool armed[2], running[2];
bool filled = true; /* item 0's generation is not 0 */
byte runs;
bool removed, inside;

/* The event. */
byte waiters, sequence;
bool remover_sleeps, drainer_sleeps;

bool long_run_ends, is_long, drained, was_quiet, worker_sleeps;

#define QUIET (!armed[0] && !armed[1] && !running[0] && !running[1])

inline note_quiet()
{
    if
    :: QUIET -> was_quiet = true
    :: else
    fi
}

inline signal()
{
    some = (waiters > 0);
    if
    :: some ->
        sequence++;
        atomic {
            remover_sleeps = false;
            drainer_sleeps = false;
            some = false
        }
    :: else
    fi
}

inline event_sleep(flag)
{
    atomic {
        if
        :: sequence == seen -> flag = true
        :: else
        fi
    }
    !flag
}

#define candidate(i) (armed[i] && !running[i])

inline claim(i)
{
    armed[i] = false;
    running[i] = true;
    item = i
}

inline run_it()
{
#ifndef BUG_3
    generation = (item == 1 || filled);
#endif
    if
    :: generation && item == 0 ->
        inside = true;
        assert(!removed); /* 1 */
        inside = false
    :: generation && item == 1 ->
        if
        :: true
        :: is_long = true; long_run_ends
        fi;
        if
        :: filled -> armed[0] = true /* the handle was good when it looked */
        :: else
        fi
    :: else
    fi;
    runs++;
    atomic {
        running[item] = false;
        note_quiet()
    }
#ifndef BUG_7
    if
#ifndef BUG_1
    :: !generation || (item == 0 && !filled) -> signal()
#else
    :: generation && item == 0 && !filled -> signal()
#endif
    :: else
    fi;
#endif
    atomic {
        generation = false;
        item = 2
    }
}

active proctype worker()
{
    byte item = 2;
    bool generation, some, announced;
    do
    ::
#ifdef BUG_3
        generation = filled;
#endif
        if
        :: atomic { candidate(0) -> claim(0) }
        :: atomic { candidate(1) -> claim(1) }
        :: else
        fi;
        if
        :: item != 2 ->
#ifdef BUG_3
            generation = generation || item == 1;
#endif
            run_it();
            announced = false
        :: else ->
            /* Told once when it falls idle; not again when it is woken for nothing. */
            if
            :: !announced -> signal(); announced = true
#ifdef BUG_8
            :: !announced -> announced = true
#endif
            :: else
            fi;
            /* The doorbell: woken once for each activation, it may find that gone. */
            atomic { worker_sleeps = !candidate(0) && !candidate(1) }
end_idle:
            !worker_sleeps
        fi
    od
}

inline activate(i)
{
    armed[i] = true;
    worker_sleeps = false /* the ring */
}

active proctype activator()
{
    if
    :: filled -> activate(0) /* the handle was good when it looked */
    :: else
    fi;
    if
    :: activate(1)
    :: true
    fi
}

active proctype remover()
{
    byte seen;
    bool some;
    filled = false;
#ifndef BUG_4
#ifndef BUG_5
    waiters++;
#endif
    do
    ::
        seen = sequence;
        if
        :: !running[0] -> break
        :: else
        fi;
#ifdef BUG_5
        waiters++;
#endif
        event_sleep(remover_sleeps)
#ifdef BUG_5
        ; waiters--
#endif
    od;
#ifndef BUG_5
    waiters--;
#endif
#endif
    atomic {
        some = armed[0];
        armed[0] = false;
        note_quiet()
    }
#ifndef BUG_2
    if
    :: some -> signal()
    :: else
    fi;
#endif
    atomic {
        removed = true;
        assert(!inside) /* 1 */
    }
}

active proctype drainer()
{
    byte seen, count;
    bool busy;
    atomic {
        was_quiet = QUIET;
        waiters++
    }
    do
    ::
        seen = sequence;
        atomic { count = runs; busy = armed[0] || running[0] }
        busy = busy || armed[1] || running[1]; /* another word of the mask */
#ifndef BUG_6
        busy = busy || count != runs;
#endif
        if
        :: !busy -> break
        :: else
        fi;
        event_sleep(drainer_sleeps)
    od;
    waiters--;
    assert(was_quiet); /* 3 */
    drained = true
}

active proctype time()
{
    do
    :: timeout ->
        assert(!remover_sleeps || running[0]); /* 2 */
        assert(!drainer_sleeps || !QUIET);     /* 2 */
        if
        :: is_long && !long_run_ends -> long_run_ends = true
        :: else -> break
        fi
    od;
    assert(removed && drained) /* 4 */
}
