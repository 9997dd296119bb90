/* Functions that descriptions name. In: a row. Out: what is wrong with it (NULL: nothing), or a text that is shown of it. One more
 * is pp_category_name(). */
#pragma once

#include <stddef.h>

#include "core/ring/intern.h"
#include "core/step/category.h"

const char *pp_op_check(const void *row);
const char *pp_op_type_text(const void *row, const struct pp_intern *names, size_t *ret_length);
const char *pp_source_name(int source);
