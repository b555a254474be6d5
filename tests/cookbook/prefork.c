/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prefork.c - a server of the oldest shape: children that were forked beforehand wait for
 * connections on one socket. Its parent plays the clients, and says when to end. prefork
 * [REQUESTS]. Each child has a session, and a file, of its own; the settings are in RBWP_FLAGS.
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
static unsigned requests = 3000;

static void fail(const char *text)
{
    perror(text);
    exit(1);
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
    unsigned slot, number = 1;
    const uint64_t which = rbwp_arg_key("request");
    if (rbwp_work_item_register("request", &slot) != RBWP_OK)
        exit(1);
    while (number != 0) {
        const int connection = accept(listener, NULL, NULL);
        rbwp_begin(slot);
        if (connection < 0 || read(connection, &number, sizeof number) != sizeof number)
            number = 1;
        rbwp_arg_u64(which, number);
        if (number != 0)
            answer(connection, number);
        close(connection);
        rbwp_end();
    }
}

static void be_child(int listener)
{
    struct rbwp_session_config config = {.size = sizeof config};
    struct rbwp_session *session;
    struct rbwp_error error;
    char *argv[] = {"prefork", NULL};
    int argc = 1;
    if (rbwp_session_parse(&config, &argc, argv, &error) != RBWP_OK ||
        rbwp_session_start(&config, &session, &error) != RBWP_OK) {
        fprintf(stderr, "prefork: %s\n", error.text);
        exit(1);
    }
    rbwp_thread_attach("child");
    serve(listener);
    exit(rbwp_session_stop(session, NULL) != RBWP_OK);
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
    requests = argc > 1 ? (unsigned)atoi(argv[1]) : requests;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, bytes) != 0 ||
        listen(listener, 64) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &bytes) != 0)
        fail("socket");
    for (unsigned i = 0; i < CHILDREN; i++)
        if (fork() == 0)
            be_child(listener);
    for (size_t i = 0; i < CLIENTS; i++)
        if (pthread_create(&clients[i], NULL, be_client, (void *)i) != 0)
            fail("thread");
    for (unsigned i = 0; i < CLIENTS; i++)
        pthread_join(clients[i], NULL);
    for (unsigned i = 0; i < CHILDREN; i++)
        ask(0);
    for (int status; wait(&status) > 0;)
        good = good && status == 0;
    return good ? 0 : 1;
}
