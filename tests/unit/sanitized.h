/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sanitized.h - clang says by which sanitizer a file is built in gcc's words, too; SANITIZED: by
 * any. PART_UNDER_TSAN(part, whole): how much of what only repeats itself; ThreadSanitizer takes
 * ten times as long, and learns from new orders of threads, not from more of the same.
 *
 * A child of a process with threads may hang there: ThreadSanitizer knows no threads in it, and
 * AddressSanitizer (until LLVM 18) lets it have the allocator's lock as another thread held it.
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

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif

#ifdef __SANITIZE_THREAD__
#define PART_UNDER_TSAN(part, whole) (part)
#else
#define PART_UNDER_TSAN(part, whole) (whole)
#endif

#endif /* SANITIZED_H */
