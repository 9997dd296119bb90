/* Names as small numbers. Keeper and readers only; one thread.
 * In: bytes of records (any). Out: ids whose text is valid UTF-8 (each bad byte becomes U+FFFD). Id 0 is "". */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pp_intern;

struct pp_intern *pp_intern_new(void); /* NULL: no memory */
/* And all texts that it gave out. NULL: nothing. */
void pp_intern_free(struct pp_intern *t);
/* New names are refused (id 0) once the table holds this much; no limit at first. */
void pp_intern_limit(struct pp_intern *t, uint64_t bytes);
/* Id of the text, made if new. 0 where there is no memory. */
uint32_t pp_intern_put(struct pp_intern *t, const char *text, size_t length);
/* Text of an id, terminated, valid until pp_intern_free(); *ret_length may be NULL. */
const char *pp_intern_text(const struct pp_intern *t, uint32_t id, size_t *ret_length);
uint32_t pp_intern_count(const struct pp_intern *t); /* ids are 0..count-1 */
uint64_t pp_intern_bytes(const struct pp_intern *t); /* memory held */
