/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How idle workers sleep and are woken: runtime/work/doorbell.h and doorbell.c, the
 * loop of a worker and a lent thread in runtime/work/worker.c, activation and claim
 * in runtime/work/work_mask.h. One group of workers.
 *
 * Two items, in words of their own, so that a scan sees them one after the
 * other. They are made active from outside and by runs, and ask for requeue,
 * ARMS times in all; a run may be long. Workers spin as long as they like,
 * offer their CPU meanwhile, and fall asleep. Then the manager is closed; with
 * CLOSE_EARLY at any moment. What must hold:
 *
 *   1. No wake-up is lost: at rest (nothing moves but by the end of a long run)
 *      nobody sleeps while an item waits to be run. In the end all have been run.
 *   2. An item is never run by two at once.
 *   3. The doorbell counts right: no count falls below zero, and at rest it
 *      counts those who sleep, no looker, and no permit is left.
 *   4. After the close all workers leave.
 *
 * All operations that the proof in doorbell.h rests on are sequentially
 * consistent, and the others are read-modify-writes of the same word, so there
 * are no store buffers.
 *
 * Bugs to plant: BUG_1 a sleeper does not look again after it lay down. BUG_2 the
 * bell is rung before the work is visible. BUG_3 a ringer wakes before it grants the permit.
 * BUG_4 who found work does not look whether it leaves some behind. BUG_5 it looks
 * while it still counts as a looker. BUG_6 who runs another item does not wake for
 * the one that became active during its run. BUG_7 who gets up does not wait for
 * a wake-up that is under way. BUG_8 a ring counts no looker for the sleeper it
 * wakes. BUG_9 the close wakes one. BUG_10 a lent thread wakes nobody for what
 * became active during its runs. BUG_11 a sleeper looks at the futex word and
 * sleeps in two steps. BUG_12 a lent thread does as in BUG_6.
 */
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef ARMS
#define ARMS 3
#endif
#define NONE 2

bool armed[2], running[2];
byte arms_left = ARMS;
bool closed, long_over, outside_done;
byte in_long_run;

/* The doorbell. */
byte lookers, sleepers, permits;
bool in_futex[WORKERS];
byte left;

#define candidate(i) (armed[i] && !running[i])

/* ---- the bell ---- */

inline futex_wake_one()
{
    if
    :: in_futex[0] -> in_futex[0] = false
#if WORKERS > 1
    :: in_futex[1] -> in_futex[1] = false
#endif
#if WORKERS > 2
    :: in_futex[2] -> in_futex[2] = false
#endif
    :: else
    fi
}

/* counts as one word: a compare and swap that fails reads it anew. */
inline wake_one()
{
    atomic { some = (sleepers > 0 && lookers == 0) };
    if
    :: some ->
        atomic {
            some = (sleepers > 0 && lookers == 0);
            if
            :: some ->
                sleepers--;
#ifndef BUG_8
                lookers++
#endif
            :: else
            fi
        };
        if
        :: some ->
#ifndef BUG_3
            permits++;
#endif
            atomic { futex_wake_one(); some = false };
#ifdef BUG_3
            permits++
#endif
        :: else
        fi
    :: else
    fi
}

inline sleep()
{
    do
    :: atomic { permits > 0 -> permits--; break }
#ifndef BUG_11
    :: atomic { permits == 0 -> in_futex[me] = true }
#else
    :: permits == 0 -> in_futex[me] = true
#endif
        !in_futex[me]
    od
}

inline start_look()
{
    lookers++
}

inline end_look()
{
    atomic { assert(lookers > 0); /* 3 */ lookers-- }
}

inline lie_down()
{
    atomic { assert(lookers > 0); /* 3 */ lookers--; sleepers++ }
}

inline get_up()
{
    atomic {
        some = (sleepers > 0);
        if
        :: some -> sleepers--; lookers++
        :: else
        fi
    };
#ifndef BUG_7
    if
    :: some -> some = false
    :: else -> sleep()
    fi
#else
    some = false
#endif
}

/* ---- items ---- */

inline activate(i)
{
#ifdef BUG_2
    wake_one();
    armed[i] = true
#else
    atomic { fresh = !armed[i] && !running[i]; armed[i] = true };
    if
    :: fresh -> wake_one()
    :: else
    fi;
    fresh = false
#endif
}

inline claim_in(i)
{
    atomic {
        if
        :: slot == NONE && candidate(i) ->
            assert(!running[i]); /* 2 */
            armed[i] = false;
            running[i] = true;
            slot = i
        :: else
        fi
    }
}

