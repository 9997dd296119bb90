/* MPI 4's calls of sessions, which the mpi.h of the build may lack. Wrappers with the contracts of MPI's own; pmpi_later.c finds them
 * by name. */
#pragma once

#include <mpi.h>

struct ompi_instance_t;

int MPI_Session_init(MPI_Info info, MPI_Errhandler errhandler, struct ompi_instance_t **session);
int MPI_Session_finalize(struct ompi_instance_t **session);
int MPI_Comm_create_from_group(MPI_Group group, const char *tag, MPI_Info info, MPI_Errhandler errhandler, MPI_Comm *made_);
int MPI_Intercomm_create_from_groups(MPI_Group group, int leader, MPI_Group remote, int remote_leader, const char *tag,
                                     MPI_Info info, MPI_Errhandler errhandler, MPI_Comm *made_);
