/* SPDX-License-Identifier: Apache-2.0 */
/* A program that uses librbwp-jobs: a copy by a channel. */
#include <rbwp_channel.h>
#include <stdio.h>

int main(void)
{
    char from[] = "copied", to[sizeof from] = "";
    struct rbwp_error error;
    struct rbwp_work_config config = {.size = sizeof config, .no_workers = true};
    struct rbwp_work_manager *manager;
    struct rbwp_channel *channel;
    struct rbwp_transfer transfer = {.size = sizeof transfer,
                                     .kind = RBWP_TRANSFER_COPY,
                                     .dimensions = 1,
                                     .element_bytes = 1,
                                     .extent = {sizeof from, 1, 1},
                                     .source = {.memory = from},
                                     .target = {.memory = to}};
    if (rbwp_work_start(&config, &manager, &error) != RBWP_OK ||
        rbwp_channel_new(manager, "consumer", -1, &channel, &error) != RBWP_OK ||
        rbwp_channel_submit(channel, &transfer, NULL, &error) != RBWP_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    rbwp_work_drain(manager);
    puts(to);
    return rbwp_channel_free(channel) != RBWP_OK || rbwp_work_stop(manager, true, NULL) != RBWP_OK;
}
