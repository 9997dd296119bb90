/* The process that podprof run became says at its exit that the job has recorded nothing. Called by lifecycle.c and collector.c. */
#pragma once

/* In the constructor: is this process such a one? Then its exit handler checks what was recorded. */
void pp_unrecorded_start(void);
/* Somebody says why this process does not record: nothing is to be added at its exit. */
void pp_unrecorded_is_reported(void);
