/* Finds torch's own methods: Python loads torch for itself only, so RTLD_NEXT has none of them. Called by c10d.c. */
#pragma once

/* NULL: no loaded library has it. errno stays as it was. */
void *pp_c10d_next(const char *symbol);
