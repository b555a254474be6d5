/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_job.h - a process's part in an MPI job: what the files of this room share.
 *
 * Who does what: transfers.c sends packets and moves payloads; ring.c receives packets, hands each
 * to whom it is for, and is the endpoint's side; clocks.c compares clocks; watch.c finds lost
 * nodes; mpi_job.c has the thread that sees to all of it while no worker does.
 */
#ifndef MPI_JOB_H
#define MPI_JOB_H

#include "rbwp_format.h"
#include "rbwp_mpi.h"
#include "rbwp_transport.h"
#include "ring.h"

#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>

/* Finds nodes that are lost.
 *
 * Processes on this machine (one boot, one PID namespace) by a handle of the kernel's, which shows
 * of their end whatever it was. Of the nodes on other machines, those next to this one in the
 * job's order by signs of life; who finds one lost informs all others. */

struct watch {
    struct watched *node; /* one a node */
    uint32_t *near_node;  /* nodes on this machine */
    struct pollfd *near;  /* the kernel's handles of them */
    uint32_t near_count;
    uint64_t due_ticks, sign_due_ticks;
    uint32_t neighbour[2]; /* nodes that exchange signs of life with this one */
    unsigned neighbour_count;
    _Atomic(bool) off;    /* all have come to the end: who goes now is not lost */
    pthread_mutex_t lock; /* guards the rest */
    bool any_lost;
    struct rbwp_error first; /* if so */
    _Atomic(bool) any_suspect;
};

/* They exchange who is where. Collective. */
enum rbwp_status watch_open(struct rbwp_mpi *mpi, struct rbwp_error *error);
void watch_close(struct rbwp_mpi *mpi);

/* False: the node is lost, or no endpoint is there any more. */
bool watch_is_here(const struct rbwp_mpi *mpi, uint32_t node);
bool watch_is_lost(const struct rbwp_mpi *mpi, uint32_t node);
/* False, and error names it, once any node is lost. */
bool watch_all_are_here(struct rbwp_mpi *mpi, struct rbwp_error *error);

/* From the background: looks for what was lost, and shows that this node lives. polling is held. */
void watch_tick(struct rbwp_mpi *mpi, uint64_t now_ticks);

/* A node is lost: informs whom it concerns, once. polling is held. */
void watch_lose(struct rbwp_mpi *mpi, uint32_t node, const char *text);
/* MPI failed with this code in something with a node: it will be lost at the next tick. For calls
 * that must not call up. */
void watch_suspect(struct rbwp_mpi *mpi, uint32_t node, int code);

/* What came from other nodes. polling is held. */
void watch_heard(struct rbwp_mpi *mpi, uint32_t from);
void watch_left(struct rbwp_mpi *mpi, uint32_t from, bool in_order);
void watch_told(struct rbwp_mpi *mpi, const void *packet, size_t bytes);

/* How far this node's clock is from node 0's.
 *
 * A node asks node 0 for its time, again and again, and keeps the answer that came back soonest:
 * the time between must lie in the middle of that round trip, give or take half of it. */

struct clock_sample {
    int64_t local_ns, offset_ns; /* node 0's clock is ahead by offset_ns at local_ns */
    uint64_t bound_ns;
};

/* Mutex polling guards all of it. */
struct clocks {
    bool compares;      /* in the background: sessions run */
    uint64_t due_ticks; /* next comparison */
    uint32_t burst;     /* number of this comparison: answers to an earlier one are dropped */
    unsigned missing;   /* answers that it waits for, unless one of them is better; 0: none runs */
    unsigned in_vain;   /* so many at a time */
    bool has_best, has_last;
    struct clock_sample best; /* of this comparison */
    struct clock_sample last; /* of the last one that is over */
};

/* All nodes compare, one after the other: a quick answer needs node 0 for itself. Collective. */
enum rbwp_status clocks_compare(struct rbwp_mpi *mpi, struct rbwp_error *error);

/* From the background: begins a comparison when one is due. polling is held. */
void clocks_tick(struct rbwp_mpi *mpi, uint64_t now_ticks);

/* A question and an answer that have come. */
void clocks_answer(struct rbwp_mpi *mpi, uint32_t from, const void *packet, size_t bytes);
void clocks_take(struct rbwp_mpi *mpi, const void *packet, size_t bytes);

/* ---- packets that go ------------------------------------------------------------------------- */

#define SLOT_WORDS 4
#define SLOTS (64 * SLOT_WORDS)

struct slot {
    MPI_Request request;
    uint32_t node;
    unsigned char packet[PACKET_BYTES_MAX];
};

