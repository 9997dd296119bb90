/* podprof's own files, and a job of one process, for podprof doctor. Called by cmd_doctor.c. */
#pragma once

/* Adds their rows: the job is recorded by a keeper and read back. */
void pp_doctor_self(void);
