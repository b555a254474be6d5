/* SPDX-License-Identifier: Apache-2.0 */
/* record.c - see record_bytes.h; the public iterator over a block that was found valid. */
#include "record_bytes.h"

#include "rbwp_reader.h"

const uint8_t record_body_bytes[256] = {
    [RBWP_COARSE_BEGIN] = 2, [RBWP_COARSE_END] = 1, [RBWP_FINE_BEGIN] = 3,
    [RBWP_FINE_END] = 1,     [RBWP_GPU_WORK] = 26,
};

void rbwp_record_first(const struct rbwp_block *block, struct rbwp_record_iterator *iterator_out)
{
    *iterator_out = (struct rbwp_record_iterator){
        .data = block->data,
        .next = 0,
        .end = block->header.records ? block->header.data_bytes : 0,
        .time_ns = 0,
    };
}

bool rbwp_record_next(struct rbwp_record_iterator *iterator, struct rbwp_record *record_out)
{
    uint32_t left = iterator->end - iterator->next;
    if (left == 0)
        return false;
    struct record_tail tail;
    const uint8_t *bytes = iterator->data + iterator->next;
    if (left < RBWP_RECORD_BYTES_MAX)
        bytes = record_pad(&tail, bytes, left);

    /* Written where it stays: what is copied right behind its being written waits for that. */
    struct rbwp_record *record = record_out;
    uint32_t time_bytes = record_time(bytes, &iterator->time_ns);
    const uint8_t *body = bytes + time_bytes;
    *record = (struct rbwp_record){.kind = body[0],
                                   .time_bytes = (uint8_t)time_bytes,
                                   .offset = iterator->next,
                                   .time_ns = iterator->time_ns};
    switch (body[0]) {
    case RBWP_COARSE_BEGIN:
        record->slot = body[1];
        break;
    case RBWP_FINE_BEGIN:
        record->sub_item = load_le16(body + 1);
        break;
    case RBWP_GPU_WORK:
        record->proc_id = load_le64(body + 1);
        record->slot = body[9];
        record->start_ns = load_le_i64(body + 10);
        record->stop_ns = load_le_i64(body + 18);
        break;
    }
    iterator->next += time_bytes + record_body_bytes[body[0]];
    return true;
}
