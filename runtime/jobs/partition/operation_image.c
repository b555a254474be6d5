/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operation_image.c - the points that the values of a space's points lead to.
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

static bool image_begin(struct operation *operation)
{
    operation->progress = calloc(1, sizeof(struct image));
    if (operation->progress)
        begin_source(operation);
    return operation->progress != NULL;
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
static bool join(struct span last[BANDS_LEVELS], const struct span box[BANDS_LEVELS])
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

static void collect(struct operation *operation, const struct bands_piece *piece)
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
            (image->collected == 0 || !join(image->boxes[image->collected - 1], box)))
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
        collect(operation, &piece);
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
    free(image);
}

const struct operation_class operation_image = {image_begin, image_step, image_end};
