/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits in MPI, of programs in C and C++ (Fortran's calls have names of their own).
 *
 * No header of MPI is used: libraries differ in what handles are, an int (MPICH) or a pointer (Open
 * MPI). Either fits a register and a place on the stack of its own, in which it is passed on as it
 * came. What is read is what both share: ranks and counts, the size of a type by MPI_Type_size; and
 * of a status where the source stands.
 *
 * Which rank a request is about is noted when it is made, in a table without locks: a request that
 * is not found there, or was overwritten by another one, is of nobody.
 */
#include "libc_next.h"
#include "waiter.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

/* clang-format off */
#define MPI_WAITS(X)                                                                               \
    X(Send) X(Ssend) X(Recv) X(Sendrecv) X(Probe) X(Wait) X(Waitall) X(Waitany) X(Waitsome)        \
    X(Barrier) X(Bcast) X(Scatter) X(Gather) X(Allgather) X(Reduce) X(Allreduce) X(Alltoall)
/* clang-format on */
#define MPI_OTHERS(X)                                                                              \
    X(Isend) X(Irecv) X(Test) X(Testall) X(Testany) X(Testsome) X(Request_free) X(Type_size)
#define MPI_NUMBER(name) CALL_##name,
#define MPI_TEXT(name) "MPI_" #name,
enum mpi_call {
    MPI_WAITS(MPI_NUMBER) MPI_WAIT_CALLS,
    CALLS_BEHIND = MPI_WAIT_CALLS - 1,
    MPI_OTHERS(MPI_NUMBER) MPI_CALLS
};
_Static_assert((int)MPI_WAIT_CALLS == (int)WAIT_MPI_KINDS, "each is a kind of wait");

static const char *const mpi_texts[] = {MPI_WAITS(MPI_TEXT) MPI_OTHERS(MPI_TEXT)};

enum { REQUESTS_KEPT = 4096, MPI_ERROR_OTHER = 16, HANDLES_MAX = 64, STATUS_WORDS = 16 };

typedef void *mpi_handle; /* in a register: all of it is passed on */

/* ---- the library's --------------------------------------------------------------------------- */

static void *_Atomic mpi_found[MPI_CALLS];
/* Set before the first call is found. */
static bool mpi_is_open;  /* Open MPI */
static bool mpi_is_ready; /* waits have their names */

/* Behind us, or where a plugin has it for itself alone, among what the caller is linked with. */
static void *mpi_look_up(const char *name, const void *caller)
{
    void *found = dlsym(RTLD_NEXT, name);
    Dl_info info;
    if (found || dladdr(caller, &info) == 0 || !info.dli_fname)
        return found;
    void *library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    found = library ? dlsym(library, name) : NULL;
    if (library)
        dlclose(library);
    return found;
}

static pthread_once_t mpi_once = PTHREAD_ONCE_INIT;
static const void *_Atomic mpi_first_caller;

static void mpi_prepare(void)
{
    const void *caller = atomic_load(&mpi_first_caller);
    mpi_is_open = mpi_look_up("ompi_mpi_comm_world", caller) != NULL;
    mpi_is_ready = waiter_prepare_mpi(mpi_texts);
}

static __attribute__((noinline, cold)) void *mpi_find(enum mpi_call call, const void *caller)
{
    const int error = errno;
    void *found = mpi_look_up(mpi_texts[call], caller);
    atomic_store(&mpi_first_caller, caller);
    pthread_once(&mpi_once, mpi_prepare);
    atomic_store_explicit(&mpi_found[call], found, memory_order_release);
    errno = error;
    return found;
}

static inline void *mpi_of(enum mpi_call call, const void *caller)
{
    void *found = atomic_load_explicit(&mpi_found[call], memory_order_acquire);
    return __builtin_expect(found != NULL, 1) ? found : mpi_find(call, caller);
}
#define MPI_CALLER __builtin_extract_return_addr(__builtin_return_address(0))

static uint64_t mpi_bytes(int count, mpi_handle type, const void *caller)
{
    int (*size_of)(mpi_handle, int *) = (int (*)(mpi_handle, int *))mpi_of(CALL_Type_size, caller);
    int bytes = 0;
    return count > 0 && size_of && size_of(type, &bytes) == 0 && bytes > 0
               ? (uint64_t)count * (uint64_t)bytes
               : 0;
}

/* Who may be anybody, or is nobody, has a negative number. */
static int64_t mpi_peer(int rank)
{
    return rank < 0 ? -1 : rank;
}

/* A status that the program does not want: NULL, or 1. */
static bool is_ignored(const void *status)
{
    return (uintptr_t)status <= 1;
}

static int64_t source_of(const int *status)
{
    return mpi_peer(status[mpi_is_open ? 0 : 2]);
}

/* ---- requests -------------------------------------------------------------------------------- */

static struct mpi_request {
    _Atomic uint64_t handle; /* 0: none, or being written */
    _Atomic uint64_t epoch, bytes;
    _Atomic int64_t peer;
} mpi_requests[REQUESTS_KEPT];
static _Atomic uint64_t mpi_epoch; /* of those that count */

struct mpi_about {
    int64_t peer;
    uint64_t bytes;
};

static uint64_t handle_at(const void *handles, int at)
{
    uint64_t wide;
    uint32_t narrow;
    if (mpi_is_open) {
        memcpy(&wide, (const char *)handles + sizeof wide * (size_t)at, sizeof wide);
        return wide;
    }
    memcpy(&narrow, (const char *)handles + sizeof narrow * (size_t)at, sizeof narrow);
    return narrow;
}

static struct mpi_request *place_of_request(uint64_t handle)
{
    return &mpi_requests[hash_place(handle) % REQUESTS_KEPT];
}

static void note_request(uint64_t handle, int64_t peer, uint64_t bytes)
{
    struct mpi_request *request = place_of_request(handle);
    atomic_store(&request->handle, 0);
    atomic_store(&request->epoch, atomic_load(&mpi_epoch));
    atomic_store(&request->peer, peer);
    atomic_store(&request->bytes, bytes);
    atomic_store(&request->handle, handle);
}

static struct mpi_about find_request(uint64_t handle)
{
    struct mpi_request *request = place_of_request(handle);
    const bool mine = handle && atomic_load(&request->handle) == handle &&
                      atomic_load(&request->epoch) == atomic_load(&mpi_epoch);
    const struct mpi_about about = {atomic_load(&request->peer), atomic_load(&request->bytes)};
    return mine && atomic_load(&request->handle) == handle ? about : (struct mpi_about){-1, 0};
}

static void forget_request(uint64_t handle)
{
    struct mpi_request *request = place_of_request(handle);
    (void)atomic_compare_exchange_strong(&request->handle, &handle, 0);
}

/* Of all of them: their bytes, and their peer if it is one. */
static struct mpi_about find_requests(const void *handles, int count, uint64_t *kept)
{
    struct mpi_about all = {-1, 0};
    bool several = count > HANDLES_MAX;
    for (int i = 0; i < count && i < HANDLES_MAX; i++) {
        kept[i] = handle_at(handles, i);
        const struct mpi_about about = find_request(kept[i]);
        all.bytes += about.bytes;
        several |= i > 0 && about.peer != all.peer;
        all.peer = about.peer;
    }
    all.peer = several ? -1 : all.peer;
    return all;
}

/* Those of before that are other ones by now are done with, and their handles may be given again.
 */
static void forget_requests(const void *handles, int count, const uint64_t *kept)
{
    if (count > HANDLES_MAX)
        atomic_fetch_add(&mpi_epoch, 1);
    for (int i = 0; i < count && i < HANDLES_MAX; i++)
        if (kept[i] && handle_at(handles, i) != kept[i])
            forget_request(kept[i]);
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* A function of the name, which no header of MPI declares here; the library's own is `real`. */
#define MPI_OURS(name, ...)                                                                        \
    SHOWN int MPI_##name(__VA_ARGS__);                                                             \
    int MPI_##name(__VA_ARGS__)
#define MPI_REAL(name)                                                                             \
    __typeof__(MPI_##name) *real = (__typeof__(real))mpi_of(CALL_##name, MPI_CALLER);              \
    if (!real)                                                                                     \
    return MPI_ERROR_OTHER

/* about: {peer, bytes}; behind: what is known of it when it is over. */
#define MPI_WAIT(name, about, call, behind)                                                        \
    do {                                                                                           \
        if (!waiter_mine || !mpi_is_ready)                                                         \
            return call;                                                                           \
        const struct mpi_about known = about;                                                      \
        struct wait begun WAIT_CLEANED;                                                            \
        begun.peer = known.peer;                                                                   \
        begun.bytes = known.bytes;                                                                 \
        wait_begin(&begun, (enum wait_kind)(WAIT_MPI + CALL_##name), (uint64_t)(known.peer + 1));  \
        int result = call;                                                                         \
        behind;                                                                                    \
        wait_end(&begun, result ? WAIT_FAILED : WAIT_WOKEN);                                       \
        return result;                                                                             \
    } while (0)
#define MPI_ABOUT(peer, bytes) ((struct mpi_about){peer, bytes})
#define MPI_NOTHING MPI_ABOUT(-1, 0)

#define MPI_SENDS(name)                                                                            \
    MPI_OURS(name, const void *data, int count, mpi_handle type, int to, int tag, mpi_handle comm) \
    {                                                                                              \
        MPI_REAL(name);                                                                            \
        MPI_WAIT(name, MPI_ABOUT(mpi_peer(to), mpi_bytes(count, type, MPI_CALLER)),                \
                 real(data, count, type, to, tag, comm), );                                        \
    }
MPI_SENDS(Send)
MPI_SENDS(Ssend)

/* A call that takes what comes from anybody needs a status of ours, where the program has none. */
#define MPI_FROM(from)                                                                             \
    int own_status[STATUS_WORDS] __attribute__((aligned(8)));                                      \
    const bool from_anybody = (from) < 0 && mpi_is_ready;                                          \
    void *where = from_anybody && is_ignored(status) ? own_status : status
#define MPI_LEARN                                                                                  \
    if (from_anybody && result == 0)                                                               \
    begun.peer = source_of(where)

MPI_OURS(Recv, void *data, int count, mpi_handle type, int from, int tag, mpi_handle comm,
         void *status)
{
    MPI_REAL(Recv);
    MPI_FROM(from);
    MPI_WAIT(Recv, MPI_ABOUT(mpi_peer(from), mpi_bytes(count, type, MPI_CALLER)),
             real(data, count, type, from, tag, comm, where), MPI_LEARN);
}

MPI_OURS(Sendrecv, const void *data, int count, mpi_handle type, int to, int tag, void *taken,
         int room, mpi_handle taken_type, int from, int taken_tag, mpi_handle comm, void *status)
{
    MPI_REAL(Sendrecv);
    MPI_FROM(from);
    MPI_WAIT(
        Sendrecv,
        MPI_ABOUT(mpi_peer(from),
                  mpi_bytes(count, type, MPI_CALLER) + mpi_bytes(room, taken_type, MPI_CALLER)),
        real(data, count, type, to, tag, taken, room, taken_type, from, taken_tag, comm, where),
        MPI_LEARN);
}

MPI_OURS(Probe, int from, int tag, mpi_handle comm, void *status)
{
    MPI_REAL(Probe);
    MPI_FROM(from);
    MPI_WAIT(Probe, MPI_ABOUT(mpi_peer(from), 0), real(from, tag, comm, where), MPI_LEARN);
}

/* ---- requests that are waited for ------------------------------------------------------------ */

#define MPI_STARTS(name, data_type, other)                                                         \
    MPI_OURS(name, data_type data, int count, mpi_handle type, int other, int tag,                 \
             mpi_handle comm, void *request)                                                       \
    {                                                                                              \
        MPI_REAL(name);                                                                            \
        int result = real(data, count, type, other, tag, comm, request);                           \
        if (result == 0)                                                                           \
            note_request(handle_at(request, 0), mpi_peer(other),                                   \
                         mpi_bytes(count, type, MPI_CALLER));                                      \
        return result;                                                                             \
    }
MPI_STARTS(Isend, const void *, to)
MPI_STARTS(Irecv, void *, from)

MPI_OURS(Wait, void *request, void *status)
{
    uint64_t kept[HANDLES_MAX];
    MPI_REAL(Wait);
    MPI_WAIT(Wait, find_requests(request, 1, kept), real(request, status),
             forget_requests(request, 1, kept));
}

MPI_OURS(Waitall, int count, void *requests, void *statuses)
{
    uint64_t kept[HANDLES_MAX];
    MPI_REAL(Waitall);
    MPI_WAIT(Waitall, find_requests(requests, count, kept), real(count, requests, statuses),
             forget_requests(requests, count, kept));
}

/* Of the one that was done. */
static void mpi_learn_which(struct wait *wait, int at, const uint64_t *kept)
{
    const struct mpi_about about =
        at >= 0 && at < HANDLES_MAX ? find_request(kept[at]) : MPI_NOTHING;
    wait->peer = about.peer;
    wait->bytes = about.bytes;
}

MPI_OURS(Waitany, int count, void *requests, int *which, void *status)
{
    uint64_t kept[HANDLES_MAX];
    MPI_REAL(Waitany);
    MPI_WAIT(Waitany, find_requests(requests, count, kept), real(count, requests, which, status), {
        mpi_learn_which(&begun, result == 0 && *which < count ? *which : -1, kept);
        forget_requests(requests, count, kept);
    });
}

MPI_OURS(Waitsome, int count, void *requests, int *done, int *which, void *statuses)
{
    uint64_t kept[HANDLES_MAX];
    MPI_REAL(Waitsome);
    MPI_WAIT(Waitsome, find_requests(requests, count, kept),
             real(count, requests, done, which, statuses), {
                 mpi_learn_which(&begun, result == 0 && *done == 1 ? which[0] : -1, kept);
                 forget_requests(requests, count, kept);
             });
}

/* These do not wait; what they end is forgotten. */
#define MPI_ENDS(name, requests, count, parameters, ...)                                           \
    SHOWN int MPI_##name parameters;                                                               \
    int MPI_##name parameters                                                                      \
    {                                                                                              \
        uint64_t kept[HANDLES_MAX];                                                                \
        MPI_REAL(name);                                                                            \
        (void)find_requests(requests, count, kept);                                                \
        int result = real(__VA_ARGS__);                                                            \
        forget_requests(requests, count, kept);                                                    \
        return result;                                                                             \
    }
MPI_ENDS(Test, request, 1, (void *request, int *flag, void *status), request, flag, status)
MPI_ENDS(Testall, requests, count, (int count, void *requests, int *flag, void *statuses), count,
         requests, flag, statuses)
MPI_ENDS(Testany, requests, count, (int count, void *requests, int *which, int *flag, void *status),
         count, requests, which, flag, status)
MPI_ENDS(Testsome, requests, count,
         (int count, void *requests, int *done, int *which, void *statuses), count, requests, done,
         which, statuses)
MPI_ENDS(Request_free, request, 1, (void *request), request)

/* ---- collective calls ------------------------------------------------------------------------ */

MPI_OURS(Barrier, mpi_handle comm)
{
    MPI_REAL(Barrier);
    MPI_WAIT(Barrier, MPI_NOTHING, real(comm), );
}

MPI_OURS(Bcast, void *data, int count, mpi_handle type, int root, mpi_handle comm)
{
    MPI_REAL(Bcast);
    MPI_WAIT(Bcast, MPI_ABOUT(mpi_peer(root), mpi_bytes(count, type, MPI_CALLER)),
             real(data, count, type, root, comm), );
}

#define MPI_ROOTED(name, root_rank)                                                                \
    MPI_OURS(name, const void *data, int count, mpi_handle type, void *taken, int room,            \
             mpi_handle taken_type, int root, mpi_handle comm)                                     \
    {                                                                                              \
        MPI_REAL(name);                                                                            \
        MPI_WAIT(name, MPI_ABOUT(root_rank, 0),                                                    \
                 real(data, count, type, taken, room, taken_type, root, comm), );                  \
    }
/* Who has its data from the root waits for that one; the root waits for all. */
MPI_ROOTED(Scatter, mpi_peer(root))
MPI_ROOTED(Gather, -1)

#define MPI_TO_ALL(name)                                                                           \
    MPI_OURS(name, const void *data, int count, mpi_handle type, void *taken, int room,            \
             mpi_handle taken_type, mpi_handle comm)                                               \
    {                                                                                              \
        MPI_REAL(name);                                                                            \
        MPI_WAIT(name, MPI_NOTHING, real(data, count, type, taken, room, taken_type, comm), );     \
    }
MPI_TO_ALL(Allgather)
MPI_TO_ALL(Alltoall)

MPI_OURS(Reduce, const void *data, void *result_data, int count, mpi_handle type,
         mpi_handle operation, int root, mpi_handle comm)
{
    MPI_REAL(Reduce);
    MPI_WAIT(Reduce, MPI_ABOUT(-1, mpi_bytes(count, type, MPI_CALLER)),
             real(data, result_data, count, type, operation, root, comm), );
}

MPI_OURS(Allreduce, const void *data, void *result_data, int count, mpi_handle type,
         mpi_handle operation, mpi_handle comm)
{
    MPI_REAL(Allreduce);
    MPI_WAIT(Allreduce, MPI_ABOUT(-1, mpi_bytes(count, type, MPI_CALLER)),
             real(data, result_data, count, type, operation, comm), );
}
