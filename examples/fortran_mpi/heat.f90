! A plate warms up from one edge: explicit steps of the heat equation, columns divided among the ranks. The three Fortran bindings of
! MPI do a part each: halo.f (mpif.h) exchanges edges, residual.f90 (use mpi) reduces, checkpoint.f90 (use mpi_f08) does files and windows.
program heat
   use mpi
   use residual
   use checkpoint
   implicit none
   integer, parameter :: rows = 256, columns = 256
   double precision, allocatable :: now(:, :), next(:, :)
   double precision :: change, mine, largest
   integer :: rank, ranks, first, last, step, steps, every, ierr, length
   logical :: same
   character(len=400) :: path, word
   external :: exchange_edges

   call MPI_Init(ierr)
   call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
   call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
   steps = 40
   every = 10
   path = 'plate.bin'
   call get_command_argument(1, word, length)
   if (length > 0) path = word
   call get_command_argument(2, word, length)
   if (length > 0) read (word, *) steps

   ! columns first..last are this rank's; 0 and rows + 1 are the edge of the plate, first - 1 and last + 1 the neighbours'
   first = columns * rank / ranks + 1
   last = columns * (rank + 1) / ranks
   allocate (now(0:rows + 1, first - 1:last + 1), next(0:rows + 1, first - 1:last + 1))
   now = 0
   now(0, :) = 1
   next = now
   call board_open(ranks)
   do step = 1, steps
      call exchange_edges(now, rows, last - first + 1, rank, ranks)
      call advance(now, next, change)
      call swap(now, next)
      mine = change
      call reduce_change(change)
      call board_post(step, rank, ranks, mine, largest)
      if (rank == 0 .and. largest /= change) call MPI_Abort(MPI_COMM_WORLD, 2, ierr)
      if (mod(step, every) == 0) then
         call checkpoint_write(trim(path), now(1:rows, first:last), rows, first)
         if (rank == 0) print '(a, i4, a, es10.3)', 'step ', step, ' change ', change
      end if
   end do
   call board_close
   call checkpoint_check(trim(path), rows, columns, steps, same)
   if (rank == 0) then
      if (.not. same) then
         print '(a)', 'the file differs from what one rank computes'
         call MPI_Abort(MPI_COMM_WORLD, 3, ierr)
      end if
      print '(i0, a, i0, a)', ranks, ' ranks, ', steps, ' steps: as one rank computes it'
   end if
   call checkpoint_remove(trim(path))
   call MPI_Finalize(ierr)

contains

   subroutine swap(a, b)
      double precision, allocatable, intent(inout) :: a(:, :), b(:, :)
      double precision, allocatable :: c(:, :)
      call move_alloc(a, c)
      call move_alloc(b, a)
      call move_alloc(c, b)
   end subroutine
end program
