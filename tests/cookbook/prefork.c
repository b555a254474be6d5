/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prefork.c - a server of the oldest shape: children that were forked beforehand wait for
 * connections on one socket. Its parent plays the clients, and says when to end. prefork
 * [REQUESTS]. The parent starts the session; with -bgworkprofile_children 1 each child records,
 * too, to a file of its own.
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <rbwp_args.h>
#include <rbwp_session.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CHILDREN = 8, CLIENTS = 6, SLOW_EVERY = 97, SLOW_NS = 80000000 };

static struct sockaddr_in address = {.sin_family = AF_INET};
static unsigned requests = 3000, fork_slot, request_slot;
static uint64_t number_key;
static struct rbwp_session *session;

static void fail(const char *text)
{
    perror(text);
    exit(1);
}

static void start_recording(int *argc, char **argv)
{
    struct rbwp_session_config config = {.size = sizeof config};
    struct rbwp_error error = {.text = "no slot left"};
    number_key = rbwp_arg_key("request");
    if (rbwp_work_item_register("fork", &fork_slot) != RBWP_OK ||
        rbwp_work_item_register("request", &request_slot) != RBWP_OK ||
        rbwp_session_parse(&config, argc, argv, &error) != RBWP_OK ||
        rbwp_session_start(&config, &session, &error) != RBWP_OK) {
        fprintf(stderr, "prefork: %s\n", error.text);
        exit(1);
    }
    (void)rbwp_thread_attach("parent");
}

/* ---- a child ---- */

static void answer(int connection, unsigned number)
{
    const struct timespec slow = {0, SLOW_NS};
    char text[4096];
    volatile unsigned x = number;
    for (unsigned i = 0; i < 200000; i++)
        x = x * 1664525u + 1013904223u;
    if (number % SLOW_EVERY == 0) /* a slow disk, say */
        nanosleep(&slow, NULL);
    memset(text, 'a' + (int)(x % 26), sizeof text);
    if (write(connection, text, sizeof text) < 0)
        perror("write");
}

/* Until a connection says that it is enough. */
static void serve(int listener)
{
    unsigned number = 1;
    while (number != 0) {
        const int connection = accept(listener, NULL, NULL);
        rbwp_begin(request_slot);
        if (connection < 0 || read(connection, &number, sizeof number) != sizeof number)
            number = 1;
        rbwp_arg_u64(number_key, number);
        if (number != 0)
            answer(connection, number);
        close(connection);
        rbwp_end();
    }
}

static void be_child(int listener)
{
    (void)rbwp_thread_attach("child");
    serve(listener);
    exit(0); /* ends its recording, too */
}

/* ---- clients ---- */

static void ask(unsigned number)
{
    char text[4096];
    const int connection = socket(AF_INET, SOCK_STREAM, 0);
    if (connection < 0 || connect(connection, (struct sockaddr *)&address, sizeof address) != 0 ||
        write(connection, &number, sizeof number) != sizeof number)
        fail("connection");
    while (read(connection, text, sizeof text) > 0)
        ;
    close(connection);
}

static void *be_client(void *argument)
{
    for (unsigned i = 1 + (unsigned)(size_t)argument; i <= requests; i += CLIENTS)
        ask(i);
    return NULL;
}

int main(int argc, char **argv)
{
    socklen_t bytes = sizeof address;
    pthread_t clients[CLIENTS];
    bool good = true;
    start_recording(&argc, argv);
    requests = argc > 1 ? (unsigned)atoi(argv[1]) : requests;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, bytes) != 0 ||
        listen(listener, 64) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &bytes) != 0)
        fail("socket");
    for (unsigned i = 0; i < CHILDREN; i++) {
        rbwp_begin(fork_slot);
        if (fork() == 0)
            be_child(listener);
        rbwp_end();
    }
    for (size_t i = 0; i < CLIENTS; i++)
        if (pthread_create(&clients[i], NULL, be_client, (void *)i) != 0)
            fail("thread");
    for (unsigned i = 0; i < CLIENTS; i++)
        pthread_join(clients[i], NULL);
    for (unsigned i = 0; i < CHILDREN; i++)
        ask(0);
    for (int status; wait(&status) > 0;)
        good = good && status == 0;
    return rbwp_session_stop(session, NULL) == RBWP_OK && good ? 0 : 1;
}
