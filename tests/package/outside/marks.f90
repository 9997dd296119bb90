! Ten marked steps in Fortran; prints whether anybody recorded them.
program marks
   use podprof
   implicit none
   integer :: i
   logical :: recorded = .false.
   character(len=300) :: long
   long = repeat("n", 300)
   do i = 0, 9
      call podprof_step_begin(i)
      call podprof_range_push("from Fortran", podprof_input)
      call podprof_range_pop()
      call podprof_range_push(long)
      call podprof_range_pop()
      call podprof_mark("here  ")
      call podprof_counter("half", 0.5)
      recorded = recorded .or. podprof_recording()
      call podprof_step_end()
   end do
   print "(a, i0)", "recorded ", merge(1, 0, recorded)
end program
