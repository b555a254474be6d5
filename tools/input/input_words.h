/* SPDX-License-Identifier: Apache-2.0 */
/* input_words.h - a list of words that owns them. */
#ifndef INPUT_WORDS_H
#define INPUT_WORDS_H

#include "command.h"

/* Takes the word, of malloc; NULL is what failed for want of memory. False with the message given,
 * and the word freed. */
bool input_words_add(struct operands *words, char *word);
/* A copy of it. */
bool input_words_copy(struct operands *words, const char *word);

#endif /* INPUT_WORDS_H */
