/* Reads how large tensors are; see c10d_tensor.h. */
#include "core/source/torch/c10d_tensor.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

/* c10::TensorImpl has 176 bytes or more in each torch that c10d_method.def knows, the number of its elements at 152 or 160, and
 * more than the type behind it. */
enum { LAST = 160, ELEMENTS_MOST = 1 << 16 };

struct vector { /* std::vector of tensors, or of vectors */
	const char *begin, *end, *room;
};

static _Atomic uint32_t elements_at; /* the type stands 8 bytes behind; 0: unknown */

/* Bytes of an element by c10::ScalarType, a number that torch never changes; types of less than a byte count as one. */
static const uint8_t type_bytes[64] = {
        1, 1, 2, 4, 8, 2, 4, 8, 4, 8, 16, 1, 1, 1, 4, 2, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 2, 4, 8, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,  1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
};

static int fits(uint64_t tensor, uint32_t at, int64_t elements, int32_t type)
{
	int64_t has;
	uint16_t has_type;

	memcpy(&has, (const char *)tensor + at, sizeof(has));
	memcpy(&has_type, (const char *)tensor + at + sizeof(has), sizeof(has_type));
	return has == elements && has_type == type;
}

int pp_c10d_tensor_learn(const uint64_t *at, const int64_t *elements, const int32_t *type, int tensors)
{
	uint32_t found = 0;

	for (uint32_t offset = 8; tensors > 1 && offset <= LAST; offset += sizeof(int64_t)) {
		int n = 0;

		while (n < tensors && at[n] && fits(at[n], offset, elements[n], type[n]))
			n++;
		if (n == tensors && found) {
			atomic_store_explicit(&elements_at, 0, memory_order_relaxed);
			return 0;
		}
		found = n == tensors ? offset : found;
	}
	atomic_store_explicit(&elements_at, found, memory_order_relaxed);
	return found != 0;
}

static uint64_t bytes_of(uint64_t tensor, uint32_t at)
{
	int64_t elements;
	uint16_t type;

	if (!tensor)
		return 0;
	memcpy(&elements, (const char *)tensor + at, sizeof(elements));
	memcpy(&type, (const char *)tensor + at + sizeof(elements), sizeof(type));
	return elements > 0 ? (uint64_t)elements * (type < sizeof(type_bytes) ? type_bytes[type] : 1) : 0;
}

static uint64_t bytes_in(const struct vector *v, uint32_t at)
{
	uint64_t bytes = 0;
	size_t n = (size_t)(v->end - v->begin) / sizeof(uint64_t);

	for (size_t i = 0; i < n && i < ELEMENTS_MOST; i++)
		bytes += bytes_of(((const uint64_t *)v->begin)[i], at);
	return bytes;
}

uint64_t pp_c10d_tensor_bytes(enum pp_c10d_shape shape, const void *argument)
{
	uint32_t at = atomic_load_explicit(&elements_at, memory_order_relaxed);
	const struct vector *all = argument;
	uint64_t bytes = 0;

	if (!at || !argument || shape == PP_C10D_NONE)
		return 0;
	if (shape == PP_C10D_T)
		return bytes_of(*(const uint64_t *)argument, at);
	if (shape == PP_C10D_V)
		return bytes_in(all, at);
	for (const struct vector *v = (const struct vector *)all->begin; (const char *)v < all->end; v++)
		bytes += bytes_in(v, at);
	return bytes;
}
