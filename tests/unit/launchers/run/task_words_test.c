/* The value of srun --podprof as words of podprof run. */
#include <stdlib.h>

#include "launchers/run/task_words.h"
#include "tests/test.h"

static char *const command[] = {"--", "./train", "-n", "2", NULL};

static void check_words(const char *given, const char *const *options)
{
	char **words = pp_task_words(given, command);
	size_t n = 1;

	CHECK(words != NULL);
	if (!words)
		return;
	CHECK_STR(words[0], "podprof run");
	for (; *options; options++, n++) {
		CHECK(words[n] != NULL);
		if (!words[n])
			break;
		CHECK_STR(words[n], *options);
		free(words[n]);
	}
	for (size_t i = 0; command[i]; i++)
		CHECK_STR(words[n + i], command[i]);
	CHECK(!words[n + 4]);
	free(words); /* NOLINT(bugprone-multi-level-implicit-pointer-conversion): pointers */
}

TEST(words)
{
	check_words("", (const char *[]){NULL});
	check_words("steps=10:20", (const char *[]){"--steps=10:20", NULL});
	check_words("steps=10:20,xspace=rank", (const char *[]){"--steps=10:20", "--xspace=rank", NULL});
	check_words("steps=1:2,3:4,5:6,output=/a b/c", (const char *[]){"--steps=1:2,3:4,5:6", "--output=/a b/c", NULL});
	check_words("ranks=0,3-5", (const char *[]){"--ranks=0,3-5", NULL});
	check_words(",steps=1:2,,session=a=b,", (const char *[]){"--steps=1:2", "--session=a=b", NULL});
	check_words("quiet", (const char *[]){"--quiet", NULL});
	check_words(",", (const char *[]){NULL});
}

int main(void)
{
	words();
	return test_end();
}
