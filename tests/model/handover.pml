/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way of a chunk: filled by a recording thread (runtime/record/hot/chunk_line.c), put on
 * the stack of published chunks, queued, encoded, written, given back
 * (runtime/record/drain/drain.c); and what stop, detach and a second session do to it.
 *
 * Two threads choose their calls freely: begin, a sub-item, an end that keeps
 * the item, one that takes it back. A chunk holds two events, so items lie in up
 * to three chunks. A thread has at most two chunks; at that cap it publishes
 * what it holds back, helps to encode, and waits. What must hold:
 *
 *   1. Each event of a completed call is in the file once: none lost, none
 *      twice, none that was taken back. Per thread they stand in order.
 *   2. A chunk is in one hand at a time: free, a thread's, in the queue, or a
 *      job's. When the session has ended all are free and clear.
 *   3. If the process dies at any moment, recovery (the file up to the last
 *      commit, then the chunks without a ticket or with a later one) finds each
 *      event of a completed call once.
 *   4. Stop ends: no state without a next step but the end. The time limits of
 *      the writer's and the waiters' sleep are left out, so none of this needs
 *      them.
 *
 * The handshake of calls and stop is taken as handshake.pml has it: one step
 * after the other. The free list is freelist.pml's; here a step takes any free
 * chunk. What the drain's lock guards is one step. The semaphore is a flag:
 * fewer wake-ups than a count would remember.
 *
 * Bugs to plant: BUG_1 the writer takes any finished job. BUG_2 the queue keeps
 * the stack's order. BUG_3 a job's chunk is given back before it is encoded.
 * BUG_4 a full chunk of an open item is published at once. BUG_5 the writer does
 * not wait for jobs in work. BUG_6 a chunk is given back when it is encoded, not
 * when it is written. BUG_7 who has encoded wakes nobody. BUG_8 a thread at the
 * cap keeps its open item's chunks. BUG_9 stop forgets the chunks held back.
 * BUG_10 detach without the registry's lock. BUG_11 a
 * new chunk has the ticket of its last use.
 */
#define THREADS 2
#ifndef CALLS
#define CALLS 4 /* of the first thread; */
#define CALLS_2 2 /* of the second */
#endif
#ifndef SESSIONS
#define SESSIONS 2
#endif
#ifndef WORDS
#define WORDS 1
#endif
#define OWN 2 /* chunks that a thread may have, wherever they are */
#define CHUNKS 4
#define JOBS 2
#define NONE 15

#ifdef BUG_5
#define ALL_WRITTEN true
#else
#define ALL_WRITTEN (next_written == next_ticket)
#endif

/* Hands: a thread's number, or one of these. */
#define FREE 10
#define QUEUE 11
#define JOB 12

typedef chunk_type {
    byte word[WORDS]; /* number of the event among its thread's that were kept; 0: none */
    byte used;
    byte next;
    byte thread;
    byte ticket; /* and 1; 0: not taken */
    byte hand;
};
chunk_type ch[CHUNKS];

#define JOB_FREE 0
#define JOB_BUSY 1
#define JOB_DONE 2
typedef job_type {
    byte state;
    byte ticket;
    byte chunk;
    byte thread;
    byte event[WORDS];
};
job_type jobs[JOBS];

/* Recording threads. */
bool recording_now, on, locked;
bool in_call[THREADS], attached[THREADS];
byte current[THREADS], pos[THREADS], held_first[THREADS], held_last[THREADS];
byte item[THREADS];      /* number of the open item's first event; 0: none is open */
byte item_word[THREADS]; /* where it lies in its chunk */
bool kept[THREADS];
byte own[THREADS]; /* chunks that are the thread's, wherever they are */

/* The drain. */
byte published = NONE, queue_first = NONE, queue_last = NONE;
byte next_ticket, next_written;
bool wake, stopping, writer_over;

/* The file, and the point up to which it is committed. */
byte written[THREADS], committed[THREADS], committed_ticket;

/* What was recorded: events so far, and those of calls that have returned. */
byte made[THREADS], done[THREADS];

