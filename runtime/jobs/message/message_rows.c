/* SPDX-License-Identifier: Apache-2.0 */
#include "message_endpoint.h"

#include "known_tables.h"
#include "record_extend.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define KEY_COUNT_BITS 40

static const struct rbwp_schema sent_schema = KNOWN_SCHEMA(message_sent);
static const struct rbwp_schema handled_schema = KNOWN_SCHEMA(message_handled);

/* ---- labels ----------------------------------------------------------------- */

/* Ids of sub-items are scarce and never come back: one a name, as long as the process lives. */
struct known_label {
    struct known_label *next;
    struct message_label label;
    char name[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct known_label *labels;
static bool tables_are_known;
static unsigned sent_table, handled_table;

/* Locked. */
static enum rbwp_status know_tables(void)
{
    if (tables_are_known)
        return RBWP_OK;
    enum rbwp_status status = rbwp_extend_row_register(&sent_schema, &sent_table);
    if (status == RBWP_OK)
        status = rbwp_extend_row_register(&handled_schema, &handled_table);
    tables_are_known = status == RBWP_OK;
    return status;
}

/* Locked. */
static enum rbwp_status make_label(const char *name, struct message_label *label_out)
{
    size_t bytes = strlen(name);
    struct known_label *made = malloc(sizeof *made + bytes + 1);
    if (!made)
        return RBWP_E_MEMORY;
    memcpy(made->name, name, bytes + 1);
    enum rbwp_status status = rbwp_name_intern(name, bytes, &made->label.name);
    if (status == RBWP_OK)
        status = rbwp_sub_item_register(RBWP_AM_HANDLER, name, &made->label.sub_item);
    if (status != RBWP_OK) {
        free(made);
        return status;
    }
    made->next = labels;
    labels = made;
    *label_out = made->label;
    return RBWP_OK;
}

enum rbwp_status message_label_find(const char *name, struct message_label *label_out)
{
    pthread_mutex_lock(&lock);
    enum rbwp_status status = know_tables();
    const struct known_label *known = labels;
    while (known && strcmp(known->name, name) != 0)
        known = known->next;
    if (known)
        *label_out = known->label;
    else if (status == RBWP_OK)
        status = make_label(name, label_out);
    pthread_mutex_unlock(&lock);
    return status;
}

/* ---- keys and rows ------------------------------------------------------------ */

uint64_t message_key_new(uint32_t node)
{
    /* Of the process: several of its endpoints may be the same node, each of its own job. */
    static _Atomic uint64_t count = 1;
    const uint64_t number = atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
    return (uint64_t)node << KEY_COUNT_BITS | (number & ((UINT64_C(1) << KEY_COUNT_BITS) - 1));
}

/* Room for a row of the calling thread, between which and its commit the recorder is entered. */
static bool row_begin(unsigned table, struct held_row *held, uint64_t *thread_out)
{
    struct rbwp_self_ *self = &rbwp_self_;
    if (!self->thread && rbwp_thread_attach(NULL) != RBWP_OK)
        return false;
    *thread_out = rbwp_extend_thread();
    if (!rbwp_enter_(self, 2))
        return false;
    if (rbwp_extend_row_hold(table, held))
        return true;
    rbwp_leave_(self);
    return false;
}

static void row_end(const struct held_row *held)
{
    row_hold_commit(held);
    rbwp_leave_(&rbwp_self_);
}

void message_row_sent(const struct message_row *row)
{
    struct held_row held;
    uint64_t thread;
    if (!row_begin(sent_table, &held, &thread))
        return;
    held.cells[AT_message_sent_time] = row->start_ticks;
    held.cells[AT_message_sent_stop] = row->stop_ticks;
    held.cells[AT_message_sent_thread] = thread;
    held.cells[AT_message_sent_name] = row->name;
    held.cells[AT_message_sent_key] = row->key;
    held.cells[AT_message_sent_peer] = row->peer;
    held.cells[AT_message_sent_bytes] = row->bytes;
    row_end(&held);
}

void message_row_handled(const struct message_row *row)
{
    struct held_row held;
    uint64_t thread;
    if (!row_begin(handled_table, &held, &thread))
        return;
    held.cells[AT_message_handled_arrived] = row->arrived_ticks;
    held.cells[AT_message_handled_start] = row->start_ticks;
    held.cells[AT_message_handled_stop] = row->stop_ticks;
    held.cells[AT_message_handled_thread] = thread;
    held.cells[AT_message_handled_name] = row->name;
    held.cells[AT_message_handled_key] = row->key;
    held.cells[AT_message_handled_peer] = row->peer;
    held.cells[AT_message_handled_bytes] = row->bytes;
    row_end(&held);
}
