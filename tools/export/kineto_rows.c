/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where spans stand: a GPU is a process of its number, a stream a thread of its own.
 *
 * Work that overlaps with other work of its stream gets a further thread, and so
 * do annotations that overlap with others in part: viewers drop such spans.
 */
#include "kineto_json.h"
#include "trace_span.h"

#include <inttypes.h>

enum { OVERLAPS_MAX = 16, ANNOTATIONS = OVERLAPS_MAX, FIRST_GPU_INDEX = 5000000 };

/* ---- tracks ---------------------------------------------------------------------- */

static bool has_kind(const struct trace *trace, uint32_t track, enum trace_track_kind kind)
{
    return track != TRACE_NONE && trace_track_of(trace, track)->kind == kind;
}

bool kineto_is_gpu(const struct trace *trace, const struct trace_track *track)
{
    return track->kind == TRACE_GPU ||
           (track->kind == TRACE_STREAM && has_kind(trace, track->parent, TRACE_GPU));
}

/* Named ranges stand on their thread, as far as they nest. */
static bool is_ranges(const struct trace *trace, const struct trace_track *track)
{
    return track->kind == TRACE_TABLE && has_kind(trace, track->parent, TRACE_THREAD) &&
           trace_text_is(track->name, "ranges");
}

bool kineto_has_row(const struct chrome *chrome, const struct trace_track *track, uint32_t lane)
{
    const struct trace *trace = chrome->pass->trace;
    return !kineto_is_gpu(trace, track) && (lane > 0 || !is_ranges(trace, track));
}

/* ---- metadata -------------------------------------------------------------------- */

static void write_gpu(struct chrome *chrome, const struct kineto_gpu *gpu, uint32_t process)
{
    struct out *out = &chrome->pass->out;
    chrome_begin_metadata(chrome, "process_name", gpu->pid, 0);
    chrome_text(chrome, "name", trace_process_of(chrome->pass->trace, process)->name);
    out_text(out, "}}");
    chrome_begin_metadata(chrome, "process_labels", gpu->pid, 0);
    out_format(out, "\"labels\":\"GPU %" PRIu32 "\"}}", gpu->device);
    chrome_sort_index(chrome, "process_sort_index", gpu->pid, 0,
                      (uint64_t)FIRST_GPU_INDEX + gpu->device);
}

static void write_place(struct chrome *chrome, const struct kineto_place *place, uint64_t stream,
                        uint32_t overlap, uint32_t works)
{
    struct out *out = &chrome->pass->out;
    chrome_begin_metadata(chrome, "thread_name", place->pid, place->tid);
    out_format(out, "\"name\":\"stream %" PRIu64 " ", stream);
    if (overlap >= ANNOTATIONS)
        out_format(out, "ranges / %" PRIu32, overlap - ANNOTATIONS);
    else if (overlap)
        out_format(out, "/ %" PRIu32, overlap);
    out_format(out, "\",\"rbwp_works\":%" PRIu32 "}}", works);
    chrome_sort_index(chrome, "thread_sort_index", place->pid, place->tid,
                      stream < INT32_MAX ? stream : INT32_MAX);
}

/* ---- GPUs and streams ------------------------------------------------------------ */

/* Of a file of Kineto's own, where each stream is a GPU's track of its name. */
static bool is_stream_of_process(const struct trace_track *track)
{
    return track->kind == TRACE_GPU && track->name.bytes > 7 &&
           memcmp(track->name.text, "stream ", 7) == 0;
}

/* Its work says which GPU it is of, or its process' name does, which ends in "(GPU 1)"; else GPUs
 * are counted. */
static uint32_t device_of(const struct chrome *chrome, const struct trace_track *track,
                          const struct kineto_facts *facts, uint32_t number)
{
    const char *before = "(GPU ";
    struct trace_text name = trace_process_of(chrome->pass->trace, track->process)->name;
    const char *at = memmem(name.text, name.bytes, before, strlen(before));
    if (facts->has >> KINETO_DEVICE & 1 && facts->value[KINETO_DEVICE] < UINT16_MAX)
        return (uint32_t)facts->value[KINETO_DEVICE];
    uint32_t device = 0, digits = 0;
    const char *end = name.text + name.bytes;
    for (at = at ? at + strlen(before) : end; at < end && *at >= '0' && *at <= '9'; at++, digits++)
        device = (device * 10 + (uint32_t)(*at - '0')) % UINT16_MAX;
    return digits && is_stream_of_process(track) ? device : number;
}

static struct kineto_gpu *gpu_of(struct chrome *chrome, const struct trace_track *track,
                                 const struct kineto_facts *facts)
{
    struct kineto *kineto = chrome->kineto;
    bool of_process = is_stream_of_process(track);
    uint64_t key = of_process                    ? UINT64_C(1) << 32 | track->process
                   : track->kind == TRACE_STREAM ? track->parent
                                                 : track->number;
    uint32_t known = kineto->gpu_map.count;
    uint32_t number = thread_map_place(&kineto->gpu_map, key, &kineto->gpus, &kineto->gpu_room,
                                       sizeof *kineto->gpus);
    if (number == THREAD_NONE) {
        trace_pass_fail(chrome->pass);
        return NULL;
    }
    struct kineto_gpu *gpu = &kineto->gpus[number];
    if (number < known)
        return gpu;
    gpu->device = device_of(chrome, track, facts, number);
    bool is_pid =
        of_process && trace_process_of(chrome->pass->trace, track->process)->os_id == gpu->device;
    gpu->pid = is_pid && gpu->device ? chrome->pids[track->process]
                                     : viewer_block_pid(&chrome->ids, gpu->device);
    write_gpu(chrome, gpu, track->process);
    return gpu;
}

