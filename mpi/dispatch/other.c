/* Begin and end of an MPI library without an object; see other.h. The parameters of these calls are the same in all of them. */
#include "mpi/dispatch/other.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

#include "core/source/services.h"

static int (*_Atomic real_init)(int *, char ***);
static int (*_Atomic real_init_thread)(int *, char ***, int, int *);
static int (*_Atomic real_finalize)(void);
static _Atomic uint32_t depth; /* a library's MPI_Init may call MPI_Init_thread */

static void set(uint32_t state)
{
	int saved = errno;
	const struct podprof_collector *collector = dlsym(RTLD_DEFAULT, "podprof_collector");

	if (collector && collector->size == sizeof *collector)
		collector->mpi_state(state);
	errno = saved;
}

static int begun(int rc)
{
	if (atomic_fetch_sub(&depth, 1) == 1 && !rc)
		set(PP_MPI_OTHER_RUNS);
	return rc;
}

static int init(int *argc, char ***argv)
{
	atomic_fetch_add(&depth, 1);
	return begun(atomic_load(&real_init)(argc, argv));
}

static int init_thread(int *argc, char ***argv, int required, int *provided)
{
	atomic_fetch_add(&depth, 1);
	return begun(atomic_load(&real_init_thread)(argc, argv, required, provided));
}

static int finalize(void)
{
	int rc = atomic_load(&real_finalize)();

	set(PP_MPI_OTHER_OVER);
	return rc;
}

void *pp_other_entry(enum pp_dispatch_row row, void *real)
{
	if (row == PP_DISPATCH_Init) {
		atomic_store(&real_init, (int (*)(int *, char ***))real);
		return (void *)init;
	}
	if (row == PP_DISPATCH_Init_thread) {
		atomic_store(&real_init_thread, (int (*)(int *, char ***, int, int *))real);
		return (void *)init_thread;
	}
	if (row == PP_DISPATCH_Finalize) {
		atomic_store(&real_finalize, (int (*)(void))real);
		return (void *)finalize;
	}
	return NULL;
}
