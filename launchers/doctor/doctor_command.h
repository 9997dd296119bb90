/* What other programs of this node say. Called by checks of doctor and slurm. */
#pragma once

#include <stddef.h>

/* First line of a command's output, by sh; 0 where it succeeded with output, else -1. It may take as long as the command. */
int pp_doctor_line(const char *command, char *ret_line, size_t size);
