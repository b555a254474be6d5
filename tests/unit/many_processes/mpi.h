/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi.h - an MPI of several processes, of which one is here, as far as runtime/jobs/mpi calls it:
 * a test says who the others are, what comes from them, what is through and which calls fail.
 */
#ifndef MPI_H
#define MPI_H

#include <stddef.h>

typedef int MPI_Comm, MPI_Errhandler, MPI_Op, MPI_Request;
typedef size_t MPI_Datatype; /* its bytes */
typedef struct {
    int MPI_SOURCE, MPI_TAG, count;
} MPI_Status;

enum { MPI_SUCCESS, MPI_MAX_ERROR_STRING = 32 };
enum { MPI_THREAD_SINGLE, MPI_THREAD_MULTIPLE };
enum { MPI_COMM_NULL, MPI_COMM_WORLD };
enum { MPI_REQUEST_NULL };
enum { MPI_BYTE = 1, MPI_INT = sizeof(int) };
enum { MPI_ANY_SOURCE = -1, MPI_ANY_TAG = -1, MPI_TAG_UB = 5, MPI_MAX = 6, MPI_ERRORS_RETURN = 7 };
#define MPI_STATUS_IGNORE NULL

int MPI_Initialized(int *flag);
int MPI_Finalized(int *flag);
int MPI_Init_thread(int *argc, char ***argv, int wanted, int *level);
int MPI_Query_thread(int *level);
int MPI_Finalize(void);
int MPI_Error_string(int code, char *text, int *length);
int MPI_Comm_dup(MPI_Comm from, MPI_Comm *to);
int MPI_Comm_free(MPI_Comm *communicator);
int MPI_Comm_rank(MPI_Comm communicator, int *rank);
int MPI_Comm_size(MPI_Comm communicator, int *size);
int MPI_Comm_set_errhandler(MPI_Comm communicator, MPI_Errhandler handler);
int MPI_Comm_get_attr(MPI_Comm communicator, int key, void *value, int *flag);
int MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag,
              MPI_Comm communicator, MPI_Request *request);
int MPI_Irecv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm communicator,
              MPI_Request *request);
int MPI_Ibarrier(MPI_Comm communicator, MPI_Request *request);
int MPI_Ibcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm communicator,
               MPI_Request *request);
int MPI_Iallreduce(const void *own, void *all, int count, MPI_Datatype type, MPI_Op operation,
                   MPI_Comm communicator, MPI_Request *request);
int MPI_Iallgather(const void *own, int count, MPI_Datatype type, void *all, int all_count,
                   MPI_Datatype all_type, MPI_Comm communicator, MPI_Request *request);
int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status);
int MPI_Wait(MPI_Request *request, MPI_Status *status);
int MPI_Cancel(MPI_Request *request);
int MPI_Request_free(MPI_Request *request);
int MPI_Get_count(const MPI_Status *status, MPI_Datatype type, int *count);

#endif /* MPI_H */
