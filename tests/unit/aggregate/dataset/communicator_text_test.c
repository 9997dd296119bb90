/* Communicators in sentences: by name, by members, by size. */
#include "aggregate/dataset/communicator_text.h"

#include "core/ring/intern.h"
#include "tests/test.h"

static const char *text_of(const struct pp_dataset *d, uint64_t id)
{
	static char text[PP_COMMUNICATOR_TEXT];

	return pp_communicator_text(d, id, text);
}

int main(void)
{
	struct pp_intern *names = pp_intern_new();
	int32_t all[8] = {0, 1, 2, 3, 4, 5, 6, 7}, odd[4] = {1, 3, 5, 7}, part[4] = {4, 5, 6, -1}, own = 6;
	const uint32_t tp = pp_intern_put(names, "tp", 2);
	struct pp_row_communicator c[] = {
	        {.id = 1, .size = 8, .role = "world", .member = all},
	        {.id = 2, .size = 4, .role = "part", .member = odd, .name = tp},
	        {.id = 3, .size = 8, .role = "world", .member = all},
	        {.id = 4, .size = 4, .role = "part", .member = part},
	        {.id = 5, .size = 8, .role = "window", .member = all},
	        {.id = 6, .size = 1, .role = "self", .member = &own},
	        {.id = 7, .size = 2, .role = "unknown", .member = NULL},
	};
	struct pp_dataset d = {.names = names, .communicator = c, .communicators = sizeof(c) / sizeof(c[0])};

	CHECK_STR(text_of(&d, 1), "one of 2 communicators of ranks 0-7");
	CHECK_STR(text_of(&d, 2), "communicator 'tp' of ranks 1, 3, 5, 7");
	CHECK_STR(text_of(&d, 4), "communicator of 4 ranks");
	CHECK_STR(text_of(&d, 5), "window of ranks 0-7");
	CHECK_STR(text_of(&d, 6), "communicator of rank 6");
	CHECK_STR(text_of(&d, 7), "communicator of 2 ranks");
	CHECK_STR(text_of(&d, 99), "an unknown communicator");
	pp_intern_free(names);
	return test_end();
}
