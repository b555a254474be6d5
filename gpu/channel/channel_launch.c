/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_launch.c - puts a planned transfer on a stream, a launch at a time.
 *
 * Everything goes to one stream, so that scratch memory is safe without
 * waiting: who writes it next comes behind who reads it.
 */
#include "channel_launch.h"

#include "gpu_backend.h"

#include <pthread.h>
#include <stdlib.h>

/* ---- the transfer kernels, loaded once per context ------------------------------------------- */
/*
 * Channels of a context share the loaded code. CUDA takes the PTX that travels
 * with the library, since users have no compiler; HIP and OpenCL compile the
 * source, whose compilers come with their drivers.
 */

static const char *const names[CHANNEL_KERNELS] = {
    "rbwp_copy_1",      "rbwp_copy_2",       "rbwp_copy_4",      "rbwp_copy_8",
    "rbwp_copy_16",     "rbwp_transpose_1",  "rbwp_transpose_2", "rbwp_transpose_4",
    "rbwp_transpose_8", "rbwp_transpose_16", "rbwp_reduce_i32",  "rbwp_reduce_i64",
    "rbwp_reduce_u32",  "rbwp_reduce_u64",   "rbwp_reduce_f32",  "rbwp_reduce_f64",
    "rbwp_fold_i32",    "rbwp_fold_i64",     "rbwp_fold_u32",    "rbwp_fold_u64",
    "rbwp_fold_f32",    "rbwp_fold_f64",
};

/* Held while code is compiled, so that it is compiled once; the drivers' own locks inside. */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct channel_code *list; /* guarded by list_lock */

static enum rbwp_status channel_launch_load(struct channel_code *code, struct rbwp_error *error)
{
    struct gpu_context *context = code->context;
    const struct gpu_code_text text = {
        .name = "transfer.cl",
        .source = channel_code_source,
        .ptx = code->compiled ? NULL : channel_code_ptx,
    };
    const enum rbwp_status status =
        context->backend->module_load(context, &text, &code->module, error);
    if (status != RBWP_OK)
        return status;
    for (unsigned i = 0; i < CHANNEL_KERNELS; i++)
        if (context->backend->kernel_get(code->module, names[i], &code->kernel[i]) != GPU_OK)
            code->kernel[i] = NULL;
    return RBWP_OK;
}

enum rbwp_status channel_code_acquire(struct gpu_context *context, bool from_source,
                                      struct channel_code **code_out, struct rbwp_error *error)
{
    enum rbwp_status status = RBWP_OK;
    *code_out = NULL;
    pthread_mutex_lock(&list_lock);
    struct channel_code *code = list;
    while (code && (code->context != context || code->compiled != from_source))
        code = code->next;
    if (!code) {
        code = calloc(1, sizeof *code);
        if (!code) {
            status = gpu_failure(error, RBWP_E_MEMORY, "no memory for the transfer kernels");
        } else {
            code->context = context;
            code->compiled = from_source;
            status = channel_launch_load(code, error);
        }
        if (status == RBWP_OK) {
            code->next = list;
            list = code;
        }
    }
    if (status == RBWP_OK) {
        code->references++;
        *code_out = code;
    } else {
        free(code);
    }
    pthread_mutex_unlock(&list_lock);
    return status;
}

void channel_code_release(struct channel_code *code, bool in_use)
{
    if (!code)
        return;
    pthread_mutex_lock(&list_lock);
    const bool last = --code->references == 0;
    for (struct channel_code **link = &list; last && *link; link = &(*link)->next)
        if (*link == code) {
            *link = code->next;
            break;
        }
    pthread_mutex_unlock(&list_lock);
    if (!last)
        return;
    if (!in_use)
        code->context->backend->module_unload(code->module);
    free(code);
}

/* ---- channel launch -------------------------------------------------------------------------- */

static u64 indices_per_launch(const struct channel_stage *stage)
{
    const u64 indices = CHANNEL_LAUNCH_BYTES / stage->index_bytes;
    return indices == 0 ? 1 : indices;
}

bool channel_flight_is_single(const struct channel_flight *flight)
{
    const struct channel_plan *plan = &flight->plan;
    return plan->stages == 1 && !plan->stage[0].from_scratch &&
           plan->stage[0].piece.count <= indices_per_launch(&plan->stage[0]);
}

bool channel_flight_joins(const struct channel_flight *a, const struct channel_flight *b)
{
    return channel_flight_is_single(b) && a->plan.stage[0].kernel == b->plan.stage[0].kernel &&
           a->plan.op == b->plan.op && a->source.memory.native == b->source.memory.native &&
           a->target.memory.native == b->target.memory.native;
}

/* ---- kernels ------------------------------------------------------------------- */

static u32 blocks_for(const struct channel_target *to, const struct channel_stage *stage, u64 count)
{
    const u64 indices = TRANSFER_THREADS / stage->threads_per_index; /* of a block at a time */
    const u64 blocks = count / indices + (count % indices != 0);
    return blocks < to->blocks_max ? (u32)blocks : to->blocks_max;
}

static void set_piece(struct transfer_piece *piece, const struct channel_flight *flight,
                      const struct channel_stage *stage, u64 first, u64 count)
{
    *piece = stage->piece;
    piece->source_offset = stage->from_scratch ? 0 : (i64)flight->source.offset_bytes;
    piece->target_offset = stage->to_scratch ? 0 : (i64)flight->target.offset_bytes;
    piece->first = first;
    piece->count = count;
}