/* Cursors may stand anywhere. */
inline claim()
{
    if
    :: true -> claim_in(0); claim_in(1)
    :: true -> claim_in(1); claim_in(0)
    fi
}

inline look_for_candidate()
{
    some = candidate(0);
    if
    :: !some -> some = candidate(1)
    :: else
    fi
}

inline wake_for_rest()
{
    some = (sleepers > 0 && lookers == 0);
    if
    :: some ->
        look_for_candidate();
        if
        :: some -> wake_one()
        :: else
        fi
    :: else
    fi
}

/* left_candidate: the slot is to be run again. */
inline run_claimed()
{
    if
    :: true
    :: !long_over -> in_long_run++; long_over; in_long_run--
    :: atomic { arms_left > 0 -> arms_left-- }; activate(1 - slot)
    :: atomic { arms_left > 0 -> arms_left-- }; activate(slot)
    fi;
    atomic {
        if
        :: true
        :: arms_left > 0 -> arms_left--; armed[slot] = true /* requeue */
        fi;
        running[slot] = false;
        left_candidate = armed[slot];
        last_slot = slot;
        slot = NONE
    }
}

inline wake_for_left()
{
    if
#ifndef BUG_6
    :: left_candidate && slot != last_slot -> wake_for_rest()
#endif
    :: else
    fi
}

/* ---- those who run ---- */

proctype worker(byte me)
{
    byte slot = NONE, last_slot = NONE;
    bool left_candidate, some, fresh;
    do
    :: closed -> break
    :: else ->
        claim();
        if
        :: slot != NONE -> wake_for_left()
        :: else ->
            claim(); /* a poll, not announced */
            if
            :: slot != NONE -> goto claimed
            :: else
            fi;
            start_look();
            do
            :: closed -> end_look(); goto over
            :: else ->
                claim();
                if
                :: slot != NONE ->
#ifndef BUG_5
                    end_look();
#endif
#ifndef BUG_4
                    wake_for_rest();
#endif
#ifdef BUG_5
                    end_look();
#endif
                    goto claimed
                :: else ->
                    if
                    :: true
#ifdef YIELDS
                    :: lie_down(); get_up() /* offers its CPU */
#endif
                    :: true -> /* the spin is over */
                        lie_down();
#ifndef BUG_1
                        look_for_candidate();
                        some = some || closed;
#endif
                        if
                        :: some -> get_up()
                        :: else -> sleep()
                        fi
                    fi
                fi
            od
        fi;
claimed:
        run_claimed()
    od;
over:
    left++
}

#ifdef LENT
active proctype lent()
{
    byte slot = NONE, last_slot = NONE;
    bool left_candidate, some, fresh;
    do
    :: closed -> break
    :: !closed ->
        claim();
        if
        :: slot == NONE -> break
        :: else
        fi;
#ifndef BUG_12
        wake_for_left();
#endif
        run_claimed()
    :: break /* its time is over */
    od;
#ifndef BUG_10
    wake_for_rest();
#endif
}
#endif

active proctype outside()
{
    bool some, fresh;
    do
    :: atomic { arms_left > 0 -> arms_left-- };
        if
        :: activate(0)
        :: activate(1)
        fi
    :: arms_left == 0 || closed -> break
    od;
    outside_done = true
}

inline close()
{
    closed = true;
#ifdef BUG_9
    wake_one();
#else
    atomic {
        woken = sleepers;
        lookers = lookers + woken;
        sleepers = 0
    };
    permits = permits + woken;
    do
    :: woken > 0 -> atomic { futex_wake_one(); woken-- }
    :: else -> break
    od
#endif
}

#if WORKERS > 2
#define ASLEEP (in_futex[0] + in_futex[1] + in_futex[2])
#elif WORKERS > 1
#define ASLEEP (in_futex[0] + in_futex[1])
#else
#define ASLEEP in_futex[0]
#endif

inline at_rest()
{
    assert(ASLEEP == 0 || (!candidate(0) && !candidate(1))); /* 1 */
    assert(sleepers == ASLEEP && lookers == 0 && permits == 0) /* 3 */
}

active proctype time()
{
    byte woken;
    bool some;
    atomic {
        run worker(0);
#if WORKERS > 1
        run worker(1);
#endif
#if WORKERS > 2
        run worker(2);
#endif
    }
#ifdef CLOSE_EARLY
    long_over = true;
    close();
    timeout
#else
    timeout;
    at_rest();
    long_over = true;
    timeout;
    at_rest();
    assert(outside_done && !running[0] && !running[1] && !armed[0] && !armed[1]); /* 1 */
    close();
    timeout
#endif
    ;
    assert(left == WORKERS) /* 4 */
}
