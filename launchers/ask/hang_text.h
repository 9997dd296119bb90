/* Prints why a job hangs. In: struct pp_hang. Out: text or JSON on stdout. Called by cmd_hang.c. */
#pragma once

#include "aggregate/keeper/hang.h"
#include "aggregate/write/json_object.h"

/* One screen: what is beyond it is counted. `title`: names the job. */
void pp_hang_print(const struct pp_hang *h, const char *title, int64_t after_ns);
/* Adds its members to the open object. */
void pp_hang_json(const struct pp_hang *h, int64_t after_ns, struct pp_json *j);