/* One bracketed launch of the pieces that are set. */
static int launch(struct channel_target *to, const struct channel_flight *flight,
                  const struct channel_stage *stage, const struct transfer_launch *what, u32 pieces)
{
    const struct gpu_memory *source = stage->from_scratch ? &to->scratch : &flight->source.memory;
    const struct gpu_memory *target = stage->to_scratch ? &to->scratch : &flight->target.memory;
    const struct gpu_arg args[] = {{&target->native, sizeof target->native},
                                   {&source->native, sizeof source->native},
                                   {what, sizeof *what}};
    const struct gpu_launch how = {
        .grid = {what->blocks, pieces, 1},
        .block = {TRANSFER_THREADS, 1, 1},
        .arg_count = sizeof args / sizeof args[0],
        .args = args,
    };
    struct rbwp_gpu_bracket bracket;
    rbwp_gpu_bracket_begin(&bracket, to->stream, to->slot);
    const int code =
        to->context->backend->launch(to->code->kernel[stage->kernel], &how, to->native_stream);
    if (code != GPU_OK) {
        rbwp_gpu_bracket_cancel(&bracket);
        return code;
    }
    rbwp_gpu_bracket_end(&bracket);
    atomic_fetch_add_explicit(&to->kernels, 1, memory_order_relaxed);
    return GPU_OK;
}

int channel_flights_launch(struct channel_target *to, struct channel_flight *const *flights,
                           unsigned count)
{
    const struct channel_stage *stage = &flights[0]->plan.stage[0];
    struct transfer_launch what = {.op = flights[0]->plan.op};
    for (unsigned i = 0; i < count; i++) {
        const struct channel_stage *own = &flights[i]->plan.stage[0];
        const u32 blocks = blocks_for(to, own, own->piece.count);
        what.blocks = blocks > what.blocks ? blocks : what.blocks;
        set_piece(&what.piece[i], flights[i], own, 0, own->piece.count);
    }
    return launch(to, flights[0], stage, &what, count);
}

static int channel_launch_launch_part(struct channel_target *to, struct channel_flight *flight,
                                      uint64_t *bytes)
{
    const struct channel_stage *stage = &flight->plan.stage[flight->stage];
    const u64 left = stage->piece.count - flight->next, most = indices_per_launch(stage);
    const u64 count = left < most ? left : most;
    struct transfer_launch what = {.op = flight->plan.op, .blocks = blocks_for(to, stage, count)};
    set_piece(&what.piece[0], flight, stage, flight->next, count);
    const int code = launch(to, flight, stage, &what, 1);
    *bytes = count * stage->index_bytes;
    flight->next += count;
    if (flight->next == stage->piece.count) {
        flight->stage++;
        flight->next = 0;
    }
    return code;
}

/* ---- the copy engine ----------------------------------------------------------------- */

static int copy(struct channel_target *to, const struct gpu_copy *what)
{
    atomic_fetch_add_explicit(&to->copies, 1, memory_order_relaxed);
    return gpu_copy(to->context, what, to->native_stream);
}

/* The element of a fill goes into scratch, where the kernel reads it. */
static int upload_fill(struct channel_target *to, const struct channel_flight *flight)
{
    const struct gpu_copy what = {
        .dst = {.device = &to->scratch},
        .src = {.host = flight->fill},
        .width_bytes = flight->plan.fill_bytes,
        .height = 1,
        .depth = 1,
    };
    return copy(to, &what);
}

static void set_side(struct gpu_copy_side *side, const struct channel_place *place, i64 offset)
{
    if (place->memory.native) {
        side->device = &place->memory;
        side->context = place->peer;
        side->offset_bytes = place->offset_bytes + (u64)offset;
    } else {
        side->host = place->host + offset;
    }
}

/* Between two devices: a bracket says how long that took. */
static int copy_between(struct channel_target *to, const struct gpu_copy *what)
{
    struct rbwp_gpu_bracket bracket;
    rbwp_gpu_bracket_begin(&bracket, to->stream, to->slot);
    const int code = copy(to, what);
    if (code != GPU_OK) {
        rbwp_gpu_bracket_cancel(&bracket);
        return code;
    }
    rbwp_gpu_bracket_end(&bracket);
    atomic_fetch_add_explicit(&to->peers, 1, memory_order_relaxed);
    return GPU_OK;
}

static int channel_launch_copy_part(struct channel_target *to, struct channel_flight *flight,
                                    uint64_t *bytes)
{
    struct gpu_copy what;
    i64 source, target;
    channel_plan_engine_call(&flight->plan, flight->next++, &source, &target, &what);
    set_side(&what.src, &flight->source, source);
    set_side(&what.dst, &flight->target, target);
    *bytes = what.width_bytes * what.height * what.depth;
    return flight->plan.way == CHANNEL_WAY_PEER ? copy_between(to, &what) : copy(to, &what);
}

/* ---- both -------------------------------------------------------------------------------- */

enum rbwp_status channel_flight_step(struct channel_target *to, struct channel_flight *flight,
                                     int *code_out, uint64_t *bytes_out)
{
    const struct channel_plan *plan = &flight->plan;
    const bool engine = channel_plan_is_engine(plan);
    *code_out = GPU_OK;
    *bytes_out = 0;
    if (plan->way == CHANNEL_WAY_NOTHING)
        return RBWP_OK;
    if (plan->way == CHANNEL_WAY_FILL && flight->next == 0)
        *code_out = upload_fill(to, flight);
    if (*code_out == GPU_OK)
        *code_out = engine ? channel_launch_copy_part(to, flight, bytes_out)
                           : channel_launch_launch_part(to, flight, bytes_out);
    if (*code_out != GPU_OK)
        return RBWP_E_IO;
    const bool ended = engine ? flight->next == plan->engine_calls : flight->stage == plan->stages;
    return ended ? RBWP_OK : RBWP_AGAIN;
}
