/* Bytes of tensors, without torch's headers: where a tensor has its number of elements and its type is found once, by tensors of
 * known size. In: at::Tensor &, and vectors of them, as the C++ ABI has them. Out: bytes. Called by c10d.c and shim.c. */
#pragma once

#include <stdint.h>

enum pp_c10d_shape { PP_C10D_NONE, PP_C10D_T, PP_C10D_V, PP_C10D_VV };

/* Tensors at `at` have `elements` of type `type` (c10::ScalarType). 1: the place is known; 0: no place fits, or several do. */
int pp_c10d_tensor_learn(const uint64_t *at, const int64_t *elements, const int32_t *type, int tensors);
/* 0 too where the place is unknown. */
uint64_t pp_c10d_tensor_bytes(enum pp_c10d_shape shape, const void *argument);
