/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grow.h - arrays that grow: they double, and stay as they are where there is no memory.
 */
#ifndef GROW_H
#define GROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Sees to it that an array has room for count elements. array points to the pointer, room says for
 * how many there is; NULL and 0 at first. False without memory, or if there is no number for so
 * many bytes. What is new in it has any contents.
 */
bool grow_array(void *array, size_t *room, size_t count, size_t element_bytes);
/* The same, and what is new is 0. */
bool grow_zeroed(void *array, size_t *room, size_t count, size_t element_bytes);

static inline bool grow_array32(void *array, uint32_t *room, uint32_t count, size_t element_bytes)
{
    size_t room_now = *room;
    if (count <= *room)
        return true;
    if (!grow_array(array, &room_now, count, element_bytes))
        return false;
    *room = room_now < UINT32_MAX ? (uint32_t)room_now : UINT32_MAX;
    return true;
}

static inline bool grow_zeroed32(void *array, uint32_t *room, uint32_t count, size_t element_bytes)
{
    size_t room_now = *room;
    if (count <= *room)
        return true;
    if (!grow_zeroed(array, &room_now, count, element_bytes))
        return false;
    *room = room_now < UINT32_MAX ? (uint32_t)room_now : UINT32_MAX;
    return true;
}

/* The same of an array and its room, which are variables, by its own element. */
#define GROW_ARRAY(array, room, count) grow_array32(&(array), &(room), count, sizeof *(array))
#define GROW_ZEROED(array, room, count) grow_zeroed32(&(array), &(room), count, sizeof *(array))

#endif /* GROW_H */
