! Marks of steps and ranges for podprof, from Fortran: `use podprof`. Compile this file with the program, and link libpodprof-marks.
! Where the program is not run by `podprof run`, or podprof is not there, the calls do nothing. Any thread may call them.
module podprof
   use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
   use, intrinsic :: iso_c_binding, only: c_int, c_int64_t, c_double, c_char, c_null_char
   implicit none
   private
   public :: podprof_step_begin, podprof_step_end, podprof_range_push, podprof_range_pop, podprof_mark, podprof_counter
   public :: podprof_recording, podprof_window_start, podprof_window_stop, podprof_profile_steps

   ! What a range is; podprof_by_name lets its name decide.
   integer, parameter, public :: podprof_by_name = 0, podprof_device_compute = 1, podprof_device_to_device = 2, &
                                 podprof_device_collective = 3, podprof_host_compute = 4, podprof_kernel_launch = 5, &
                                 podprof_input = 6, podprof_output = 7, podprof_compilation = 8, podprof_other = 9, &
                                 podprof_host_communication = 10
   integer, parameter :: short = 255 ! a name of this length needs no memory

   ! Step `number` begins on this thread; the step before ends, if it has not.
   interface podprof_step_begin
      module procedure step_begin_int32
      module procedure step_begin_int64
   end interface

   interface podprof_counter
      module procedure counter_real32
      module procedure counter_real64
   end interface

   ! Steps first to last - 1 as a window, on every rank.
   interface podprof_profile_steps
      module procedure profile_steps_int32
      module procedure profile_steps_int64
   end interface

   interface
      subroutine c_step_begin(number) bind(c, name="podprof_step_begin")
         import :: c_int64_t
         integer(c_int64_t), value :: number
      end subroutine
      subroutine podprof_step_end() bind(c, name="podprof_step_end")
      end subroutine
      subroutine c_range_push_as(name, category) bind(c, name="podprof_range_push_as")
         import :: c_char, c_int
         character(kind=c_char), intent(in) :: name(*)
         integer(c_int), value :: category
      end subroutine
      subroutine podprof_range_pop() bind(c, name="podprof_range_pop")
      end subroutine
      subroutine c_mark(name) bind(c, name="podprof_mark")
         import :: c_char
         character(kind=c_char), intent(in) :: name(*)
      end subroutine
      subroutine c_counter(name, number) bind(c, name="podprof_counter")
         import :: c_char, c_double
         character(kind=c_char), intent(in) :: name(*)
         real(c_double), value :: number
      end subroutine
      function c_recording() bind(c, name="podprof_recording") result(is)
         import :: c_int
         integer(c_int) :: is
      end function
      subroutine c_window_start(name) bind(c, name="podprof_window_start")
         import :: c_char
         character(kind=c_char), intent(in) :: name(*)
      end subroutine
      subroutine podprof_window_stop() bind(c, name="podprof_window_stop")
      end subroutine
      subroutine c_profile_steps(first, last) bind(c, name="podprof_profile_steps")
         import :: c_int64_t
         integer(c_int64_t), value :: first, last
      end subroutine
   end interface

contains

   subroutine step_begin_int32(number)
      integer(int32), intent(in) :: number
      call c_step_begin(int(number, c_int64_t))
   end subroutine

   subroutine step_begin_int64(number)
      integer(int64), intent(in) :: number
      call c_step_begin(int(number, c_int64_t))
   end subroutine

   ! As text of C, in `text`. A name that is too long for it is cut.
   pure subroutine to_c(name, text)
      character(len=*), intent(in) :: name
      character(kind=c_char), intent(out) :: text(short + 1)
      integer :: i, length
      length = min(len_trim(name), short)
      do i = 1, length
         text(i) = name(i:i)
      end do
      text(length + 1) = c_null_char
   end subroutine

   ! Ranges nest on their thread. `category` is one of those above.
   subroutine podprof_range_push(name, category)
      character(len=*), intent(in) :: name
      integer, intent(in), optional :: category
      character(kind=c_char) :: text(short + 1)
      integer(c_int) :: what
      what = podprof_by_name
      if (present(category)) what = int(category, c_int)
      if (len_trim(name) > short) then
         call c_range_push_as(trim(name)//c_null_char, what)
      else
         call to_c(name, text)
         call c_range_push_as(text, what)
      end if
   end subroutine

   subroutine podprof_mark(name)
      character(len=*), intent(in) :: name
      call c_mark(trim(name)//c_null_char)
   end subroutine

   subroutine counter_real32(name, number)
      character(len=*), intent(in) :: name
      real(real32), intent(in) :: number
      call c_counter(trim(name)//c_null_char, real(number, c_double))
   end subroutine

   subroutine counter_real64(name, number)
      character(len=*), intent(in) :: name
      real(real64), intent(in) :: number
      call c_counter(trim(name)//c_null_char, real(number, c_double))
   end subroutine

   ! .true. while marks are recorded, for work that is only done for the profile.
   function podprof_recording() result(is)
      logical :: is
      is = c_recording() /= 0
   end function

   ! A window from here to podprof_window_stop(), a session of its own. Every rank calls them at the same place.
   subroutine podprof_window_start(name)
      character(len=*), intent(in) :: name
      call c_window_start(trim(name)//c_null_char)
   end subroutine

   subroutine profile_steps_int32(first, last)
      integer(int32), intent(in) :: first, last
      call c_profile_steps(int(first, c_int64_t), int(last, c_int64_t))
   end subroutine

   subroutine profile_steps_int64(first, last)
      integer(int64), intent(in) :: first, last
      call c_profile_steps(int(first, c_int64_t), int(last, c_int64_t))
   end subroutine
end module
