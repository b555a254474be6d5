/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The free list of runtime/record/drain/chunk_pool.c: a stack of chunk indices whose head
 * carries a count that changes with every push (the ABA case).
 *
 * Three threads take and give back chunks, or make fresh ones while the list is
 * empty. Each load, store and compare-exchange is a step of its own. What must
 * hold:
 *
 *   1. No chunk is in two hands.
 *   2. No chunk is lost: when all are given back, each is on the list once.
 *   3. The words of a chunk on the list are all 0.
 *   4. No more chunks are in use than the cap allows.
 *
 * No store buffers: each store is followed by a locked operation of the same
 * thread before anybody may read it. The count does not wrap: in the program
 * that takes 2^32 pushes while one thread stands inside a pop.
 *
 * Bugs to plant: BUG_1 no count. BUG_2 a push that has to try again keeps the
 * link of its first try. BUG_3 a chunk is cleared after it is pushed. BUG_4 the
 * cap is looked at before the chunk is counted (with CAP 2).
 */
#define THREADS 3
#define ROUNDS 2
#define CHUNKS 3
#ifndef CAP
#define CAP 3 /* 2: some find the cap reached */
#endif

typedef head {
    byte count;
    byte top; /* chunk and 1; 0: empty */
};

head free;
byte next_free[CHUNKS]; /* chunk and 1 */
byte made, in_use, finished;

byte holder[CHUNKS]; /* thread and 1; 0: nobody */
bool dirty[CHUNKS];
byte held;

#ifdef BUG_1
#define SAME_HEAD (free.top == top)
#else
#define SAME_HEAD (free.top == top && free.count == count)
#endif

#define READ_HEAD                                                                                  \
    atomic                                                                                         \
    {                                                                                              \
        top = free.top;                                                                            \
        count = free.count                                                                         \
    }

inline now_mine(chunk)
{
    assert(holder[chunk] == 0); /* 1 */
    assert(!dirty[chunk]);      /* 3 */
    holder[chunk] = me + 1;
    held++;
    assert(held <= CAP) /* 4 */
}

inline pop()
{
    READ_HEAD;
    do
    :: top == 0 -> break
    :: else ->
        next = next_free[top - 1];
        if
        :: atomic { SAME_HEAD -> free.top = next; now_mine(top - 1) } ; break
        :: atomic { else -> top = free.top; count = free.count }
        fi
    od
}

inline make()
{
    /* A fresh chunk; made only counts up, so one step stands for the loop. */
    atomic {
        if
        :: made < CHUNKS -> made++; top = made; now_mine(top - 1)
        :: else /* no memory */
        fi
    }
}

inline push()
{
    atomic {
        holder[top - 1] = 0; /* the caller lets go: from here on it must not touch it */
        held--;
        chunk = top;
        top = free.top;
        count = free.count
    }
#ifdef BUG_2
    next_free[chunk - 1] = top;
#endif
    do
    ::
#ifndef BUG_2
        next_free[chunk - 1] = top;
#endif
        if
        :: atomic { SAME_HEAD -> free.top = chunk; free.count = free.count + 1 } ; break
        :: atomic { else -> top = free.top; count = free.count }
        fi
    od
}

proctype user(byte me)
{
    byte round, top, count, next, chunk, before;
    for (round : 1 .. ROUNDS) {
#ifdef BUG_4
        before = in_use;
        if
        :: before < CAP -> in_use++
        :: else
        fi;
#else
        atomic { before = in_use; in_use++ }
#endif
        if
        :: before < CAP ->
            pop();
            if
            :: top == 0 -> make()
            :: else
            fi
        :: else -> top = 0
        fi;
        if
        :: top != 0 ->
            dirty[top - 1] = true; /* an event */
#ifndef BUG_3
            dirty[top - 1] = false;
            push();
#else
            push();
            dirty[chunk - 1] = false;
#endif
            in_use--
        :: else ->
#ifdef BUG_4
            if
            :: before < CAP -> in_use--
            :: else
            fi
#else
            in_use--
#endif
        fi;
        atomic { top = 0; count = 0; next = 0; chunk = 0; before = 0 }
    }
    finished++
}

active proctype test()
{
    byte i, at, seen;
    atomic {
        for (i : 0 .. THREADS - 1) {
            run user(i)
        }
    }
    finished == THREADS;
    d_step {
        at = free.top;
        do
        :: at != 0 ->
            assert((seen & (1 << at)) == 0); /* 2 */
            seen = seen | (1 << at);
            assert(!dirty[at - 1]); /* 3 */
            at = next_free[at - 1]
        :: else -> break
        od;
        for (i : 1 .. made) {
            assert(seen & (1 << i)) /* 2 */
        }
        assert(in_use == 0)
    }
}
