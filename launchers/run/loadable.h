/* Can the collector be loaded into a program? Called by cmd_run.c before it starts. */
#pragma once

#include <stddef.h>

/* 1: yes, or nobody can tell. 0: no; `why` is the sentence that says so, and what to do. command: as a shell looks for it. */
int pp_loadable(const char *command, char *why, size_t size);
