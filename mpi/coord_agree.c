/* The order of operations among ranks; see coord_agree.h. Called by coord_mpi.c. */
#include "mpi/coord_agree.h"

#include <errno.h>

static void issue(struct pp_agree *a, uint32_t number, int64_t step, int closing, int64_t *values)
{
	values[0] = (int64_t)number;
	values[1] = -(int64_t)number;
	values[2] = step;
	values[3] = closing;
	a->asked = number;
	a->pending = 1;
}

int pp_agree_begin(struct pp_agree *a, uint32_t number, int64_t step, int64_t ret_values[PP_AGREE_VALUES])
{
	if (a->over || a->pending || number <= a->answered || number < a->floor)
		return 0;
	issue(a, number, step, 0, ret_values);
	return 1;
}

int pp_agree_close(struct pp_agree *a, int64_t ret_values[PP_AGREE_VALUES])
{
	if (a->over || a->pending)
		return 0;
	issue(a, 0, INT64_MIN, 1, ret_values);
	return 1;
}

void pp_agree_end(struct pp_agree *a, const int64_t result[PP_AGREE_VALUES])
{
	a->pending = 0;
	a->over = result[3] != 0;
	if (!a->over && result[0] == -result[1]) {
		a->answered = (uint32_t)result[0];
		a->step = result[2];
	}
	if (result[0] > (int64_t)a->floor)
		a->floor = (uint32_t)result[0];
}

int pp_agree_answer(const struct pp_agree *a, uint32_t number, int64_t *ret_step)
{
	if (number && number == a->answered) {
		*ret_step = a->step;
		return 1;
	}
	if (a->over)
		return -EPIPE;
	if (a->pending && a->asked == number)
		return 0;
	return number < a->floor || number < a->answered ? 0 : -EAGAIN;
}
