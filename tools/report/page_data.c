/* SPDX-License-Identifier: Apache-2.0 */
/* Packs data for the page. */
#include "page_data.h"

#include "message.h"
#include "temporary_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* False with the message given. */
static bool page_data_start(struct page_data *data, struct out *out)
{
    *data = (struct page_data){.out = out};
    if (deflateInit2(&data->stream, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) == Z_OK)
        return true;
    return message_fail("out of memory");
}

bool page_data_pack(struct page_data *data, const void *bytes, size_t count)
{
    size_t bound = deflateBound(&data->stream, (uLong)count);
    data->packed.count = 0;
    if (!buffer_reserve(&data->packed, bound) || count > UINT_MAX || bound > UINT_MAX)
        return message_fail("out of memory; the report is not whole");
    data->stream.next_in = (z_const Bytef *)(uintptr_t)bytes;
    data->stream.avail_in = (uInt)count;
    data->stream.next_out = data->packed.bytes;
    data->stream.avail_out = (uInt)bound;
    int result = deflate(&data->stream, Z_FINISH);
    data->packed.count = bound - data->stream.avail_out;
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
    const struct buffer *packed = &data->packed;
    for (size_t at = 0; at < packed->count; at += PIECE) {
        size_t count = packed->count - at < PIECE ? packed->count - at : PIECE;
        char *to = out_room(data->out, PIECE / 3 * 4);
        out_end(data->out, put_base64(to, packed->bytes + at, count));
    }
    return (packed->count + 2) / 3 * 4;
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
                       const struct buffer *bytes)
{
    if (bytes->failed)
        message("out of memory; the report is not whole");
    if (bytes->failed || !page_data_pack(data, bytes->bytes, bytes->count))
        return false;
    page_data_open(data, id, number);
    page_data_put(data);
    page_data_close(data);
    return true;
}

/* The data stand before the script, so that all of them are there when it runs. */

static bool read_back(int fd, struct buffer *bytes)
{
    off_t size = lseek(fd, 0, SEEK_END);
    uint8_t *at = size < 0 ? NULL : buffer_reserve(bytes, (size_t)size);
    if (!at)
        return false;
    while (bytes->count < (size_t)size) {
        ssize_t count = pread(fd, bytes->bytes + bytes->count, (size_t)size - bytes->count,
                              (off_t)bytes->count);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return false;
        bytes->count += (size_t)count;
    }
    return true;
}

/* JSON goes through a temporary file, since a struct out ends in a descriptor. */
bool page_frame_json(struct page_data *data, void (*write)(const void *context, struct out *out),
                     const void *context)
{
    struct out out = {.fd = temporary_file(), .buffer = malloc(OUT_BUFFER_BYTES)};
    struct buffer bytes = {0};
    bool good = false;
    if (out.fd >= 0 && out.buffer) {
        write(context, &out);
        out_flush(&out);
        good = !out_failed(&out) && read_back(out.fd, &bytes) &&
               page_data_element(data, "data", 0, &bytes);
    }
    if (!good)
        message("the report's tables cannot be written: %s",
                out.os_errno ? strerror(out.os_errno) : "no memory or no temporary file");
    buffer_free(&bytes);
    free(out.buffer);
    if (out.fd >= 0)
        close(out.fd);
    return good;
}

bool page_frame(struct out *out, bool (*write_data)(void *context, struct page_data *data),
                void *context, struct page_script page)
{
    struct page_data data;
    if (!page_data_start(&data, out))
        return false;
    out_bytes(out, page_html_head, page_html_head_bytes);
    out_text(out, "<style>\n");
    out_bytes(out, page_css, page_css_bytes);
    out_text(out, "</style>\n</head>\n");
    out_bytes(out, page.html, page.html_bytes);
    bool good = write_data(context, &data);
    out_text(out, "<script>\n");
    out_bytes(out, page.js, page.js_bytes);
    out_text(out, "</script>\n</body>\n</html>\n");
    deflateEnd(&data.stream);
    buffer_free(&data.packed);
    return good;
}
