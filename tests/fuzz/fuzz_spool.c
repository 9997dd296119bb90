/* Any bytes as a file of a spool, which the first byte chooses: options, rules, run file, control page, comparisons of clocks. Each
 * is read as the keeper, salvage and the verbs read it; see fuzz.h. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "aggregate/keeper/clock/clock_file.h"
#include "aggregate/keeper/clock/clock_packet.h"
#include "aggregate/spool/options.h"
#include "aggregate/spool/run_file.h"
#include "aggregate/spool/settings.h"
#include "aggregate/spool/state.h"
#include "core/clock/band.h"
#include "core/step/category.h"
#include "core/step/classify.h"
#include "core/step/user_rules.h"
#include "tests/fuzz/fuzz.h"
#include "tests/test.h"

static const char *const file[] = {"options", "rules", "run-7", "control", "clocks", "salvaged"};
enum { FILES = sizeof(file) / sizeof(file[0]) };

static char spool[64];

static const char *path_of(int i)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", spool, file[i]);
	return path;
}

static void end(void)
{
	rmdir(spool);
}

static void read_options(void)
{
	static struct pp_settings s;
	char value[64];

	CHECK_INT(pp_settings_read(spool, &s, NULL), 0);
	CHECK(s.windows.count <= (int)(sizeof(s.windows.first) / sizeof(s.windows.first[0])));
	CHECK(memchr(s.output, 0, sizeof(s.output)) && memchr(s.job, 0, sizeof(s.job)) && memchr(s.command, 0, sizeof(s.command)));
	CHECK(memchr(s.text, 0, sizeof(s.text)) != NULL);
	if (!pp_spool_read_option(spool, "OUTPUT", value, sizeof(value)))
		CHECK(memchr(value, 0, sizeof(value)) != NULL);
}

static void read_rules(void)
{
	struct pp_err err = {""};

	if (pp_settings_rules(spool, &err))
		CHECK(err.text[0] && !strchr(err.text, '\n'));
	else
		CHECK(pp_category_of(PP_ORIGIN_PROGRAM, "fetch shard of all_reduce", 25).category <= PP_CATEGORIES);
	pp_user_rules_release();
}

static void read_clocks(void)
{
	struct pp_clock_saved saved = {.records = 0};
	struct pp_err err = {""};

	if (pp_clock_file_read(spool, &saved, &err)) {
		CHECK(err.text[0] && !strchr(err.text, '\n'));
		return;
	}
	CHECK(saved.records && saved.records <= PP_CLOCK_FILE_RECORDS);
	pp_clock_saved_release(&saved);
}

/* Its records get checks that are right: libFuzzer would not find them. */
static void check_records(uint8_t *bytes, size_t size)
{
	static const uint8_t key[PP_CLOCK_KEY] = "podprof clocks.";
	enum { RECORD = sizeof(struct pp_clock_file_burst) };

	for (; size >= RECORD + sizeof(uint64_t); bytes += RECORD + sizeof(uint64_t), size -= RECORD + sizeof(uint64_t)) {
		uint64_t check = pp_siphash(key, bytes, RECORD);

		memcpy(bytes + RECORD, &check, sizeof(check));
	}
}

static void put_file(int i, const uint8_t *bytes, size_t size)
{
	int fd = open(path_of(i), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	uint8_t *copy = malloc(size + 1);

	if (fd < 0 || !copy)
		abort();
	if (size)
		memcpy(copy, bytes, size);
	if (i == 4)
		check_records(copy, size);
	if (write(fd, copy, size) != (ssize_t)size)
		abort();
	close(fd);
	free(copy);
}

static void read_all(int i)
{
	struct pp_run_file run;
	struct pp_spool_state state;
	char session[128];

	switch (i) {
	case 0:
		read_options();
		break;
	case 1:
		read_rules();
		break;
	case 2:
		pp_run_file_parse(file[2], &run);
		(void)pp_run_file_read(spool, file[2], &run);
		break;
	case 3:
		CHECK_INT(pp_spool_read(spool, &state), 0);
		CHECK(memchr(state.message, 0, sizeof(state.message)) != NULL);
		break;
	case 4:
		read_clocks();
		break;
	default:
		(void)pp_spool_salvaged(spool, session, sizeof(session));
	}
	(void)pp_spool_is_one(spool);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	int i = size ? bytes[0] % FILES : 0;

	if (!spool[0]) {
		snprintf(spool, sizeof(spool), "%s", "/dev/shm/pp-fuzz-spool-XXXXXX");
		if (!mkdtemp(spool) || atexit(end))
			abort();
	}
	put_file(i, size ? bytes + 1 : bytes, size ? size - 1 : 0);
	read_all(i);
	unlink(path_of(i));
	if (test_failures)
		abort();
	return 0;
}
