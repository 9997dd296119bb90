/* Names as numbers: equal text, equal id; bad UTF-8; many names; the limit. */
#include "core/ring/intern.h"

#include "tests/test.h"

TEST(ids)
{
	struct pp_intern *t = pp_intern_new();
	size_t length = 9;
	uint32_t a = pp_intern_put(t, "forward", 7), b = pp_intern_put(t, "backward", 8);

	CHECK_INT(pp_intern_put(t, "", 0), 0);
	CHECK_STR(pp_intern_text(t, 0, &length), "");
	CHECK_INT(length, 0);
	CHECK(a != b);
	CHECK_INT(pp_intern_put(t, "forwardX", 7), a);
	CHECK_STR(pp_intern_text(t, b, &length), "backward");
	CHECK_INT(length, 8);
	CHECK_STR(pp_intern_text(t, 999, NULL), "");
	CHECK_INT(pp_intern_count(t), 3);
	pp_intern_free(t);
}

TEST(repaired)
{
	struct pp_intern *t = pp_intern_new();
	const char *bad[] = {"\xff", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82"};
	const int bytes[] = {1, 2, 3, 4, 2};
	uint32_t id;

	for (int i = 0; i < 5; i++) {
		size_t length = 0;

		id = pp_intern_put(t, bad[i], (size_t)bytes[i]);
		CHECK(!strncmp(pp_intern_text(t, id, &length), "\xef\xbf\xbd", 3));
		CHECK_INT(length, 3 * bytes[i]);
		CHECK_INT(pp_intern_put(t, bad[i], (size_t)bytes[i]), id);
	}
	CHECK_INT(pp_intern_put(t, "\xfe", 1), pp_intern_put(t, "\xef\xbf\xbd", 3));
	CHECK_STR(pp_intern_text(t, pp_intern_put(t, "a\0b", 3), NULL), "a\xef\xbf\xbd"
	                                                                "b");
	/* what could look like a line of its own: newline, U+0085, U+200F, U+2028, U+202E, U+2069, U+061C */
	CHECK_STR(pp_intern_text(t, pp_intern_put(t, "a\nb", 3), NULL), "a\xef\xbf\xbd"
	                                                                "b");
	for (int i = 0; i < 6; i++) {
		static const char *const line[] = {"\xc2\x85",     "\xe2\x80\x8f", "\xe2\x80\xa8",
		                                   "\xe2\x80\xae", "\xe2\x81\xa9", "\xd8\x9c"};

		CHECK(!strstr(pp_intern_text(t, pp_intern_put(t, line[i], strlen(line[i])), NULL), line[i]));
	}
	CHECK_STR(pp_intern_text(t, pp_intern_put(t, "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80", 15), NULL),
	          "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80");
	pp_intern_free(t);
}

TEST(many)
{
	struct pp_intern *t = pp_intern_new();
	char name[64];
	uint32_t refused = 0;

	for (int i = 0; i < 100000; i++)
		CHECK_INT(pp_intern_put(t, name, (size_t)snprintf(name, sizeof(name), "a name of some length, number %d", i)),
		          i + 1);
	for (int i = 0; i < 100000; i += 7)
		CHECK_INT(pp_intern_put(t, name, (size_t)snprintf(name, sizeof(name), "a name of some length, number %d", i)),
		          i + 1);
	pp_intern_limit(t, pp_intern_bytes(t));
	for (int i = 0; i < 1000; i++)
		refused += !pp_intern_put(t, name, (size_t)snprintf(name, sizeof(name), "new %d", i));
	CHECK_INT(refused, 1000);
	CHECK_INT(pp_intern_put(t, name, (size_t)snprintf(name, sizeof(name), "a name of some length, number %d", 5)), 6);
	pp_intern_free(t);
}

int main(void)
{
	ids();
	repaired();
	many();
	return test_end();
}
