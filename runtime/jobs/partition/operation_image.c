/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operation_image.c - the points that the values of a space's points lead to, and (preimages,
 * below) the points by where their values lead.
 *
 * Values come in any order. They are clipped to the box around the domain and
 * collected; a full collection is sorted into a set, and sets of like size are
 * merged. When a source has been walked through, the one set that is left is
 * cut with the domain.
 */
#include "operation.h"

#include <stdlib.h>

enum stage { COLLECT, GATHER, CUT };

struct image {
    enum stage stage;
    size_t source; /* under way */
    struct bands_walk walk;
    bool walked; /* to its end */
    union field_values values;
    struct span boxes[2 * FIELD_PIECE_POINTS][BANDS_LEVELS];
    size_t collected; /* of boxes */
    struct bands_gather gather;
    struct bands all; /* the source's, before the cut */
    struct bands_merge cut;
};

static void begin_source(struct operation *operation)
{
    struct image *image = operation->progress;
    bands_walk_begin(&image->walk, &operation->sources[image->source]->bands);
    image->walked = false;
    image->stage = COLLECT;
}

/* False if nothing of it lies between the bounds. */
static bool clip(struct span box[BANDS_LEVELS], const struct span bounds[BANDS_LEVELS])
{
    for (unsigned d = 0; d < BANDS_LEVELS; d++) {
        if (box[d].low < bounds[d].low)
            box[d].low = bounds[d].low;
        if (box[d].high > bounds[d].high)
            box[d].high = bounds[d].high;
        if (box[d].low >= box[d].high)
            return false;
    }
    return true;
}

/* Values of neighbours often are neighbours: then they become one box at once. */
static bool operation_image_join(struct span last[BANDS_LEVELS],
                                 const struct span box[BANDS_LEVELS])
{
    for (unsigned d = 1; d < BANDS_LEVELS; d++)
        if (last[d].low != box[d].low || last[d].high != box[d].high)
            return false;
    if (box[0].low < last[0].low || box[0].low > last[0].high)
        return false;
    if (box[0].high > last[0].high)
        last[0].high = box[0].high;
    return true;
}

static void operation_image_collect(struct operation *operation, const struct bands_piece *piece)
{
    struct image *image = operation->progress;
    const struct bands *domain = &operation->domain->bands;
    if (domain->level[0].count == 0)
        return;
    field_fetch(&operation->field, piece, &image->values);
    for (size_t i = 0; i < piece->count; i++) {
        struct span *box = image->boxes[image->collected];
        field_box(&operation->field, &image->values, i, box);
        if (clip(box, domain->bounds) &&
            (image->collected == 0 ||
             !operation_image_join(image->boxes[image->collected - 1], box)))
            image->collected++;
    }
}

/* Hands the collection to the gathering. */
static void sort_collected(struct operation *operation)
{
    struct image *image = operation->progress;
    struct bands bands;
    if (!bands_of_boxes(image->boxes, image->collected, &bands))
        operation->failed = true;
    else
        bands_gather_put(&image->gather, &bands);
    image->collected = 0;
    image->stage = GATHER;
}

static void collect_step(struct operation *operation)
{
    struct image *image = operation->progress;
    struct bands_piece piece;
    if (bands_walk_next(&image->walk, FIELD_PIECE_POINTS, &piece))
        operation_image_collect(operation, &piece);
    else
        image->walked = true;
    if (image->collected > FIELD_PIECE_POINTS || (image->walked && image->collected > 0)) {
        sort_collected(operation);
    } else if (image->walked) {
        bands_gather_close(&image->gather);
        image->stage = GATHER;
    }
}

static void gather_step(struct operation *operation)
{
    struct image *image = operation->progress;
    if (bands_gather_step(&image->gather, OPERATION_STRETCHES))
        return;
    if (!image->gather.closing) {
        image->stage = COLLECT;
        return;
    }
    if (!bands_gather_finish(&image->gather, &image->all))
        operation->failed = true;
    bands_merge_begin(&image->cut, BANDS_INTERSECTION, &image->all, &operation->domain->bands);
    image->stage = CUT;
}

static void cut_step(struct operation *operation)
{
    struct image *image = operation->progress;
    if (bands_merge_step(&image->cut, OPERATION_STRETCHES))
        return;
    operation->failed |= !bands_finish(&image->cut.result, &operation->made[image->source]);
    bands_free(&image->all);
    if (++image->source < operation->count)
        begin_source(operation);
}

