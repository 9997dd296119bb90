/* Where a tensor has its size is found, or is not; bytes of tensors and of vectors of them. */
#include "core/source/torch/c10d_tensor.h"

#include <string.h>

#include "tests/test.h"

enum { TENSORS = 3, WORDS = 22 };

struct list {
	const void *begin, *end, *room;
};

static uint64_t memory[TENSORS][WORDS];
static uint64_t at[TENSORS];
static const int64_t elements[TENSORS] = {6009, 20495, 57463};
static const int32_t type[TENSORS] = {6, 7, 15};

/* As torch has them from word `place` on. */
static void make(size_t place)
{
	memset(memory, 0, sizeof(memory));
	for (size_t i = 0; i < TENSORS; i++) {
		at[i] = (uint64_t)(uintptr_t)memory[i];
		memory[i][place] = (uint64_t)elements[i];
		memory[i][place + 1] = (uint64_t)type[i] | (uint64_t)0xabcd << 16;
	}
}

TEST(finds_its_place)
{
	struct list two = {at, at + 2, at + 3}, one = {at + 2, at + 3, at + 3}, lists[] = {two, one},
	            all = {lists, lists + 2, lists + 2};

	CHECK_INT(pp_c10d_tensor_bytes(PP_C10D_T, at), 0); /* nothing is known yet */
	for (size_t place = 19; place <= 20; place++) {
		make(place);
		CHECK_INT(pp_c10d_tensor_learn(at, elements, type, TENSORS), 1);
		CHECK_INT(pp_c10d_tensor_bytes(PP_C10D_T, at), 6009 * 4);
		CHECK_INT(pp_c10d_tensor_bytes(PP_C10D_V, &two), 6009 * 4 + 20495 * 8);
		CHECK_INT(pp_c10d_tensor_bytes(PP_C10D_VV, &all), 6009 * 4 + 20495 * 8 + 57463 * 2);
		CHECK_INT(pp_c10d_tensor_bytes(PP_C10D_NONE, NULL), 0);
	}
}

TEST(does_not_guess)
{
	make(19);
	memory[1][20] = 6; /* another type */
	CHECK_INT(pp_c10d_tensor_learn(at, elements, type, TENSORS), 0);
	CHECK_INT(pp_c10d_tensor_bytes(PP_C10D_T, at), 0);
	make(19);
	for (size_t i = 0; i < TENSORS; i++) { /* two places fit */
		memory[i][4] = memory[i][19];
		memory[i][5] = memory[i][20];
	}
	CHECK_INT(pp_c10d_tensor_learn(at, elements, type, TENSORS), 0);
}

int main(void)
{
	finds_its_place();
	does_not_guess();
	return test_end();
}
