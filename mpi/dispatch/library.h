/* Which MPI library this process has, and which ABI it has. In: the loaded objects. Out: the name of the object that serves it. */
#pragma once

/* "ompi", "mpich", "abi": what the library's handles and statuses are; "": none that podprof knows. NULL: there is no MPI
 * library. */
const char *pp_library_abi(void);
