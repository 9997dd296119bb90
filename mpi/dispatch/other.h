/* An MPI library without an object: its calls go on to it as they come. Only its begin and end are seen, so that the session can
 * say that it knows nothing of them. */
#pragma once

#include "mpi/dispatch/object.h"

/* Where such a call goes first; NULL: to the library. real: the library's, or another wrapper's. */
void *pp_other_entry(enum pp_dispatch_row row, void *real);
