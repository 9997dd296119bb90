/* Replaces pointers to calls that only some MPIs have; see pmpi_later.h. Called when this library is chosen, and by the wrappers of
 * MPI's begin. */
#include "mpi/pmpi_later.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mpi/dispatch/loaded.h"
#include "mpi/pmpi_source.h"

struct later {
	const char *name; /* PMPI_X */
	void *ours[2];    /* PMPI_X, MPI_X */
	void *real;       /* NULL: this MPI lacks it */
	int is_wrapped;   /* another library has an MPI_X */
};

#define LATER(symbol) {"PMPI_" #symbol, {(void *)PMPI_##symbol, (void *)MPI_##symbol}, NULL, 0},
/* The first of a group stands for all: an MPI without it has none of them. */
static struct later session_calls[] = {
#define PP_MPI(symbol, ...) LATER(symbol)
#include "core/call/mpi_session.def"
#undef PP_MPI
};
static struct later large_calls[] = {
#define PP_MPI_LARGE(symbol, ...) LATER(symbol)
#include "mpi/pmpi_large.def"
#undef PP_MPI_LARGE
};
static struct group {
	struct later *call;
	size_t count;
} groups[] = {{session_calls, sizeof session_calls / sizeof session_calls[0]},
              {large_calls, sizeof large_calls / sizeof large_calls[0]}};
enum { GROUPS = sizeof groups / sizeof groups[0] };

/* Looks the MPI's own up. 1: it has some. */
static int find(struct group *g)
{
	if (!g->call[0].real && !(g->call[0].real = pp_mpi_real(g->call[0].name)))
		return 0;
	for (struct later *l = g->call; l < g->call + g->count; l++) {
		void *first = dlsym(RTLD_DEFAULT, l->name + 1);

		if (!l->real)
			l->real = pp_mpi_real(l->name);
		l->is_wrapped = first && first != l->real;
	}
	return 1;
}

/* name: MPI_X or PMPI_X. NULL: no such call, or this MPI lacks it. */
static const struct later *later_of(const char *name)
{
	name += *name == 'P';
	if (strncmp(name, "MPI_", 4) != 0)
		return NULL;
	for (int g = 0; g < GROUPS; g++)
		for (size_t i = 0; groups[g].call[0].real && i < groups[g].count; i++)
			if (!strcmp(name, groups[g].call[i].name + 1))
				return groups[g].call[i].real ? &groups[g].call[i] : NULL;
	return NULL;
}

static void replace(const struct pp_loaded *o, _Atomic uintptr_t *slot, void *ours)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)slot & ~(page - 1);
	int is_sealed = (uintptr_t)slot >= (o->relro & ~(page - 1)) && (uintptr_t)slot < o->relro_end;

	if (is_sealed && mprotect((void *)at, page, PROT_READ | PROT_WRITE))
		return;
	atomic_store_explicit(slot, (uintptr_t)ours, memory_order_release);
	if (is_sealed)
		mprotect((void *)at, page, PROT_READ);
}

/* is_plt: the slot may point into its own object still, until the first call. Another library's wrapper stays: it calls PMPI_X. */
static void walk(const struct pp_loaded *o, const Elf64_Rela *r, size_t count, int is_plt)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t symbol = (uint32_t)ELF64_R_SYM(r[i].r_info);
		const char *name = symbol ? o->strings + o->symbols[symbol].st_name : "";
		const struct later *later = *name == 'M' || *name == 'P' ? later_of(name) : NULL;
		_Atomic uintptr_t *slot = (_Atomic uintptr_t *)(o->base + r[i].r_offset);
		int by_mpi = *name == 'M';
		uintptr_t now;

		if (!later || (uintptr_t)slot % sizeof *slot)
			continue;
		now = atomic_load_explicit(slot, memory_order_relaxed);
		if (now == (uintptr_t)later->real || (is_plt && now >= o->first && now < o->end && !(by_mpi && later->is_wrapped)))
			replace(o, slot, later->ours[by_mpi]);
	}
}

static int visit(struct dl_phdr_info *info, size_t size, void *data)
{
	struct pp_loaded o;

	(void)size;
	(void)data;
	if (pp_loaded_read(info, &o) && o.calls_mpi && o.symbols) {
		walk(&o, o.rela, o.rela_count, 0);
		walk(&o, o.plt, o.plt_count, 1);
	}
	return 0;
}

void pp_later_forget(void)
{
	for (int g = 0; g < GROUPS; g++)
		for (size_t i = 0; i < groups[g].count; i++)
			groups[g].call[i].real = NULL;
}

void pp_later_attach(void)
{
	static _Atomic uint32_t busy;
	int saved = errno, found = 0;

	if (atomic_exchange_explicit(&busy, 1, memory_order_acquire))
		return;
	for (int g = 0; g < GROUPS; g++)
		found |= find(&groups[g]);
	if (found)
		dl_iterate_phdr(visit, NULL);
	atomic_store_explicit(&busy, 0, memory_order_release);
	errno = saved;
}
