/* Stage 1 for MPI: finds the MPI library and the guest, decides once whether anything is seen. Called by every wrapper. */
#include "mpi/pmpi_source.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "core/base/libc.h"
#include "mpi/pmpi_poll.h"
#include "mpi/pmpi_request.h"

__thread struct pp_mpi_thread pp_mpi_thread;
struct pp_mpi_wiped pp_mpi_wiped;
const struct podprof_guest *pp_mpi_guest, *pp_mpi_other;
const _Atomic uint32_t *pp_mpi_recording;
static const _Atomic uint32_t no_pattern;
const _Atomic uint32_t *pp_mpi_pattern = &no_pattern;
const _Atomic uint32_t *pp_mpi_bell = &no_pattern, *pp_mpi_heard = &no_pattern;
struct pp_mpi_names pp_mpi_names;
int pp_tick_kind; /* this library's copy of the guest's */

/* Libraries that a plugin may have loaded RTLD_LOCAL (mpi4py's wheel does): not in the scope that RTLD_NEXT searches. */
static const char *const libraries[] = {"libmpi.so.40", "libmpi.so.12", "libmpich.so.12"};

static void *in_library(const char *symbol)
{
	for (unsigned i = 0; i < sizeof libraries / sizeof libraries[0]; i++) {
		void *handle = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);
		void *found = handle ? dlsym(handle, symbol) : NULL;

		if (handle)
			dlclose(handle);
		if (found)
			return found;
	}
	return NULL;
}

void *pp_mpi_real(const char *symbol)
{
	int saved = errno;
	void *found = dlsym(RTLD_NEXT, symbol);

	if (!found)
		found = in_library(symbol);
	errno = saved;
	return found;
}

/* The executable may hold the live copy of a library's variable (copy relocation): ask the global scope first. */
void *pp_mpi_object(const char *symbol)
{
	void *found = dlsym(RTLD_DEFAULT, symbol);

	return found ? found : in_library(symbol);
}

static int find_names(void)
{
	pp_mpi_names.world = pp_mpi_object("ompi_mpi_comm_world");
	pp_mpi_names.self = pp_mpi_object("ompi_mpi_comm_self");
	pp_mpi_names.comm_null = pp_mpi_object("ompi_mpi_comm_null");
	pp_mpi_names.request_null = pp_mpi_object("ompi_request_null");
	pp_mpi_names.request_empty = pp_mpi_object("ompi_request_empty");
	return pp_mpi_names.world && pp_mpi_names.self && pp_mpi_names.comm_null && pp_mpi_names.request_null;
}

static int calls_overlap(void)
{
	__typeof__(&MPI_Query_thread) query = (__typeof__(&MPI_Query_thread))pp_mpi_real("PMPI_Query_thread");
	int level = MPI_THREAD_MULTIPLE;

	return !query || query(&level) != MPI_SUCCESS || level >= MPI_THREAD_MULTIPLE;
}

static void forked(void)
{
	atomic_store_explicit(&pp_mpi_wiped.active, 0, memory_order_relaxed);
	pp_coord_abandon();
}

void pp_mpi_activate(void)
{
	const struct podprof_guest *guest;
	int saved = errno;

	if (atomic_load_explicit(&pp_mpi_wiped.active, memory_order_relaxed) || pp_mpi_guest)
		goto out;
	guest = dlsym(RTLD_DEFAULT, "podprof_guest");
	if (!guest || guest->size < offsetof(struct podprof_guest, cursor) + sizeof guest->cursor)
		goto out;
	if (!find_names()) {
		pp_mpi_other = guest;
		guest->mpi_state(PP_MPI_OTHER_RUNS);
		goto out;
	}
	pp_mpi_guest = guest;
	if (pp_comm_start())
		goto out;
	if (!guest->claim(PP_EVIDENCE_MPI, pp_comm_world_rank(), pp_comm_world_size()))
		goto out;
	pp_tick_kind = *guest->tick_kind;
	pp_mpi_recording = guest->recording;
	if (guest->size >= offsetof(struct podprof_guest, collective) + sizeof guest->collective)
		pp_mpi_pattern = guest->pattern;
	if (guest->size >= offsetof(struct podprof_guest, look) + sizeof guest->look && guest->bell && guest->heard &&
	    guest->look) {
		pp_mpi_bell = guest->bell;
		pp_mpi_heard = guest->heard;
	}
	guest->mpi_state(PP_MPI_RUNS);
	if (guest->size >= offsetof(struct podprof_guest, flush_with) + sizeof guest->flush_with)
		guest->flush_with(pp_poll_flush);
	pp_request_shared = calls_overlap();
	pp_at_fork(forked);
	pp_wipe_on_fork(&pp_mpi_wiped, sizeof pp_mpi_wiped);
	atomic_store_explicit(&pp_mpi_wiped.active, 1, memory_order_release);
	if (atomic_load_explicit(pp_mpi_recording, memory_order_relaxed)) {
		pp_comm_announce(pp_comm_find(pp_mpi_names.world));
		pp_comm_announce(pp_comm_find(pp_mpi_names.self));
		if (pp_comm_parent())
			pp_comm_announce(pp_comm_parent());
	}
out:
	errno = saved;
}

void pp_mpi_deactivate(void)
{
	static const char text[] = "MPI requests not tied";
	_Static_assert(sizeof text <= PP_TEXT_INLINE, "fits inline");
	uint64_t untied = pp_request_untied();

	if (untied && atomic_load_explicit(pp_mpi_recording, memory_order_relaxed)) {
		struct pp_record r = {.tick = pp_tick_now(), .kind = PP_RECORD_COUNTER, .length = sizeof text - 1};

		r.counter.value = (double)untied;
		memcpy(r.counter.text, text, sizeof text);
		pp_mpi_put(&r, NULL, 0);
	}
	atomic_store_explicit(&pp_mpi_wiped.active, 0, memory_order_release);
	pp_mpi_guest->mpi_state(PP_MPI_OVER);
}

void pp_mpi_thread_init(struct pp_mpi_thread *t)
{
	int saved = errno;

	t->where = pp_mpi_guest->where();
	t->cursor = pp_mpi_guest->cursor();
	errno = saved;
}

void pp_mpi_put(const struct pp_record *record, const void *rest, uint32_t rest_length)
{
	int saved = errno;

	pp_mpi_guest->put(record, rest, rest_length);
	errno = saved;
}
