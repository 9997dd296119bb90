/* Finds the ABI of the MPI library; see library.h. Called by dispatch.c. */
#include "mpi/dispatch/library.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "mpi/dispatch/loaded.h"
#include "mpi/dispatch/next.h"

struct search { /* for the object that a function lies in */
	uintptr_t at;
	struct pp_loaded found;
};

static int visit(struct dl_phdr_info *info, size_t size, void *data)
{
	struct search *s = data;
	struct pp_loaded o;

	(void)size;
	if (!pp_loaded_read(info, &o) || s->at < o.first || s->at >= o.end)
		return 0;
	s->found = o;
	return 1;
}

static int is_between(const char *begin, const char *name, const char *end)
{
	size_t length = strlen(name);

	return length >= strlen(begin) + strlen(end) && !strncmp(name, begin, strlen(begin)) &&
	       !strcmp(name + length - strlen(end), end);
}

/* The SONAME is the promise that MPICH, Intel MPI, Cray MPICH and MVAPICH have given of their ABI, and the standard's of its own.
 * It is asked of the library itself: programs and plugins open it by other names. Open MPI shows by its objects: its version 1.10
 * has MPICH's SONAME. */
const char *pp_library_abi(void)
{
	struct search s = {.at = (uintptr_t)pp_mpi_real("PMPI_Init")};

	if (!s.at)
		return NULL;
	if (pp_mpi_object("ompi_mpi_comm_world"))
		return "ompi";
	if (!dl_iterate_phdr(visit, &s) || !s.found.soname)
		return "";
	if (!strcmp(s.found.soname, "libmpi_abi.so.1"))
		return "abi";
	return is_between("libmpi", s.found.soname, ".so.12") ? "mpich" : "";
}
