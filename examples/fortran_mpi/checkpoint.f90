! The plate as a file, and a board on rank 0 that every rank puts a number on: use mpi_f08.
module checkpoint
   use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
   use mpi_f08
   use residual, only: advance
   implicit none
   private
   public :: board_open, board_post, board_close, checkpoint_write, checkpoint_check, checkpoint_remove
   double precision, pointer, asynchronous :: board(:)
   type(MPI_Win) :: window

contains

   subroutine board_open(ranks)
      integer, intent(in) :: ranks
      type(c_ptr) :: memory
      call MPI_Win_allocate(16_MPI_ADDRESS_KIND*ranks, 8, MPI_INFO_NULL, MPI_COMM_WORLD, memory, window)
      call c_f_pointer(memory, board, [2*ranks])
      board = 0
      call MPI_Win_fence(0, window)
   end subroutine

   ! All put on rank 0's board; rank 0 looks for the largest, while the others may already put on the other half.
   subroutine board_post(step, rank, ranks, mine, largest)
      integer, intent(in) :: step, rank, ranks
      double precision, intent(in), asynchronous :: mine
      double precision, intent(out) :: largest
      integer :: half
      half = ranks*mod(step, 2)
      call MPI_Put(mine, 1, MPI_DOUBLE_PRECISION, 0, int(half + rank, MPI_ADDRESS_KIND), 1, MPI_DOUBLE_PRECISION, window)
      call MPI_Win_fence(0, window)
      largest = 0
      if (rank == 0) largest = maxval(board(half + 1:half + ranks))
   end subroutine

   subroutine board_close()
      call MPI_Win_free(window)
   end subroutine

   subroutine checkpoint_write(path, plate, rows, first)
      character(len=*), intent(in) :: path
      double precision, intent(in) :: plate(:, :)
      integer, intent(in) :: rows, first
      type(MPI_File) :: file
      type(MPI_Status) :: status
      call MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE + MPI_MODE_WRONLY, MPI_INFO_NULL, file)
      call MPI_File_write_at_all(file, 8_MPI_OFFSET_KIND*rows*(first - 1), plate, size(plate), MPI_DOUBLE_PRECISION, status)
      call MPI_File_close(file)
   end subroutine

   ! Rank 0 reads the whole plate and computes it alone; the others have nothing to do with it but the last barrier.
   subroutine checkpoint_check(path, rows, columns, steps, same)
      character(len=*), intent(in) :: path
      integer, intent(in) :: rows, columns, steps
      logical, intent(out) :: same
      double precision, allocatable :: read_back(:, :), now(:, :), next(:, :)
      double precision :: change
      integer :: rank, step
      type(MPI_File) :: file
      same = .true.
      call MPI_Comm_rank(MPI_COMM_WORLD, rank)
      if (rank == 0) then
         allocate (read_back(rows, columns), now(0:rows + 1, 0:columns + 1))
         call MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDONLY, MPI_INFO_NULL, file)
         call MPI_File_read(file, read_back, rows*columns, MPI_DOUBLE_PRECISION, MPI_STATUS_IGNORE)
         call MPI_File_close(file)
         now = 0
         now(0, :) = 1
         next = now
         do step = 1, steps
            call advance(now, next, change)
            now = next
         end do
         same = all(read_back == now(1:rows, 1:columns))
      end if
      call MPI_Barrier(MPI_COMM_WORLD)
   end subroutine

   subroutine checkpoint_remove(path)
      character(len=*), intent(in) :: path
      integer :: rank
      call MPI_Comm_rank(MPI_COMM_WORLD, rank)
      if (rank == 0) call MPI_File_delete(path, MPI_INFO_NULL)
   end subroutine
end module
