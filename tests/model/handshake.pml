/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The handshake between recording calls and rbwp_session_stop
 * (runtime/record/include/rbwp_record.h, recording_end in runtime/record/hot/recording.c), with the store
 * buffers of a machine with total store order: a thread's stores reach memory in
 * their order but late, and it sees its own at once.
 *
 * Two threads make calls and detach at a time of their choice; two sessions
 * start and stop. What must hold:
 *
 *   1. Nobody touches a thread's recording state while a call of it is inside,
 *      and never two at once (stop and detach).
 *   2. No store of a call reaches a chunk that has been handed over.
 *   3. Hand-over finds each event of each completed call: none is lost.
 *   4. Stop ends, however calls, detaches and restarts fall (no state without a
 *      next step but the end).
 *
 * The stores of stop itself are not delayed: each is followed by a locked
 * operation before anybody may act on it. A new chunk is not fenced either,
 * although taking one has a locked operation: that only adds behaviours.
 *
 * Bugs to plant: BUG_1 no membarrier. BUG_2 a call looks at the level before it
 * sets in_call. BUG_3 stop does not wait for in_call. BUG_4 a call leaves before
 * it stores its event. BUG_5 detach without the registry's lock. BUG_6 the
 * membarrier stands before the store to the level.
 */
#define THREADS 2
#ifndef CALLS
#define CALLS 2 /* 3: six times the states, and no step more */
#endif
#define SESSIONS 2

mtype = {in_call_, next_, word_};

chan buffer[THREADS] = [6] of { mtype, byte };

/* Memory, as everybody but the writing thread sees it. */
byte level;
bool in_call[THREADS];
byte next[THREADS];  /* 0: no chunk; else events stored, and 1 */
byte words[THREADS]; /* events in the thread's chunk */
bool attached[THREADS];

/* The registry's lock and what it guards. */
bool locked, recording_now;

/* What the properties speak of. */
byte session;
byte chunk_of_session[THREADS]; /* 0: the thread's chunk is handed over */
byte made[THREADS];             /* events of calls that have returned, not handed over */
bool inside[THREADS];
bool touched[THREADS]; /* somebody hands over */

/* What a thread knows of its own delayed stores to next. */
byte own_next[THREADS], own_stores[THREADS];

#define STORE(what, value) buffer[me]!what, value

/* The store buffer of a thread. */
proctype memory(byte me)
{
    byte value;
end:
    do
    :: atomic { buffer[me]?in_call_, value -> in_call[me] = value }
    :: atomic { buffer[me]?next_, value ->
           next[me] = value;
           own_stores[me]-- }
    :: atomic { buffer[me]?word_, value ->
           assert(value == chunk_of_session[me]); /* 2 */
           words[me]++ }
    od
}

inline hand_over(whose)
{
    assert(!touched[whose] && !inside[whose]); /* 1 */
    touched[whose] = true;
    used = next[whose];
    atomic {
        assert(used == 0 || used - 1 == words[whose]); /* 3 */
        assert(words[whose] == made[whose]);           /* 3 */
        next[whose] = 0;
        words[whose] = 0;
        made[whose] = 0;
        chunk_of_session[whose] = 0;
        used = 0;
        touched[whose] = false
    }
}

proctype recorder(byte me)
{
    byte calls, used;
    bool on;
    do
    :: calls < CALLS ->
        calls++;
#ifdef BUG_2
        on = level > 0;
        STORE(in_call_, 1);
        inside[me] = on;
#else
        STORE(in_call_, 1);
        atomic {
            on = level > 0;
            inside[me] = on
        }
#endif
        if
        :: on ->
            /* Its own delayed store, else memory. A first event begins a chunk. */
            atomic {
                used = (own_stores[me] > 0 -> own_next[me] : next[me]);
                if
                :: used == 0 -> chunk_of_session[me] = session; used = 1
                :: else
                fi
            }
#ifdef BUG_4
            STORE(in_call_, 0);
#endif
            atomic { nfull(buffer[me]) ->
                own_next[me] = used + 1;
                own_stores[me]++;
                STORE(next_, used + 1) }
            STORE(word_, chunk_of_session[me]);
            atomic { nfull(buffer[me]) ->
                made[me]++;
                inside[me] = false;
                used = 0;
                STORE(in_call_, 0) }
        :: else -> STORE(in_call_, 0)
        fi;
        on = false
    :: break
    od;
    /* A lock is a locked operation: it empties the store buffer. */
#ifndef BUG_5
    atomic { !locked && empty(buffer[me]) -> locked = true }
#else
    empty(buffer[me]);
#endif
    if
    :: recording_now -> hand_over(me)
    :: else
    fi;
    attached[me] = false;
#ifndef BUG_5
    locked = false
#endif
}

inline membarrier()
{
    for (t : 0 .. THREADS - 1) {
        empty(buffer[t]) /* each thread has a fence at some moment of the call */
    }
}

active proctype sessions()
{
    byte t, used, count;
    atomic {
        for (t : 0 .. THREADS - 1) {
            attached[t] = true;
            run memory(t);
            run recorder(t)
        }
    }
    for (count : 1 .. SESSIONS) {
        atomic {
            !locked -> locked = true;
            session = count;
            recording_now = true
        }
        level = 1;
        locked = false;

        atomic { !locked -> locked = true }
#ifdef BUG_6
        membarrier();
#endif
        level = 0;
#if !defined(BUG_1) && !defined(BUG_6)
        membarrier();
#endif
        for (t : 0 .. THREADS - 1) {
            if
            :: attached[t] ->
#ifndef BUG_3
                !in_call[t];
#endif
                hand_over(t)
            :: else
            fi
        }
        recording_now = false;
        locked = false
    }
}
