/* SPDX-License-Identifier: Apache-2.0 */
/* Packs data for the page. */
#include "page_data.h"
#include "message.h"

#include <inttypes.h>

bool page_data_start(struct page_data *data, struct out *out)
{
    *data = (struct page_data){.out = out};
    if (deflateInit2(&data->stream, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) == Z_OK)
        return true;
    message("out of memory");
    return false;
}

void page_data_stop(struct page_data *data)
{
    deflateEnd(&data->stream);
    buffer_free(&data->packed);
}

bool page_data_pack(struct page_data *data, const void *bytes, size_t count)
{
    size_t bound = deflateBound(&data->stream, (uLong)count);
    data->packed.used = 0;
    if (!buffer_room(&data->packed, bound) || count > UINT_MAX || bound > UINT_MAX) {
        message("out of memory; the report is not whole");
        return false;
    }
    data->stream.next_in = (z_const Bytef *)(uintptr_t)bytes;
    data->stream.avail_in = (uInt)count;
    data->stream.next_out = data->packed.bytes;
    data->stream.avail_out = (uInt)bound;
    int result = deflate(&data->stream, Z_FINISH);
    data->packed.used = bound - data->stream.avail_out;
    return deflateReset(&data->stream) == Z_OK && result == Z_STREAM_END;
}

static char *put_base64(char *to, const uint8_t *from, size_t count)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (; count >= 3; count -= 3, from += 3) {
        uint32_t bits = (uint32_t)from[0] << 16 | (uint32_t)from[1] << 8 | from[2];
        *to++ = digits[bits >> 18];
        *to++ = digits[bits >> 12 & 63];
        *to++ = digits[bits >> 6 & 63];
        *to++ = digits[bits & 63];
    }
    if (count > 0) {
        uint32_t bits = (uint32_t)from[0] << 16 | (count > 1 ? (uint32_t)from[1] << 8 : 0);
        *to++ = digits[bits >> 18];
        *to++ = digits[bits >> 12 & 63];
        *to++ = count > 1 ? digits[bits >> 6 & 63] : '=';
        *to++ = '=';
    }
    return to;
}

size_t page_data_put(struct page_data *data)
{
    enum { PIECE = 48 << 10 }; /* a multiple of 3 */
    const struct byte_buffer *packed = &data->packed;
    for (size_t at = 0; at < packed->used; at += PIECE) {
        size_t count = packed->used - at < PIECE ? packed->used - at : PIECE;
        char *to = out_room(data->out, PIECE / 3 * 4);
        out_end(data->out, put_base64(to, packed->bytes + at, count));
    }
    return (packed->used + 2) / 3 * 4;
}

void page_data_open(struct page_data *data, const char *id, uint64_t number)
{
    out_format(data->out, "<script type=\"application/octet-stream\" id=\"%s%" PRIu64 "\">", id,
               number);
}

void page_data_close(struct page_data *data)
{
    out_text(data->out, "</script>\n");
}

bool page_data_element(struct page_data *data, const char *id, uint64_t number,
                       const struct byte_buffer *bytes)
{
    if (bytes->failed)
        message("out of memory; the report is not whole");
    if (bytes->failed || !page_data_pack(data, bytes->bytes, bytes->used))
        return false;
    page_data_open(data, id, number);
    page_data_put(data);
    page_data_close(data);
    return true;
}
