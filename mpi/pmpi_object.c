/* The table of the wrappers of one ABI, the only thing that their object exports; see mpi/dispatch/object.h. Called by the
 * dispatcher. */
#include <stdint.h>
#include <string.h>

#include "mpi/dispatch/object.h"
#include "mpi/pmpi_later.h"
#include "mpi/pmpi_source.h"

/* The linker's names of the section's ends. */
extern char found_first[] __asm__("__start_pp_mpi_found");
extern char found_end[] __asm__("__stop_pp_mpi_found");

static void renew(void)
{
	memset(found_first, 0, (uintptr_t)found_end - (uintptr_t)found_first);
	pp_later_forget();
}

extern const struct pp_mpi_object podprof_mpi_object;
__attribute__((visibility("default"))) const struct pp_mpi_object podprof_mpi_object = {
        .version = PODPROF_VERSION,
        .size = sizeof podprof_mpi_object,
        .rows = PP_DISPATCH_ROWS,
        .start = pp_later_attach,
        .renew = renew,
        .entry =
                {
#define PP_MPI(symbol, ...) [PP_DISPATCH_##symbol] = {(void *)MPI_##symbol, (void *)PMPI_##symbol},
#include "core/call/mpi_call.def"
#undef PP_MPI
                },
};
