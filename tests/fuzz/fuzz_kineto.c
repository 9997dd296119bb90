/* Any bytes as a Kineto file, plain or packed; see fuzz.h. */
#include <stdlib.h>
#include <sys/mman.h>

#include "tests/fuzz/fuzz.h"
#include "tests/unit/aggregate/read/kineto/kineto_kit.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct pp_capture c;

	if (!kit_read_bytes((const char *)bytes, size, &c)) {
		kit_check(&c);
		pp_capture_release(&c);
	}
	if (test_failures)
		abort();
	return 0;
}
