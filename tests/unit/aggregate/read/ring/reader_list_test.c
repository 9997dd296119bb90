/* The list of readers: every kind of record has one, but for those that are the dispatcher's own. */
#include <stdint.h>

#include "aggregate/read/ring/reader.h"
#include "tests/test.h"

int main(void)
{
	unsigned takers[PP_RECORD_KINDS] = {
	        [PP_RECORD_NONE] = 1, [PP_RECORD_TEXT] = 1, [PP_RECORD_GAP] = 1, [PP_RECORD_THREAD_END] = 1};

	for (int i = 0; i < PP_READERS; i++) {
		const struct pp_reader_ops *ops = pp_reader_list[i];

		CHECK(ops && ops->name && ops->kinds);
		for (const struct pp_reader_kind *k = ops->kinds; k->kind != PP_RECORD_NONE; k++) {
			CHECK(k->kind < PP_RECORD_KINDS);
			CHECK((k->take != NULL) != (k->take_of_slot != NULL));
			takers[k->kind]++;
		}
	}
	for (int k = 0; k < PP_RECORD_KINDS; k++)
		CHECK_INT(takers[k], k == PP_RECORD_PAYLOAD || k == PP_RECORD_REQUEST ? 2 : 1);
	return test_end();
}