struct slots {
    struct slot *slot;
    _Atomic(uint64_t) free[SLOT_WORDS];      /* a bit each */
    _Atomic(uint64_t) under_way[SLOT_WORDS]; /* not free, and MPI has it */
    _Atomic(bool) wanted;                    /* a send found none free */
};

enum rbwp_status slots_open(struct rbwp_mpi *mpi, struct rbwp_error *error);
void slots_close(struct rbwp_mpi *mpi);
/* Frees slots of packets that are through; true if there were any. mpi->polling is held. */
bool slots_poll(struct rbwp_mpi *mpi);
/* True if MPI still has packets of ours. */
bool slots_are_busy(const struct rbwp_mpi *mpi);

/* Sends a packet. Never blocks. RBWP_OK, it is copied; RBWP_AGAIN: no slot is free; RBWP_E_IO: the
 * node is lost or has left. */
enum rbwp_status slots_send(struct rbwp_mpi *mpi, uint32_t node, int tag,
                            const struct rbwp_packet *packet);
/* The same for bytes in one piece. */
enum rbwp_status slots_send_bytes(struct rbwp_mpi *mpi, uint32_t node, int tag, const void *bytes,
                                  size_t count);

/* ---- long payloads, from one node's memory into another's ------------------------------------ */

struct transfers {
    pthread_mutex_t lock;
    struct transfer *first; /* under way; lock guards it */
    _Atomic(bool) any;      /* there are some */
};

/* What one is of. */
struct transfer_end {
    uint32_t node; /* the other one */
    int tag;
    bool sends;
    unsigned char *payload;
    uint64_t bytes;
    uint64_t token; /* for rbwp_transport_payload_done */
};

/* Begins one end of a payload's way. Never blocks. RBWP_E_MEMORY; RBWP_E_IO: the node is lost. */
enum rbwp_status transfers_begin(struct rbwp_mpi *mpi, const struct transfer_end *end);

/* Reports those that are through or never will be; true if there were any. mpi->polling is held.
 */
bool transfers_poll(struct rbwp_mpi *mpi);
/* Gives all up, without a report. mpi->polling is held. */
void transfers_drop(struct rbwp_mpi *mpi);

/* ---- joined ---------------------------------------------------------------------------------- */

/* What a packet is, by its MPI tag. */
enum tag {
    TAG_PACKET = 0, /* the endpoint's */
    TAG_PING = 1,   /* to node 0: what time is it there? */
    TAG_PONG = 2,   /* its answer */
    TAG_LEFT = 3,   /* no endpoint is here any more */
    TAG_LOST = 4,   /* a node is lost: struct lost_note */
    TAG_SIGN = 5    /* a sign of life */
};

struct rbwp_mpi {
    struct rbwp_mpi_config config; /* defaults filled in */
    uint32_t node, nodes;
    bool initialised;        /* MPI, by us */
    MPI_Comm packets;        /* ring, slots */
    MPI_Comm payloads;       /* transfers */
    MPI_Comm calls;          /* what all nodes do at the same time */
    pthread_mutex_t polling; /* of who receives: ring, clocks, calls up to the endpoint */
    struct ring ring;
    struct slots slots;
    struct transfers transfers;
    struct clocks clocks;
    struct watch watch;
    struct rbwp_transport *transport; /* the one that is open; polling guards it */
    struct rbwp_endpoint *endpoint;   /* it works for; NULL before start. polling guards it */
    bool *told_left;                  /* by node: that no endpoint is here. polling guards it */
    bool left_in_order;               /* the endpoint that was here. polling guards it */
    _Atomic(uint64_t) polled_ticks;   /* when a worker last looked */
    _Atomic(bool) background_had;     /* it found something, and a worker has not looked since */
    _Atomic(bool) stopping;           /* the background is to end */
    pthread_t background;
    bool has_background;
};

/* Receives what has come and sees to what went out; true if there was something. polling is held.
 */
bool mpi_job_poll(struct rbwp_mpi *mpi);

/*
 * Waits for a request of all nodes on calls. poll: instead of sleeping, for a good answer time;
 * NULL none. RBWP_E_IO: a node is lost (the request is given up), or what MPI says.
 */
enum rbwp_status mpi_job_wait(struct rbwp_mpi *mpi, MPI_Request *request,
                              bool (*poll)(struct rbwp_mpi *mpi), struct rbwp_error *error);

/* Fills *error with what MPI says about a failed call and returns RBWP_E_IO. */
enum rbwp_status mpi_job_failure(struct rbwp_error *error, const char *call, int code);

#endif /* MPI_JOB_H */
