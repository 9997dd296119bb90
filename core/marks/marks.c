/* libpodprof-marks: the functions of podprof.h out of line, for languages that call functions of C but read no header: Fortran
 * (podprof.f90), Julia, Rust. In: calls of the program, any thread. Out: calls of the collector, if it is there. */
#define podprof_step_begin inline_step_begin
#define podprof_step_end inline_step_end
#define podprof_range_push inline_range_push
#define podprof_range_push_as inline_range_push_as
#define podprof_range_pop inline_range_pop
#define podprof_mark inline_mark
#define podprof_counter inline_counter
#define podprof_recording inline_recording
#define podprof_window_start inline_window_start
#define podprof_window_stop inline_window_stop
#define podprof_profile_steps inline_profile_steps
#include "core/podprof.h"
#undef podprof_step_begin
#undef podprof_step_end
#undef podprof_range_push
#undef podprof_range_push_as
#undef podprof_range_pop
#undef podprof_mark
#undef podprof_counter
#undef podprof_recording
#undef podprof_window_start
#undef podprof_window_stop
#undef podprof_profile_steps

#include "core/marks/marks.h"

void podprof_step_begin(int64_t number)
{
	inline_step_begin(number);
}

void podprof_step_end(void)
{
	inline_step_end();
}

void podprof_range_push(const char *name)
{
	inline_range_push(name);
}

void podprof_range_push_as(const char *name, int category)
{
	inline_range_push_as(name, (enum podprof_category)category);
}

void podprof_range_pop(void)
{
	inline_range_pop();
}

void podprof_mark(const char *name)
{
	inline_mark(name);
}

void podprof_counter(const char *name, double value)
{
	inline_counter(name, value);
}

int podprof_recording(void)
{
	return inline_recording();
}

void podprof_window_start(const char *name)
{
	inline_window_start(name);
}

void podprof_window_stop(void)
{
	inline_window_stop();
}

void podprof_profile_steps(int64_t first, int64_t last)
{
	inline_profile_steps(first, last);
}
