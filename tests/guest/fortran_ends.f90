! A ring sum in the three dialects of MPI for Fortran (mpi_f08, use mpi, mpif.h), result checked. Run by guest_table.py.
module ring_f08
contains
  subroutine shift(mine, got, left, right)
    use mpi_f08
    integer, intent(in), asynchronous :: mine
    integer, intent(inout), asynchronous :: got
    integer, intent(in) :: left, right
    type(MPI_Request) :: request(2)
    call MPI_Irecv(got, 1, MPI_INTEGER, left, 3, MPI_COMM_WORLD, request(1))
    call MPI_Isend(mine, 1, MPI_INTEGER, right, 3, MPI_COMM_WORLD, request(2))
    call MPI_Waitall(2, request, MPI_STATUSES_IGNORE)
  end subroutine
end module

module total_f90
contains
  integer function total(x)
    use mpi
    integer, intent(in) :: x
    integer :: ierr
    call MPI_ALLREDUCE(x, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  end function
end module

program fortran_ends
  use ring_f08
  use total_f90
  implicit none
  include 'mpif.h'
  integer :: ierr, rank, ranks, token, got, step, seen
  call MPI_INIT(ierr)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
  call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierr)
  token = rank
  seen = 0
  do step = 1, ranks
    call shift(token, got, mod(rank + ranks - 1, ranks), mod(rank + 1, ranks))
    seen = seen + got
    token = got
    call MPI_BARRIER(MPI_COMM_WORLD, ierr)
  end do
  if (seen /= ranks*(ranks - 1)/2 .or. total(1) /= ranks) call MPI_ABORT(MPI_COMM_WORLD, 8, ierr)
  print '(a,i0,a,i0)', 'rank ', rank, ' ring sum ', seen
  call MPI_FINALIZE(ierr)
end program
