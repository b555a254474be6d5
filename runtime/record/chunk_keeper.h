/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chunk_keeper.h - a thread that keeps fresh chunks in stock.
 *
 * Memory that nobody has touched yet costs its first user some microseconds a
 * page, and a new segment of the live file a wait for the file system. While
 * the disk keeps the writer thread waiting, what is recorded needs more and
 * more of both: so they have a thread of their own, which sleeps as long as
 * chunks come back as fast as they are taken.
 */
#ifndef CHUNK_KEEPER_H
#define CHUNK_KEEPER_H

struct chunk_keeper;
struct chunk_pool;

/* NULL if there can be no such thread: recording threads then make their own chunks. The pool
 * outlives it. */
struct chunk_keeper *chunk_keeper_start(struct chunk_pool *pool);
void chunk_keeper_stop(struct chunk_keeper *keeper);

#endif /* CHUNK_KEEPER_H */