/* A crash now: what recovery finds. Called in each step that changes it. */
byte t_, c_, w_, seen_;
inline check_crash()
{
    d_step {
        for (t_ : 0 .. THREADS - 1) {
            seen_ = 0;
            for (c_ : 0 .. CHUNKS - 1) {
                if
                :: ch[c_].thread == t_ &&
                   (ch[c_].ticket == 0 || ch[c_].ticket > committed_ticket) ->
                    w_ = 0;
                    do
                    :: w_ < WORDS && ch[c_].word[w_] != 0 ->
                        assert((seen_ & (1 << ch[c_].word[w_])) == 0); /* 3: twice */
                        assert(ch[c_].word[w_] > committed[t_]);       /* 3: twice */
                        seen_ = seen_ | (1 << ch[c_].word[w_]);
                        w_++
                    :: else -> break
                    od
                :: else
                fi
            }
            w_ = committed[t_] + 1;
            do
            :: w_ <= done[t_] ->
                assert(seen_ & (1 << w_)); /* 3: lost */
                w_++
            :: else -> break
            od
        }
        t_ = 0;
        c_ = 0;
        w_ = 0;
        seen_ = 0
    }
}

inline give_back(which, by)
{
    atomic {
        assert(ch[which].hand == by); /* 2 */
        for (w_ : 0 .. WORDS - 1) {
            ch[which].word[w_] = 0
        }
        w_ = 0;
        ch[which].hand = FREE;
        own[ch[which].thread]--;
        ch[which].used = 0; /* only so that equal states look equal */
        ch[which].next = 0;
        ch[which].thread = 0;
        check_crash()
    }
}

/* The stack's push: the chunk is its owner's until the compare-exchange, so that is the step. */
inline publish(which, by)
{
    atomic {
        assert(ch[which].hand == by); /* 2 */
        ch[which].hand = QUEUE;
        ch[which].next = published;
        published = which;
        c = NONE
    }
    wake = true
}

inline publish_held(whose, by)
{
    do
    :: atomic { held_first[whose] != NONE ->
           c = held_first[whose];
           held_first[whose] = ch[c].next } /* read before it is published */
        publish(c, by)
    :: atomic { else -> held_last[whose] = NONE; c = NONE; break }
    od
}

/* ---- the drain ---- */

/* Locked, so part of one step. */
inline collect()
{
    c = published;
    published = NONE;
#ifdef BUG_2
    do
    :: c != NONE ->
        other = ch[c].next;
        ch[c].next = NONE;
        if
        :: queue_first == NONE -> queue_first = c
        :: else -> ch[queue_last].next = c
        fi;
        queue_last = c;
        c = other
    :: else -> break
    od;
#else
    if
    :: c != NONE ->
        top = c;
        other = NONE; /* the oldest so far */
        do
        :: c != NONE ->
            j = ch[c].next;
            ch[c].next = other;
            other = c;
            c = j
        :: else -> break
        od;
        if
        :: queue_first == NONE -> queue_first = other
        :: else -> ch[queue_last].next = other
        fi;
        queue_last = top
    :: else
    fi;
#endif
    c = NONE;
    other = NONE;
    top = NONE;
    j = NONE
}

/* Encodes one chunk, if there is one and a job is free. helped says so. */
inline help()
{
    d_step {
        collect();
        helped = false;
        j = 0;
        do
        :: j < JOBS && jobs[j].state != JOB_FREE -> j++
        :: else -> break
        od;
        if
        :: queue_first != NONE && j < JOBS ->
            helped = true;
            c = queue_first;
            queue_first = ch[c].next;
            assert(ch[c].hand == QUEUE); /* 2 */
            ch[c].hand = JOB;
            ch[c].ticket = next_ticket + 1;
            jobs[j].state = JOB_BUSY;
            jobs[j].ticket = next_ticket;
            jobs[j].chunk = c;
            jobs[j].thread = ch[c].thread;
            next_ticket++;
            c = NONE;
            check_crash()
        :: else -> j = NONE
        fi
    }
    if
    :: helped ->
#ifdef BUG_3
        c = jobs[j].chunk;
        give_back(c, JOB);
#endif
        d_step {
#ifndef BUG_3
            assert(ch[jobs[j].chunk].hand == JOB); /* 2 */
#endif
            for (w_ : 0 .. WORDS - 1) {
                jobs[j].event[w_] = ch[jobs[j].chunk].word[w_]
            }
            w_ = 0;
#ifdef BUG_6
        }
        c = jobs[j].chunk;
        give_back(c, JOB);
        d_step {
#endif
            jobs[j].state = JOB_DONE
        }
        atomic {
#ifndef BUG_7
            wake = true;
#endif
            j = NONE
        }
    :: else
    fi
}

