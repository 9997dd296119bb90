/* The grammar of names of C++ (Itanium C++ ABI, section 5.1), as far as names of kernels use it. In: a name. Out: its text.
 * Internal to aggregate/read; called by demangle.c. */
#pragma once

#include <stddef.h>

/* The text, within `room` of PP_DEMANGLE_ROOM bytes, *ret_length long and not terminated; NULL: it has a form that is not read
 * here, or its text needs more than that. */
const char *pp_demangle_parse(const char *text, size_t length, char *room, size_t *ret_length);
