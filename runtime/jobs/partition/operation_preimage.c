/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operation_preimage.c - the points of a space by where the value of each leads.
 *
 * A piece's values are fetched once, then each source is asked about them in
 * steps of their own; one that lies apart from all of them is passed over.
 */
#include "operation.h"

#include <stdlib.h>

struct preimage {
    struct bands_walk walk;
    struct bands_piece piece;
    size_t source; /* to be asked next; count: all have been */
    union field_values values;
    struct span boxes[FIELD_PIECE_POINTS][BANDS_LEVELS]; /* the same */
    struct span around[BANDS_LEVELS];                    /* all of them */
    struct bands_builder builders[];                     /* one of each source */
};

static bool preimage_begin(struct operation *operation)
{
    struct preimage *preimage =
        calloc(1, sizeof *preimage + operation->count * sizeof preimage->builders[0]);
    operation->progress = preimage;
    if (preimage) {
        bands_walk_begin(&preimage->walk, &operation->domain->bands);
        preimage->source = operation->count;
    }
    return preimage != NULL;
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

static void ask(struct preimage *preimage, const struct bands *source,
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
            ask(preimage, source, &preimage->builders[i]);
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
    free(preimage);
}

const struct operation_class operation_preimage = {preimage_begin, preimage_step, preimage_end};
