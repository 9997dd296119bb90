! The same calls through mpif.h, use mpi and use mpi_f08: each must be seen once. 4 ranks; the driver compares the names.
subroutine old_style
   implicit none
   include 'mpif.h'
   integer :: rank, size, ierr, right, left, half, requests(2), one(4), two(4), status(MPI_STATUS_SIZE)
   call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
   call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)
   right = mod(rank + 1, size)
   left = mod(rank + size - 1, size)
   one = rank
   call MPI_Barrier(MPI_COMM_WORLD, ierr)
   call MPI_Irecv(two, 4, MPI_INTEGER, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, requests(1), ierr)
   call MPI_Isend(one, 4, MPI_INTEGER, right, 1, MPI_COMM_WORLD, requests(2), ierr)
   call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
   if (two(1) /= left) call MPI_Abort(MPI_COMM_WORLD, 9, ierr)
   call MPI_Sendrecv(one, 4, MPI_INTEGER, right, 2, two, 4, MPI_INTEGER, left, 2, MPI_COMM_WORLD, status, ierr)
   if (status(MPI_SOURCE) /= left) call MPI_Abort(MPI_COMM_WORLD, 9, ierr)
   call MPI_Allreduce(MPI_IN_PLACE, one, 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
   if (one(1) /= size * (size - 1) / 2) call MPI_Abort(MPI_COMM_WORLD, 9, ierr)
   call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, half, ierr)
   call MPI_Bcast(two, 4, MPI_INTEGER, 0, half, ierr)
   call MPI_Comm_free(half, ierr)
end subroutine

subroutine module_style
   use mpi
   implicit none
   integer :: rank, size, ierr, right, left, half, requests(2), one(4), two(4), status(MPI_STATUS_SIZE)
   call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
   call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)
   right = mod(rank + 1, size)
   left = mod(rank + size - 1, size)
   one = rank
   call MPI_Barrier(MPI_COMM_WORLD, ierr)
   call MPI_Irecv(two, 4, MPI_INTEGER, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, requests(1), ierr)
   call MPI_Isend(one, 4, MPI_INTEGER, right, 1, MPI_COMM_WORLD, requests(2), ierr)
   call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
   if (two(1) /= left) call MPI_Abort(MPI_COMM_WORLD, 9, ierr)
   call MPI_Sendrecv(one, 4, MPI_INTEGER, right, 2, two, 4, MPI_INTEGER, left, 2, MPI_COMM_WORLD, status, ierr)
   if (status(MPI_SOURCE) /= left) call MPI_Abort(MPI_COMM_WORLD, 9, ierr)
   call MPI_Allreduce(MPI_IN_PLACE, one, 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
   if (one(1) /= size * (size - 1) / 2) call MPI_Abort(MPI_COMM_WORLD, 9, ierr)
   call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, half, ierr)
   call MPI_Bcast(two, 4, MPI_INTEGER, 0, half, ierr)
   call MPI_Comm_free(half, ierr)
end subroutine

subroutine f08_style
   use mpi_f08
   implicit none
   integer :: rank, size, right, left, one(4), two(4)
   type(MPI_Comm) :: half
   type(MPI_Request) :: requests(2)
   type(MPI_Status) :: status
   call MPI_Comm_rank(MPI_COMM_WORLD, rank)
   call MPI_Comm_size(MPI_COMM_WORLD, size)
   right = mod(rank + 1, size)
   left = mod(rank + size - 1, size)
   one = rank
   call MPI_Barrier(MPI_COMM_WORLD)
   call MPI_Irecv(two, 4, MPI_INTEGER, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, requests(1))
   call MPI_Isend(one, 4, MPI_INTEGER, right, 1, MPI_COMM_WORLD, requests(2))
   call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
   if (two(1) /= left) call MPI_Abort(MPI_COMM_WORLD, 9)
   call MPI_Sendrecv(one, 4, MPI_INTEGER, right, 2, two, 4, MPI_INTEGER, left, 2, MPI_COMM_WORLD, status)
   if (status%MPI_SOURCE /= left) call MPI_Abort(MPI_COMM_WORLD, 9)
   call MPI_Allreduce(MPI_IN_PLACE, one, 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
   if (one(1) /= size * (size - 1) / 2) call MPI_Abort(MPI_COMM_WORLD, 9)
   call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, half)
   call MPI_Bcast(two, 4, MPI_INTEGER, 0, half)
   call MPI_Comm_free(half)
end subroutine

program bindings
   use mpi
   implicit none
   integer :: ierr, rank
   call MPI_Init(ierr)
   call old_style
   call module_style
   call f08_style
   call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
   if (rank == 0) print '(a)', 'bindings done'
   call MPI_Finalize(ierr)
end program
