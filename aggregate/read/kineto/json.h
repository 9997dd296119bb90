/* The text of a Kineto file to events. In: its bytes, in parts of any length. Out: pp_kineto_take() for each event. Calls libyajl.
 * Reads on behind what is no JSON: NaN counts as a value that is not given, and after other damage the next event is searched. */
#pragma once

#include "aggregate/read/kineto/state.h"

struct kineto_json;

/* NULL: no memory. */
struct kineto_json *pp_kineto_json_new(struct kineto_store *s);
/* NULL is allowed. The store stays. */
void pp_kineto_json_free(struct kineto_json *j);
/* Reads on. 0, or -ENOMEM. */
int pp_kineto_json_feed(struct kineto_json *j, const char *text, size_t length);
/* There is no more: counts as damage where the file is cut off. */
void pp_kineto_json_end(struct kineto_json *j);
