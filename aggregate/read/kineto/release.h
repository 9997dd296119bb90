/* The end of a store. Internal to this room. */
#pragma once

#include "aggregate/read/kineto/state.h"

/* Frees what the store holds, whatever was reached. */
void pp_kineto_release(struct kineto_store *s);
