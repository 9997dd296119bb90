/* Calls that only some MPIs have, those of MPI 4. If this library exported them as it does the others, a program that asks by a
 * weak reference or by dlsym() whether its MPI has one, as mpi4py's wheels do, would find ours with every MPI. Instead, where
 * the MPI has them, the pointers by which loaded objects call them are replaced. In: loaded objects. Out: their calls come to
 * the wrappers.
 *
 * Objects that are loaded later are seen at the next begin of MPI or of a session. Pointers that a program took by dlsym() stay. */
#pragma once

/* Any thread, also inside MPI_Init; errno kept. */
void pp_later_attach(void);
/* The MPI library was unloaded: its calls are looked up again. */
void pp_later_forget(void);
