/* May a job have several hosts? In: the launcher's command, its variables and files. Called by cmd_run.c. */
#pragma once

/* 1: the command is a launcher, and its words or its allocation name several hosts. torchrun starts processes on its own host
 * only. */
int pp_launcher_spans(char *const *command);