static bool image_step(struct operation *operation)
{
    struct image *image = operation->progress;
    switch (image->stage) {
    case COLLECT:
        collect_step(operation);
        break;
    case GATHER:
        gather_step(operation);
        break;
    case CUT:
        cut_step(operation);
        break;
    }
    return image->source < operation->count && !operation->failed;
}

static void image_end(struct operation *operation)
{
    struct image *image = operation->progress;
    bands_gather_free(&image->gather);
    bands_free(&image->all);
    bands_builder_free(&image->cut.result);
}

const struct operation_class operation_image = {sizeof(struct image), 0, begin_source, image_step,
                                                image_end};

/* ---- preimages ------------------------------------------------------------------------------- */
/*
 * The points of a space by where the value of each leads.
 *
 * A piece's values are fetched once, then each source is asked about them in
 * steps of their own; one that lies apart from all of them is passed over.
 */

struct preimage {
    struct bands_walk walk;
    struct bands_piece piece;
    size_t source; /* to be asked next; count: all have been */
    union field_values values;
    struct span boxes[FIELD_PIECE_POINTS][BANDS_LEVELS]; /* the same */
    struct span around[BANDS_LEVELS];                    /* all of them */
    struct bands_builder builders[];                     /* one of each source */
};

static void preimage_begin(struct operation *operation)
{
    struct preimage *preimage = operation->progress;
    bands_walk_begin(&preimage->walk, &operation->domain->bands);
    preimage->source = operation->count;
}

static bool fetch(struct operation *operation)
{
    struct preimage *preimage = operation->progress;
    if (!bands_walk_next(&preimage->walk, FIELD_PIECE_POINTS, &preimage->piece))
        return false;
    field_fetch(&operation->field, &preimage->piece, &preimage->values);
    for (size_t i = 0; i < preimage->piece.count; i++) {
        struct span *box = preimage->boxes[i];
        field_box(&operation->field, &preimage->values, i, box);
        for (unsigned d = 0; d < BANDS_LEVELS; d++) {
            if (i == 0 || box[d].low < preimage->around[d].low)
                preimage->around[d].low = box[d].low;
            if (i == 0 || box[d].high > preimage->around[d].high)
                preimage->around[d].high = box[d].high;
        }
    }
    preimage->source = 0;
    return true;
}

static bool is_apart(const struct span a[BANDS_LEVELS], const struct span b[BANDS_LEVELS])
{
    for (unsigned d = 0; d < BANDS_LEVELS; d++)
        if (a[d].high <= b[d].low || b[d].high <= a[d].low)
            return true;
    return false;
}

static void operation_image_ask(struct preimage *preimage, const struct bands *source,
                                struct bands_builder *builder)
{
    const struct bands_piece *piece = &preimage->piece;
    const int64_t x = piece->point[0], y = piece->point[1], z = piece->point[2];
    for (size_t begin = 0; begin < piece->count; begin++) {
        size_t end = begin;
        while (end < piece->count && bands_meet(source, preimage->boxes[end]))
            end++;
        if (end == begin)
            continue;
        const struct span box[BANDS_LEVELS] = {
            {x + (int64_t)begin, x + (int64_t)end}, {y, y + 1}, {z, z + 1}};
        bands_put(builder, box);
        begin = end; /* which is known not to */
    }
}

static bool preimage_finish(struct operation *operation)
{
    struct preimage *preimage = operation->progress;
    for (size_t i = 0; i < operation->count; i++)
        operation->failed |= !bands_finish(&preimage->builders[i], &operation->made[i]);
    return false;
}

static bool preimage_step(struct operation *operation)
{
    struct preimage *preimage = operation->progress;
    if (preimage->source == operation->count && !fetch(operation))
        return preimage_finish(operation);
    /* Many that lie apart are passed over in one step. */
    for (unsigned looked = 0; looked < OPERATION_STRETCHES; looked++) {
        if (preimage->source == operation->count)
            return true;
        const size_t i = preimage->source++;
        const struct bands *source = &operation->sources[i]->bands;
        if (source->level[0].count > 0 && !is_apart(source->bounds, preimage->around)) {
            operation_image_ask(preimage, source, &preimage->builders[i]);
            return true;
        }
    }
    return true;
}

static void preimage_end(struct operation *operation)
{
    struct preimage *preimage = operation->progress;
    for (size_t i = 0; i < operation->count; i++)
        bands_builder_free(&preimage->builders[i]);
}

const struct operation_class operation_preimage = {sizeof(struct preimage),
                                                   sizeof(struct bands_builder), preimage_begin,
                                                   preimage_step, preimage_end};
