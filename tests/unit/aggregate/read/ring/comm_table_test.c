/* Communicators by id: as many as a program makes, each once, found again after the table grew. */
#include "aggregate/read/ring/comm_table.h"

#include <stdlib.h>

#include "core/capture/side.h"
#include "tests/test.h"

enum { MANY = 200000 };

static uint64_t id_of(uint32_t i)
{
	return (i + 1) * 0x100000001b3u;
}

int main(void)
{
	struct pp_comm_table t = {0}, next;

	for (uint32_t i = 0; i < MANY; i++) {
		struct pp_comm *c = pp_comm_table_put(&t, id_of(i));

		if (!c || c->id != id_of(i) || c->size || t.comms != i + 1) {
			CHECK_INT(i, MANY);
			break;
		}
		c->size = i + 1;
	}
	for (uint32_t i = 0; i < MANY; i += 7)
		if (pp_comm_table_put(&t, id_of(i))->size != i + 1)
			CHECK_INT(i, MANY);
	CHECK_INT(t.comms, MANY);

	/* an array that somebody else made */
	next = (struct pp_comm_table){.comm = malloc(3 * sizeof(*next.comm)), .comms = 3, .room = 3};
	for (uint32_t i = 0; i < 3; i++)
		next.comm[i] = (struct pp_comm){.id = id_of(i), .size = i + 1};
	CHECK_INT(pp_comm_table_put(&next, id_of(2))->size, 3);
	CHECK_INT(pp_comm_table_put(&next, 0)->size, 0);
	CHECK_INT(next.comms, 4);
	free(next.comm);
	free(next.map.place);
	free(t.comm);
	free(t.map.place);
	return test_end();
}
