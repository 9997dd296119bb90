/* What calls wait for, by their rows in core/call and by names; see hang_call.h. */
#include "aggregate/keeper/hang_call.h"

#include <string.h>

int pp_hang_is_c10d(const char *call)
{
	return pp_c10d_call_of(call, strlen(call)) != 0;
}

struct pp_hang_call pp_hang_call_of(const char *name)
{
	struct pp_hang_call c = {.known = 0};

	for (unsigned i = 0; *name && i < pp_mpi_call_count(); i++)
		if (!strcmp(pp_mpi_call_info(i)->name, name)) {
			c.class = pp_mpi_call_info(i)->class;
			c.joins = pp_mpi_class_joins(c.class);
			c.known = 1;
			break;
		}
	if (pp_hang_is_c10d(name)) {
		c.class = pp_mpi_call_info(pp_c10d_call_of(name, strlen(name)))->class;
		c.joins = pp_mpi_class_joins(c.class);
		c.known = c.is_c10d = 1;
	}
	return c;
}

int pp_hang_is_numbered(const char *call)
{
	struct pp_hang_call c = pp_hang_call_of(call);

	return c.joins && !c.is_c10d;
}

int pp_hang_is_poll(const char *call)
{
	return !strncmp(call, "MPI_Test", 8) || !strcmp(call, "MPI_Iprobe") || !strcmp(call, "MPI_Improbe") ||
	       !strcmp(call, "MPI_Request_get_status");
}

int pp_hang_waits_beyond(const char *call)
{
	static const char *const name[] = {"MPI_Intercomm_create", "MPI_Comm_accept", "MPI_Comm_connect", "MPI_Comm_spawn"};

	for (size_t i = 0; i < sizeof(name) / sizeof(name[0]); i++)
		if (!strncmp(call, name[i], strlen(name[i]))) /* and MPI_Comm_spawn_multiple, MPI_Intercomm_create_from_groups */
			return 1;
	return 0;
}
