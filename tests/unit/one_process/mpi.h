/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi.h - an MPI of one process, as far as runtime/jobs/mpi calls it: what is sent is through at
 * once, or once mpi_is_slow is false again, and nothing ever comes. ThreadSanitizer, which cannot
 * look into an MPI library, sees all of it.
 */
#ifndef MPI_H
#define MPI_H

#include <stdbool.h>
#include <string.h>

extern _Atomic bool mpi_is_slow;

typedef int MPI_Comm, MPI_Errhandler, MPI_Op, MPI_Request;
typedef size_t MPI_Datatype; /* its bytes */
typedef struct {
    int MPI_SOURCE, MPI_TAG;
} MPI_Status;

enum { MPI_SUCCESS, MPI_MAX_ERROR_STRING = 8 };
enum { MPI_THREAD_SINGLE, MPI_THREAD_MULTIPLE };
enum { MPI_COMM_NULL, MPI_COMM_WORLD };
enum { MPI_REQUEST_NULL, NEVER_COMES, IS_SENT };
enum { MPI_BYTE = 1, MPI_INT = sizeof(int) };
enum { MPI_ANY_SOURCE = -1, MPI_ANY_TAG = -1, MPI_TAG_UB = 0, MPI_MAX = 0, MPI_ERRORS_RETURN = 0 };
#define MPI_STATUS_IGNORE NULL

static inline int gives(int *place, int value)
{
    *place = value;
    return MPI_SUCCESS;
}

static inline int MPI_Initialized(int *flag)
{
    return gives(flag, 0);
}
static inline int MPI_Finalized(int *flag)
{
    return gives(flag, 0);
}
static inline int MPI_Init_thread(int *argc, char ***argv, int wanted, int *level)
{
    return gives(level, wanted);
}
static inline int MPI_Query_thread(int *level)
{
    return gives(level, MPI_THREAD_MULTIPLE);
}
static inline int MPI_Finalize(void)
{
    return MPI_SUCCESS;
}
static inline int MPI_Error_string(int code, char *text, int *length)
{
    text[0] = '\0';
    return gives(length, 0);
}
static inline int MPI_Comm_dup(MPI_Comm from, MPI_Comm *to)
{
    return gives(to, from);
}
static inline int MPI_Comm_free(MPI_Comm *communicator)
{
    return gives(communicator, MPI_COMM_NULL);
}
static inline int MPI_Comm_rank(MPI_Comm communicator, int *rank)
{
    return gives(rank, 0);
}
static inline int MPI_Comm_size(MPI_Comm communicator, int *size)
{
    return gives(size, 1);
}
static inline int MPI_Comm_set_errhandler(MPI_Comm communicator, MPI_Errhandler handler)
{
    return MPI_SUCCESS;
}
static inline int MPI_Comm_get_attr(MPI_Comm communicator, int key, void *value, int *flag)
{
    return gives(flag, 0);
}
static inline int MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag,
                            MPI_Comm communicator, MPI_Request *request)
{
    return gives(request, IS_SENT);
}
static inline int MPI_Irecv(void *data, int count, MPI_Datatype type, int from, int tag,
                            MPI_Comm communicator, MPI_Request *request)
{
    return gives(request, NEVER_COMES);
}
static inline int MPI_Ibarrier(MPI_Comm communicator, MPI_Request *request)
{
    return gives(request, MPI_REQUEST_NULL);
}
static inline int MPI_Ibcast(void *data, int count, MPI_Datatype type, int root,
                             MPI_Comm communicator, MPI_Request *request)
{
    return gives(request, MPI_REQUEST_NULL);
}
static inline int MPI_Iallreduce(const void *own, void *all, int count, MPI_Datatype type,
                                 MPI_Op operation, MPI_Comm communicator, MPI_Request *request)
{
    memcpy(all, own, (size_t)count * type);
    return gives(request, MPI_REQUEST_NULL);
}
static inline int MPI_Iallgather(const void *own, int count, MPI_Datatype type, void *all,
                                 int all_count, MPI_Datatype all_type, MPI_Comm communicator,
                                 MPI_Request *request)
{
    memcpy(all, own, (size_t)count * type);
    return gives(request, MPI_REQUEST_NULL);
}
static inline int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    if (*request == IS_SENT && !mpi_is_slow)
        *request = MPI_REQUEST_NULL;
    return gives(flag, *request == MPI_REQUEST_NULL);
}
static inline int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    return gives(request, MPI_REQUEST_NULL);
}
static inline int MPI_Cancel(MPI_Request *request)
{
    return MPI_SUCCESS;
}
static inline int MPI_Request_free(MPI_Request *request)
{
    return gives(request, MPI_REQUEST_NULL);
}
static inline int MPI_Get_count(const MPI_Status *status, MPI_Datatype type, int *count)
{
    return gives(count, 0);
}

#endif /* MPI_H */
