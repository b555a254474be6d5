/* SPDX-License-Identifier: Apache-2.0 */
/* The data stand before the script, so that all of them are there when it runs. */
#include "page_frame.h"

#include "message.h"
#include "page_text.h"
#include "temporary_file.h"

#include <errno.h>
#include <unistd.h>

static bool read_back(int fd, struct byte_buffer *bytes)
{
    off_t size = lseek(fd, 0, SEEK_END);
    uint8_t *at = size < 0 ? NULL : buffer_room(bytes, (size_t)size);
    if (!at)
        return false;
    while (bytes->used < (size_t)size) {
        ssize_t count =
            pread(fd, bytes->bytes + bytes->used, (size_t)size - bytes->used, (off_t)bytes->used);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return false;
        bytes->used += (size_t)count;
    }
    return true;
}

/* JSON goes through a temporary file, since a struct out ends in a descriptor. */
bool page_frame_json(struct page_data *data, void (*write)(const void *context, struct out *out),
                     const void *context)
{
    struct out out = {.fd = temporary_file(), .buffer = malloc(OUT_BUFFER_BYTES)};
    struct byte_buffer bytes = {0};
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
    page_data_stop(&data);
    return good;
}
