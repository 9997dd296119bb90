! One step of the stencil, and how much the plate changed in it, over all ranks: use mpi.
module residual
   use mpi
   implicit none

contains

   pure subroutine advance(now, next, change)
      double precision, intent(in) :: now(:, :)
      double precision, intent(inout) :: next(:, :)
      double precision, intent(out) :: change
      integer :: i, j
      change = 0
      do j = 2, size(now, 2) - 1
         do i = 2, size(now, 1) - 1
            next(i, j) = now(i, j) + 0.2d0*(now(i - 1, j) + now(i + 1, j) + now(i, j - 1) + now(i, j + 1) - 4*now(i, j))
            change = max(change, abs(next(i, j) - now(i, j)))
         end do
      end do
   end subroutine

   subroutine reduce_change(change)
      double precision, intent(inout) :: change
      integer :: ierr
      call MPI_Allreduce(MPI_IN_PLACE, change, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, ierr)
   end subroutine
end module
