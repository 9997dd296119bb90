/* Any bytes as a message of another keeper: an error with a sentence, or a message that is without fault and can be sent on; see
 * fuzz.h. */
#include <stdlib.h>

#include "proto/message.h"
#include "tests/fuzz/fuzz.h"
#include "tests/test.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct pp_wire m;
	struct pp_err err = {""};
	void *again = NULL;
	size_t n;

	if (pp_wire_read(bytes, size, &m, &err)) {
		CHECK(err.text[0] && !strchr(err.text, '\n'));
	} else {
		CHECK(!pp_wire_fault(&m));
		CHECK_INT(pp_wire_write(&m, &again, &n, &err), 0);
		pp_wire_release(&m);
	}
	free(again);
	if (test_failures)
		abort();
	return 0;
}
