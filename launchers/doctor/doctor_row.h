/* The rows of podprof doctor, on stdout as they are found. Called by all checks of doctor and slurm. One thread. */
#pragma once

#include "aggregate/write/json_object.h"

enum pp_doctor_state { PP_DOCTOR_OK, PP_DOCTOR_LIMITED, PP_DOCTOR_NO };

/* Prints one row. `repair`: the command that repairs it; "" where the state is ok. */
void pp_doctor_row(const char *thing, enum pp_doctor_state state, const char *repair, const char *fmt, ...)
        __attribute__((format(printf, 4, 5)));

/* A JSON text begins: rows that follow are objects of its open list. Owned by doctor_row.c. */
struct pp_json *pp_doctor_json_begin(void);
/* Ends the open list and the JSON text, and flushes it. `green`: its value of that name. */
void pp_doctor_json_end(int green);

/* 1: no row so far is "no". */
int pp_doctor_is_ready(void);
/* The last line of the text: ready, or which things are limited or missing. */
void pp_doctor_print_result(void);
