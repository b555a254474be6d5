/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sanitized.h - clang says by which sanitizer a file is built in gcc's words, too.
 */
#ifndef SANITIZED_H
#define SANITIZED_H

#if defined(__has_feature)
#if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#define __SANITIZE_ADDRESS__ 1
#endif
#if __has_feature(thread_sanitizer) && !defined(__SANITIZE_THREAD__)
#define __SANITIZE_THREAD__ 1
#endif
#endif

#endif /* SANITIZED_H */