inline write_event(value)
{
    if
    :: value != 0 ->
        assert(value == written[jobs[j].thread] + 1); /* 1 */
        written[jobs[j].thread] = value
    :: else
    fi
}

proctype writer()
{
    byte c = NONE, other = NONE, top = NONE, j = NONE;
    bool helped, over;
    do
    ::
        d_step {
            collect();
            j = 0;
            do
#ifdef BUG_1
            :: j < JOBS && jobs[j].state != JOB_DONE -> j++
#else
            :: j < JOBS && !(jobs[j].state == JOB_DONE && jobs[j].ticket == next_written) -> j++
#endif
            :: else -> break
            od;
            over = (j == JOBS && stopping && queue_first == NONE && ALL_WRITTEN)
        }
        if
        :: over -> break
        :: !over && j < JOBS ->
            d_step {
                for (w_ : 0 .. WORDS - 1) {
                    write_event(jobs[j].event[w_]);
                    jobs[j].event[w_] = 0
                }
                w_ = 0;
                committed_ticket = jobs[j].ticket + 1;
                committed[0] = written[0];
                committed[1] = written[1];
                check_crash()
            }
#if !defined(BUG_3) && !defined(BUG_6)
            c = jobs[j].chunk;
            give_back(c, JOB);
#endif
            d_step {
                c = NONE;
                jobs[j].state = JOB_FREE;
                jobs[j].chunk = 0;
                jobs[j].thread = 0;
                jobs[j].ticket = 0;
                next_written++;
                j = NONE
            }
        :: else ->
            j = NONE;
            help();
            if
            :: atomic { helped -> helped = false }
            :: atomic { !helped && wake -> wake = false }
            fi
        fi
    od;
    writer_over = true
}

/* ---- recording ---- */

/* Not at the cap: a free chunk, made this thread's. */
inline try_chunk()
{
    d_step {
        if
        :: own[me] < OWN ->
            fresh = 0;
            do
            :: ch[fresh].hand != FREE -> fresh++
            :: else -> break
            od;
            assert(ch[fresh].word[0] == 0); /* 2 */
            ch[fresh].hand = me;
            ch[fresh].thread = me;
#ifndef BUG_11
            ch[fresh].ticket = 0;
#endif
            own[me]++
        :: else
        fi
    }
}

inline retire()
{
    d_step {
        c = current[me];
        ch[c].used = pos[me];
        current[me] = NONE;
#ifdef BUG_4
        if
        :: true
#else
        if
        :: item[me] == 0 || kept[me]
        :: else ->
            ch[c].next = NONE;
            if
            :: held_last[me] != NONE -> ch[held_last[me]].next = c
            :: else -> held_first[me] = c
            fi;
            held_last[me] = c;
            c = NONE
#endif
        fi
    }
    if
    :: c != NONE ->
        publish(c, me)
    :: else
    fi
}

inline make_room()
{
    if
    :: current[me] != NONE && pos[me] < WORDS
    :: else ->
        try_chunk();
        if
        :: fresh == NONE ->
#ifndef BUG_8
            if
            :: held_first[me] != NONE ->
                kept[me] = true;
                publish_held(me, me)
            :: else
            fi;
#endif
            do
            :: fresh == NONE ->
                help();
                if
                :: atomic { !helped && (own[me] < OWN || published != NONE || queue_first != NONE) }
                :: atomic { helped -> helped = false }
                fi;
                try_chunk()
            :: else -> break
            od
        :: else
        fi;
        if
        :: current[me] != NONE -> retire()
        :: else
        fi;
        d_step {
            current[me] = fresh;
            pos[me] = 0;
            fresh = NONE
        }
    fi
}

inline put()
{
    atomic {
        assert(ch[current[me]].hand == me); /* 2 */
        made[me]++;
        ch[current[me]].word[pos[me]] = made[me];
        pos[me]++;
        check_crash()
    }
}

inline take_back()
{
    done[me] = item[me] - 1; /* what follows is no longer promised */
    if
    :: held_first[me] != NONE ->
        c = current[me];
        give_back(c, me);
        c = ch[held_first[me]].next;
        do
        :: c != NONE ->
            other = ch[c].next;
            give_back(c, me);
            c = other
        :: else -> break
        od;
        atomic {
            current[me] = held_first[me];
            pos[me] = ch[held_first[me]].used;
            held_first[me] = NONE;
            held_last[me] = NONE;
            other = NONE
        }
    :: else
    fi;
    do
    :: pos[me] > item_word[me] ->
        d_step {
            pos[me]--;
            ch[current[me]].word[pos[me]] = 0;
            check_crash()
        }
    :: else -> break
    od;
    made[me] = item[me] - 1
}

