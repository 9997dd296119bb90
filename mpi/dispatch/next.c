/* Finds the MPI library's own functions and those that come behind this library; see next.h. Called by the dispatcher and the
 * objects; RTLD_NEXT means the libraries behind this one only in a function of this one. */
#include "mpi/dispatch/next.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "mpi/dispatch/loaded.h"

enum { WRAPPERS = 4 };
static _Atomic(const char *) wrappers[WRAPPERS]; /* names in the dynamic linker's memory, filled from the first on */

/* As a loaded object and those that it needs have it. */
static void *in_object(const char *object, const char *symbol)
{
	void *handle = dlopen(object, RTLD_LAZY | RTLD_NOLOAD);
	void *found = handle ? dlsym(handle, symbol) : NULL;

	if (handle)
		dlclose(handle);
	return found;
}

/* The library that has a function which none wraps; else one that a plugin has loaded RTLD_LOCAL, as mpi4py's wheel does: that is
 * not in the scope which RTLD_NEXT searches. */
static void *in_library(const char *symbol)
{
	void *known = dlsym(RTLD_NEXT, "PMPI_Get_library_version");
	char path[PATH_MAX];
	Dl_info object;

	if (known && dladdr(known, &object))
		return in_object(object.dli_fname, symbol);
	return pp_loaded_library(path, sizeof path) ? in_object(path, symbol) : NULL;
}

void *pp_mpi_real(const char *symbol)
{
	int saved = errno;
	void *found = in_library(symbol);

	if (!found)
		found = dlsym(RTLD_NEXT, symbol);
	errno = saved;
	return found;
}

/* The executable may hold the live copy of a library's variable (copy relocation): ask the global scope first. */
void *pp_mpi_object(const char *symbol)
{
	void *found = dlsym(RTLD_DEFAULT, symbol);

	return found ? found : in_library(symbol);
}

struct order { /* of two addresses' objects */
	uintptr_t first, second;
	int is_past, is_behind;
};

static int contains(const struct dl_phdr_info *object, uintptr_t at)
{
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &object->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && at - object->dlpi_addr - p->p_vaddr < p->p_memsz)
			return 1;
	}
	return 0;
}

static int visit(struct dl_phdr_info *object, size_t size, void *data)
{
	struct order *o = data;

	(void)size;
	if (contains(object, o->second)) {
		o->is_behind = o->is_past;
		return 1;
	}
	o->is_past |= contains(object, o->first);
	return 0;
}

/* Was `second` loaded after `first`? */
static int is_later(const void *second, const void *first)
{
	struct order o = {.first = (uintptr_t)first, .second = (uintptr_t)second};

	return second && dl_iterate_phdr(visit, &o) && o.is_behind;
}

/* Was it loaded after this library? What was loaded before may be what called, and would be called again without end. */
static int is_behind(const void *found)
{
	return is_later(found, (void *)is_behind);
}

/* What an object that was loaded RTLD_LOCAL would call without this library: a wrapper in it or in what it needs. */
static void *in_scope_of(const void *caller, const char *symbol)
{
	Dl_info object;
	void *found = is_behind(caller) && dladdr(caller, &object) ? in_object(object.dli_fname, symbol) : NULL;

	return is_behind(found) ? found : NULL;
}

/* found: another library's function, MPI's or ours. Another library stays loaded: pointers to it are never given up. */
static void add_wrapper(const void *found, const void *own)
{
	const char *name;
	Dl_info object, ours;

	if (!found || found == own || !dladdr(found, &object) || !dladdr((void *)add_wrapper, &ours) ||
	    object.dli_fbase == ours.dli_fbase)
		return;
	/* cppcheck-suppress leakReturnValNotUsed ; it stays loaded */
	dlopen(object.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	name = strrchr(object.dli_fname, '/');
	name = name ? name + 1 : object.dli_fname;
	for (int i = 0; i < WRAPPERS; i++) {
		const char *had = NULL;

		if (atomic_compare_exchange_strong(&wrappers[i], &had, name) || !strcmp(had, name))
			return;
	}
}

/* The global scope comes before the caller's own. What an object calls is decided when it is loaded: one that came after a global
 * MPI library calls that, whatever its own scope has. One that came before, or brought it, has its own scope, also where RTLD_NEXT
 * finds the MPI library: Open MPI makes itself global in MPI_Init, the library that wraps it stays hidden. */
void *pp_mpi_next(const char *symbol, const void *caller)
{
	int saved = errno;
	void *own = pp_mpi_real(symbol), *next = dlsym(RTLD_NEXT, symbol);

	if (!next || (next == own && !is_later(caller, own)))
		next = in_scope_of(caller, symbol);
	if (!next)
		next = own;
	add_wrapper(next, own);
	errno = saved;
	return next;
}

/* Asks for calls that such libraries wrap. One in a plugin's scope is known by the call that has met it. */
void pp_mpi_wrappers(char *ret_names, size_t size)
{
	static const char *const asked[] = {"MPI_Init",      "MPI_Finalize", "MPI_Comm_size",
	                                    "MPI_Allreduce", "MPI_Send",     "MPI_File_open"};
	int saved = errno;
	size_t n = 0;

	for (unsigned i = 0; i < sizeof asked / sizeof asked[0]; i++) {
		void *own = pp_mpi_real(asked[i]);

		add_wrapper(dlsym(RTLD_DEFAULT, asked[i]), own);
		add_wrapper(dlsym(RTLD_NEXT, asked[i]), own);
	}
	*ret_names = '\0';
	for (int i = 0; i < WRAPPERS && n < size; i++) {
		const char *name = atomic_load(&wrappers[i]);

		if (name)
			n += (size_t)snprintf(ret_names + n, size - n, "%s%s", i ? ", " : "", name);
	}
	errno = saved;
}
