/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting until all is done in a manager without workers: rbwp_work_drain in
 * runtime/work/work.c, work_lend and work_wake_for in runtime/work/worker.c, and the event
 * in runtime/work/doorbell.h.
 *
 * A lent thread and a drainer, who lends itself, run two items. Item 0 is active
 * from the start; its run may make item 1 active, and on the lent thread it may last
 * until somebody has run item 1. A third thread makes item 1 active at any time. What must hold:
 *
 *   1. At rest (nothing moves but by the end of a long run) the drainer sleeps
 *      only if something runs and nothing is a candidate: who waits does the work.
 *   2. Drain returns only if at some moment since its call nothing was active or
 *      running.
 *   3. It does return.
 *   4. It does not look again and again while nothing happens (no cycle without
 *      progress: run.sh searches for one).
 *
 * Bugs to plant: BUG_1 who makes active tells nobody. BUG_2 a lent thread that
 * leaves tells nobody. BUG_3 the drainer returns when it finds a candidate. BUG_4 the
 * drainer looks before it announces itself. BUG_5 the drainer lends itself after it
 * has read the event, and its own leaving wakes it (found by the search for cycles).
 */
bool armed[2], running[2], ran[2];
byte waiters, sequence;
bool begun, drainer_sleeps, drained, was_quiet;

#define QUIET (!armed[0] && !armed[1] && !running[0] && !running[1])
#define candidate(i) (armed[i] && !running[i])

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
    :: some -> atomic {
        sequence = (sequence + 1) % 8;
        drainer_sleeps = false;
        some = false
       }
    :: else
    fi
}

inline activate(i)
{
    armed[i] = true;
#ifndef BUG_1
    signal()
#endif
}

inline claim(i)
{
    armed[i] = false;
    running[i] = true;
    item = i
}

inline lend(may_last)
{
    do
    ::
        if
        :: atomic { candidate(0) -> claim(0) }
        :: atomic { candidate(1) -> claim(1) }
        :: else -> break
        fi;
        if
        :: item == 0 ->
            if
            :: activate(1)
            :: may_last -> activate(1); ran[1] /* lasts until somebody has run it */
            :: true
            fi
        :: else
        fi;
progress:
        atomic {
            ran[item] = true;
            running[item] = false;
            item = 2;
            note_quiet()
        }
    od;
#ifndef BUG_2
    signal()
#endif
}

active proctype lent_thread()
{
    byte item = 2;
    bool some;
    begun;
    lend(true)
}

active proctype activator()
{
    bool some;
    begun;
    if
    :: activate(1)
    :: true
    fi
}

active proctype drainer()
{
    byte item = 2, seen;
    bool some, quiet;
    atomic {
        armed[0] = true;
        begun = true
    }
    do
    ::
#ifndef BUG_5
        lend(false);
#endif
#ifndef BUG_4
        waiters++;
#endif
        do
        ::
            seen = sequence;
#ifdef BUG_5
            lend(false);
#endif
            atomic { quiet = QUIET }
            if
            :: quiet || candidate(0) || candidate(1) -> break
            :: else
            fi;
#ifdef BUG_4
            waiters++;
#endif
            atomic {
                if
                :: sequence == seen -> drainer_sleeps = true
                :: else
                fi
            }
            !drainer_sleeps
#ifdef BUG_4
            ; waiters--
#endif
        od;
#ifndef BUG_4
        waiters--;
#endif
#ifndef BUG_3
        atomic { quiet = QUIET }
        if
        :: quiet -> break
        :: else
        fi
#else
        break
#endif
    od;
    assert(was_quiet); /* 2 */
    drained = true
}

active proctype time()
{
    timeout;
    assert(!drainer_sleeps || (running[0] && !candidate(0) && !candidate(1))); /* 1 */
    assert(drained) /* 3 */
}