inline close_item()
{
    atomic {
        item[me] = 0;
        item_word[me] = 0;
        kept[me] = false
    }
}

/* The call has returned: what it recorded is promised. */
inline leave()
{
    atomic {
        done[me] = made[me];
        in_call[me] = false;
        check_crash()
    }
}

inline hand_over(whose)
{
#ifndef BUG_9
    publish_held(whose, whose);
#endif
    c = current[whose];
    if
    :: c != NONE && pos[whose] > 0 -> publish(c, whose)
    :: c != NONE && pos[whose] == 0 -> give_back(c, whose)
    :: else
    fi;
    d_step {
        current[whose] = NONE;
        pos[whose] = 0;
        item[whose] = 0;
        item_word[whose] = 0;
        kept[whose] = false;
        held_first[whose] = NONE;
        held_last[whose] = NONE;
        c = NONE
    }
}

proctype recorder(byte me; byte calls)
{
    byte c = NONE, other = NONE, top = NONE, j = NONE, fresh = NONE;
    bool helped;
    do
    :: atomic { calls > 0 && on -> /* with no session a call does nothing */
           calls--;
           in_call[me] = true }
        if
        :: atomic { !on -> leave() }
        :: on && item[me] == 0 -> /* begin */
            make_room();
            atomic {
                item_word[me] = pos[me];
                item[me] = made[me] + 1;
                put();
                leave()
            }
        :: on && item[me] != 0 -> /* a sub-item */
            make_room();
            atomic {
                put();
                leave()
            }
        :: on && item[me] != 0 -> /* an end that keeps the item */
            make_room();
            put();
            publish_held(me, me);
            atomic {
                close_item();
                leave()
            }
        :: on && item[me] != 0 && !kept[me] -> /* an end that takes it back */
            take_back();
            atomic {
                close_item();
                leave()
            }
        fi
    :: break
    od;
#ifndef BUG_10
    atomic { !locked -> locked = true }
#endif
    if
    :: recording_now -> hand_over(me)
    :: else
    fi;
    attached[me] = false;
#ifndef BUG_10
    locked = false
#endif
}

/* ---- the session ---- */

active proctype sessions()
{
    byte t, count, c = NONE, other = NONE, top = NONE, j = NONE;
    bool helped;
    d_step {
        for (t : 0 .. CHUNKS - 1) {
            ch[t].hand = FREE
        }
        for (t : 0 .. THREADS - 1) {
            attached[t] = true;
            current[t] = NONE;
            held_first[t] = NONE;
            held_last[t] = NONE
        }
        t = 0
    }
    atomic {
        run recorder(0, CALLS);
        run recorder(1, CALLS_2)
    }
    for (count : 1 .. SESSIONS) {
        run writer();
        atomic { !locked -> recording_now = true; on = true }

        atomic { !locked -> locked = true }
        on = false;
        for (t : 0 .. THREADS - 1) {
            if
            :: attached[t] ->
                !in_call[t];
                hand_over(t)
            :: else
            fi
        }
        atomic {
            recording_now = false;
            locked = false;
            t = 0
        }

        atomic { /* drain_finish */
            stopping = true;
            wake = true
        }
        do
        ::
            help();
            if
            :: atomic { helped -> helped = false }
            :: else ->
                d_step { collect() }
                if
                :: queue_first == NONE -> break
                :: else -> jobs[0].state == JOB_FREE || jobs[1].state == JOB_FREE ||
                           queue_first == NONE
                fi
            fi
        od;
        writer_over;
        d_step {
            for (t : 0 .. THREADS - 1) {
                assert(written[t] == made[t]); /* 1 */
                assert(own[t] == 0);           /* 2 */
                written[t] = 0;
                committed[t] = 0;
                made[t] = 0;
                done[t] = 0
            }
            for (t : 0 .. CHUNKS - 1) {
                assert(ch[t].hand == FREE && ch[t].word[0] == 0); /* 2 */
                ch[t].used = 0;
                ch[t].next = 0;
                ch[t].thread = 0;
                ch[t].ticket = 0
            }
            committed_ticket = 0;
            next_ticket = 0;
            next_written = 0;
            stopping = false;
            writer_over = false;
            wake = false;
            t = 0
        }
    }
}
