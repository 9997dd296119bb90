/* Functions and variables of the dispatcher that the objects use: by a name that no other library has, which the dispatcher
 * exports. The dispatcher is preloaded, so the objects that it loads find them in the global scope. */
#pragma once

#define PP_SHARED(name) __asm__("podprof_mpi_" #name) __attribute__((visibility("default")))