static uint64_t stream_of(const struct trace_track *track, const struct kineto_facts *facts)
{
    if (facts->has >> KINETO_STREAM & 1)
        return facts->value[KINETO_STREAM];
    return track->kind == TRACE_STREAM || is_stream_of_process(track) ? track->id : 0;
}

static struct kineto_place *place_at(struct chrome *chrome, const struct kineto_gpu *gpu,
                                     uint64_t stream, uint32_t overlap, uint32_t works)
{
    struct kineto *kineto = chrome->kineto;
    const uint64_t words[] = {gpu->pid, stream, overlap};
    uint64_t key = text_hash(TEXT_HASH_FIRST, words, sizeof words);
    uint32_t number = thread_map_place(&kineto->place_map, key, &kineto->places,
                                       &kineto->place_room, sizeof *kineto->places);
    if (number == THREAD_NONE) {
        trace_pass_fail(chrome->pass);
        return NULL;
    }
    struct kineto_place *place = &kineto->places[number];
    if (place->is_written)
        return place;
    *place = (struct kineto_place){
        .pid = gpu->pid, .is_written = true, .works = works, .last_ns = INT64_MIN};
    bool as_it_is = overlap == 0 && stream < INT32_MAX;
    place->tid = as_it_is ? (uint32_t)stream : viewer_tid(&chrome->ids, 0);
    write_place(chrome, place, stream, overlap, works);
    return place;
}

/* The first thread of the stream that is free. */
static struct kineto_place *find_place(struct chrome *chrome, const struct trace_span *span,
                                       const struct kineto_gpu *gpu, uint64_t stream,
                                       uint32_t works)
{
    if (span->category == TRACE_ANNOTATION)
        return place_at(chrome, gpu, stream, span->row ? ANNOTATIONS + span->row : 0, works);
    struct kineto_place *place = NULL;
    for (uint32_t overlap = 0; overlap < OVERLAPS_MAX; overlap++) {
        place = place_at(chrome, gpu, stream, overlap, works);
        if (!place || place->last_ns <= span->start_ns || span->flags & TRACE_INSTANT)
            break;
    }
    if (place && span->stop_ns > place->last_ns)
        place->last_ns = span->stop_ns;
    return place;
}

static struct kineto_place gpu_place(struct chrome *chrome, const struct trace_span *span,
                                     struct kineto_facts *facts)
{
    const struct trace_track *track = trace_track_of(chrome->pass->trace, span->track);
    bool of_stream = span->category == TRACE_ANNOTATION && track->kind == TRACE_STREAM;
    uint32_t works = of_stream ? track->parent : span->track;
    (void)chrome_tid(chrome, span->track, 0);
    const struct kineto_gpu *gpu = gpu_of(chrome, track, facts);
    if (!gpu)
        return (struct kineto_place){0};
    uint64_t stream = stream_of(track, facts);
    if (facts->made >> KINETO_DEVICE & 1)
        facts->value[KINETO_DEVICE] = gpu->device;
    if (facts->made >> KINETO_STREAM & 1)
        facts->value[KINETO_STREAM] = stream;
    const struct kineto_place *place = find_place(chrome, span, gpu, stream, works);
    if (!place)
        return (struct kineto_place){0};
    facts->works = place->works;
    return *place;
}

struct kineto_place kineto_place_of(struct chrome *chrome, const struct trace_span *span,
                                    struct kineto_facts *facts)
{
    const struct trace *trace = chrome->pass->trace;
    const struct trace_track *track = trace_track_of(trace, span->track);
    if (facts->on_gpu)
        return gpu_place(chrome, span, facts);
    uint32_t tid = chrome_tid(chrome, span->track, span->row);
    facts->works = span->track;
    if (span->row == 0 && is_ranges(trace, track)) {
        facts->works = track->parent;
        tid = chrome_tid(chrome, track->parent, 0);
    }
    return (struct kineto_place){.pid = chrome->rows[span->track].pid, .tid = tid};
}

struct kineto_place kineto_place_of_track(struct chrome *chrome, uint32_t number)
{
    const struct trace *trace = chrome->pass->trace;
    const struct trace_track *track = trace_track_of(trace, number);
    const struct kineto_facts none = {0};
    if (is_ranges(trace, track))
        number = track->parent;
    if (!kineto_is_gpu(trace, track))
        return (struct kineto_place){.pid = chrome->rows[number].pid,
                                     .tid = chrome_tid(chrome, number, 0)};
    (void)chrome_tid(chrome, number, 0);
    const struct kineto_gpu *gpu = gpu_of(chrome, track, &none);
    const struct kineto_place *place =
        gpu ? place_at(chrome, gpu, stream_of(track, &none), 0, number) : NULL;
    return place ? *place : (struct kineto_place){0};
}
