/* Wrappers that open, close and delete files. Called by the application as MPI_X or PMPI_X. */
#include "mpi/pmpi_made.h"

/* The call that opened it is the first collective of the file, so that it shows with the file's name. */
static void opened(struct pp_mpi_scope *s, MPI_File file, const char *name, int mode)
{
	struct pp_comm_birth birth = pp_mpi_birth(s, -1);
	struct pp_comm *f;

	if (!s->comm || !file)
		return;
	f = pp_comm_add_kind(PP_KEY(file), s->comm, PP_COMM_IS_FILE, name, &birth);
	if (!f)
		return;
	f->to_file = (mode & MPI_MODE_RDONLY) == 0;
	s->comm = f;
	s->sequence = 0;
	s->flags |= f->to_file ? PP_MPI_TO_FILE : 0;
	atomic_store_explicit(&f->sequence, 1, memory_order_relaxed);
}

PP_ENTRIES(File_open, (MPI_Comm comm, const char *name, int mode, MPI_Info info, MPI_File *file), (comm, name, mode, info, file))
{
	PP_HEAD(File_open, (comm, name, mode, info, file))
	pp_mpi_enter(&scope, thread, PP_MPI_CALL_File_open, PP_KEY(comm), PP_NO_PEER, 1);
	rc = real(comm, name, mode, info, file);
	end = pp_mpi_end(&scope);
	if (rc == MPI_SUCCESS) {
		pp_mpi_adopt(&scope, comm, PP_NO_PEER, 1);
		opened(&scope, *file, name, mode);
	}
	if (scope.recording)
		pp_mpi_record(&scope, end, rc, 0, 0, 0);
	PP_TAIL
}

/* The handle leaves the table before MPI may give it to another thread's new file. */
PP_ENTRIES(File_close, (MPI_File * file), (file))
{
	uint64_t key;
	PP_HEAD(File_close, (file))
	key = file ? PP_KEY(*file) : 0;
	pp_mpi_enter(&scope, thread, PP_MPI_CALL_File_close, key, PP_NO_PEER, 1);
	if (scope.comm) {
		scope.flags |= scope.comm->to_file ? PP_MPI_TO_FILE : 0;
		pp_comm_unlink(scope.comm);
	}
	rc = real(file);
	end = pp_mpi_end(&scope);
	if (scope.recording)
		pp_mpi_record(&scope, end, rc, 0, 0, 0);
	if (scope.comm && rc == MPI_SUCCESS)
		pp_comm_release(scope.comm);
	else if (scope.comm)
		pp_comm_relink(scope.comm, key);
	PP_TAIL
}

PP_ENTRIES(File_delete, (const char *name, MPI_Info info), (name, info))
{
	PP_HEAD(File_delete, (name, info))
	pp_mpi_enter(&scope, thread, PP_MPI_CALL_File_delete, 0, PP_NO_PEER, 0);
	rc = real(name, info);
	end = pp_mpi_end(&scope);
	if (scope.recording)
		pp_mpi_record(&scope, end, rc, 0, 0, 0);
	PP_TAIL
}
