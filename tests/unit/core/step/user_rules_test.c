/* Rules of a user. */
#include "core/step/user_rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/step/category.h"
#include "core/step/classify.h"
#include "tests/test.h"

/* Writes a file of rules and loads it. */
static int load(const char *text, struct pp_err *err)
{
	char path[] = "/tmp/podprof-rules-XXXXXX";
	int fd = mkstemp(path), rc;

	*err = (struct pp_err){""};
	CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	rc = pp_user_rules_load(path, err);
	CHECK(!rc || strstr(err->text, path));
	unlink(path);
	close(fd);
	return rc;
}

static struct pp_class class_of(enum pp_origin origin, const char *name)
{
	return pp_category_of(origin, name, strlen(name));
}

/* They go before the others, in the order of their file; words are looked for in all ranges but frames. */
TEST(words)
{
	static const struct {
		const char *name;
		enum pp_origin origin;
		enum pp_category category;
		enum pp_grounds by;
	} want[] = {{"fetchShards", PP_ORIGIN_PROGRAM, PP_CATEGORY_INPUT, PP_BY_RULE},
	            {"my::FetchShards", PP_ORIGIN_OPERATOR, PP_CATEGORY_INPUT, PP_BY_RULE},
	            {"fetchShards", PP_ORIGIN_PYTHON, PP_CATEGORY_HOST_COMPUTE, PP_BY_KIND},
	            {"fetch", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMPUTE, PP_BY_NOTHING},
	            {"MyStep", PP_ORIGIN_PROGRAM, PP_CATEGORY_OTHER, PP_BY_RULE},
	            {"a b", PP_ORIGIN_PROGRAM, PP_CATEGORY_OUTPUT, PP_BY_RULE},
	            {"forward", PP_ORIGIN_PROGRAM, PP_CATEGORY_COMPILATION, PP_BY_RULE},
	            {"save", PP_ORIGIN_PROGRAM, PP_CATEGORY_OUTPUT, PP_BY_WORDS}};
	struct pp_err err;

	CHECK_INT(load("# mine\n\n  Fetch-Shard* = input   # as written in the program\nmy_step = All others\r\n"
	               "a=b = Output\nforward = Compilation",
	               &err),
	          0);
	CHECK_STR(err.text, "");
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		struct pp_class got = class_of(want[i].origin, want[i].name);

		CHECK_INT(got.category, want[i].category);
		CHECK_INT(got.by, want[i].by);
	}
}

TEST(kinds)
{
	struct pp_err err;

	CHECK_INT(load("kernel:multimem* = Device collective\nkernel: my*copy = device to device\noperator:my_ext::* = Output\n"
	               "frame:data/feed.py(*): next = Input\nlibrary:Frob::* = Host communication\nrange:save = Input\n"
	               "runtime:cudaFoo = Kernel launch\naten::add = Output",
	               &err),
	          0);
	CHECK_STR(err.text, "");
	CHECK_INT(pp_user_rule_of_kernel("multimem_all_reduce", 19), PP_CATEGORY_DEVICE_COLLECTIVE);
	CHECK_INT(pp_user_rule_of_kernel("my_fast_copy", 12), PP_CATEGORY_DEVICE_TO_DEVICE);
	CHECK_INT(pp_user_rule_of_kernel("save", 4), 0);
	CHECK_INT(class_of(PP_ORIGIN_OPERATOR, "my_ext::f").category, PP_CATEGORY_OUTPUT);
	CHECK_INT(class_of(PP_ORIGIN_PROGRAM, "my_ext::f").by, PP_BY_NOTHING);
	CHECK_INT(class_of(PP_ORIGIN_PYTHON, "/opt/mine/data/feed.py(12): next").category, PP_CATEGORY_INPUT);
	CHECK_INT(class_of(PP_ORIGIN_LIBRARY, "Frob::Send").category, PP_CATEGORY_HOST_COMMUNICATION);
	CHECK_INT(class_of(PP_ORIGIN_PROGRAM, "save all").category, PP_CATEGORY_INPUT);
	CHECK_INT(class_of(PP_ORIGIN_OPERATOR, "save all").category, PP_CATEGORY_HOST_COMPUTE);
	CHECK_INT(class_of(PP_ORIGIN_RUNTIME, "cudaFoo").category, PP_CATEGORY_KERNEL_LAUNCH);
	CHECK_INT(class_of(PP_ORIGIN_OPERATOR, "aten::add").category, PP_CATEGORY_OUTPUT); /* no kind: "aten" is none */
	CHECK_INT(load("\xef\xbb\xbfkernel:* = Device compute\ngloo:all = Input", &err), 0);
	CHECK_INT(pp_user_rule_of_kernel("anything", 8), PP_CATEGORY_DEVICE_COMPUTE);
	CHECK_INT(class_of(PP_ORIGIN_OPERATOR, "gloo:all").category, PP_CATEGORY_INPUT);
}

TEST(bad)
{
	static const char *const bad[][2] = {
	        {"a = Input\n\nfetch\n", "line 3: 'fetch' has no '='"},
	        {"a = In put", "line 1: unknown category: 'In put'. Choose one of: Host compute, "},
	        {"a = Device", "line 1: unknown category: 'Device'"},
	        {"a = Device compute", "line 1: a range cannot be 'Device compute'. Choose one of: Host compute"},
	        {"kernel:a = Input",
	         "line 1: a kernel cannot be 'Input'. Choose one of: Device compute, Device to device, Device coll"},
	        {"kernel: = Device compute", "line 1: no name before '='"},
	        {"operator:a = Device compute", "line 1: an operator cannot be"},
	        {"op:a::b = Input", "line 1: 'op' is no kind. Write 'operator:'"},
	        {"kernels:a = Input", "line 1: 'kernels' is no kind. Write 'kernel:'"},
	        {" :: = Input", "line 1: no word before '='"},
	        {"a* b*c = Input", "line 1: '*' in 'a* b*c' is not at the end of a word"},
	        {"* = Input", "line 1: '*' in '*' is not at the end of a word"},
	};
	char path[] = "/tmp/podprof-rules-XXXXXX";
	int fd = mkstemp(path);
	struct pp_err err;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CHECK_INT(load(bad[i][0], &err), -EINVAL);
		if (!strstr(err.text, bad[i][1]))
			fprintf(stderr, "%s\n", err.text);
		CHECK(strstr(err.text, bad[i][1]) != NULL);
		CHECK_INT(class_of(PP_ORIGIN_PROGRAM, "a").by, PP_BY_NOTHING); /* none stays */
	}
	CHECK(write(fd, "a = Input\0\n", 11) == 11);
	CHECK_INT(pp_user_rules_load(path, &err), -EINVAL);
	CHECK(strstr(err.text, "line 1: a zero byte") != NULL);
	unlink(path);
	close(fd);
	CHECK_INT(pp_user_rules_load(path, &err), -ENOENT);
	CHECK_INT(class_of(PP_ORIGIN_PROGRAM, "forward").by, PP_BY_WORDS);
}

int main(void)
{
	words();
	kinds();
	bad();
	pp_user_rules_release();
	return test_end();
}
