/* Objects and lists of JSON: commas, names, brackets and lines in their places; unknown values, large numbers and bad names. */
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "aggregate/write/json_object.h"
#include "tests/test.h"

static char *text;
static size_t size;

static struct pp_json opened(void)
{
	return (struct pp_json){.to = open_memstream(&text, &size)};
}

static void closed(const struct pp_json *j, const char *want)
{
	CHECK_INT(fclose(j->to), 0);
	CHECK_INT(j->depth, 0);
	CHECK_STR(text, want);
	free(text);
}

TEST(nested)
{
	struct pp_json j = opened();

	pp_json_open(&j, NULL);
	pp_json_open_list(&j, "empty");
	pp_json_close(&j);
	pp_json_open(&j, "none");
	pp_json_close(&j);
	pp_json_open_list(&j, "list");
	pp_json_add_int(&j, NULL, 1);
	pp_json_open_list(&j, NULL);
	pp_json_add_bool(&j, NULL, 2);
	pp_json_close(&j);
	pp_json_open(&j, NULL);
	pp_json_add_bool(&j, "a", 0);
	pp_json_add_null(&j, "b");
	pp_json_close(&j);
	pp_json_close(&j);
	pp_json_add_text(&j, "last", "x");
	pp_json_close(&j);
	closed(&j, "{\"empty\":[],\"none\":{},\"list\":[1,[true],{\"a\":false,\"b\":null}],\"last\":\"x\"}");
}

TEST(lines)
{
	struct pp_json j = opened();

	pp_json_open_list(&j, NULL);
	for (int i = 0; i < 2; i++) {
		pp_json_line(&j);
		pp_json_add_int(&j, NULL, i);
	}
	pp_json_line(&j);
	pp_json_close(&j);
	closed(&j, "[\n0,\n1\n]");
}

TEST(numbers)
{
	struct pp_json j = opened();

	pp_json_open_list(&j, NULL);
	pp_json_add_int(&j, NULL, INT64_MIN);
	pp_json_add_int(&j, NULL, INT64_MAX);
	pp_json_add_int(&j, NULL, INT32_MIN);
	pp_json_add_number(&j, NULL, "%llu", ULLONG_MAX);
	pp_json_add_real(&j, NULL, 0.1);
	pp_json_add_real(&j, NULL, NAN);
	pp_json_add_number(&j, NULL, "%.3f", 2.0 / 3);
	pp_json_add_number(&j, NULL, "%.3f", (double)NAN);
	pp_json_add_number(&j, NULL, "%.3f", -(double)INFINITY);
	pp_json_add_id(&j, NULL, 255);
	pp_json_close(&j);
	closed(&j, "[null,\"9223372036854775807\",-2147483648,18446744073709551615,0.10000000000000001,null,0.667,null,null,"
	           "\"00000000000000ff\"]");
	j = opened();
	pp_json_add_number(&j, NULL, "%.0f", -1.7976931348623157e308);
	CHECK_INT(fclose(j.to), 0);
	CHECK_INT(size, 310); /* all of its digits */
	free(text);
}

TEST(texts)
{
	struct pp_json j = opened();

	pp_json_open(&j, NULL);
	pp_json_add_text(&j, "a\"b\n", NULL);
	pp_json_add_text(&j, "bad", "\xff\xc3\xa4\xc3");
	pp_json_add_text(&j, "script", "</script>\x1b&");
	pp_json_close(&j);
	closed(&j, "{\"a\\u0022b\\u000a\":null,\"bad\":\"\\ufffd\xc3\xa4\\ufffd\","
	           "\"script\":\"\\u003c/script\\u003e\\u001b\\u0026\"}");
}

int main(void)
{
	nested();
	lines();
	numbers();
	texts();
	return test_end();
}
