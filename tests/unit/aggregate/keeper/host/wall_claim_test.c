/* Who disciplines the date, by a /proc and a /dev made by hand. */
#include "aggregate/keeper/host/wall_claim.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "tests/test.h"

static void process(const char *dir, const char *pid, const char *comm)
{
	char path[300];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, pid);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/%s/comm", dir, pid);
	f = fopen(path, "w");
	if (f) {
		fprintf(f, "%s\n", comm);
		fclose(f);
	}
}

TEST(who_disciplines)
{
	char dir[] = "/tmp/podprof-wall-XXXXXX", command[64], by[PP_WALL_CLAIM_BY];

	CHECK(mkdtemp(dir) != NULL);
	pp_wall_claim_by(dir, dir, by);
	CHECK_STR(by, "kernel");
	process(dir, "7", "systemd-timesyn"); /* as the kernel cuts it */
	process(dir, "12", "chronyd");
	process(dir, "13", "chronyd2");
	process(dir, "self", "ntpd"); /* no pid */
	pp_wall_claim_by(dir, NULL, by);
	CHECK_STR(by, "kernel, chronyd, systemd-timesyncd");
	process(dir, "ptp0", "");
	pp_wall_claim_by(dir, dir, by);
	CHECK_STR(by, "kernel, chronyd, systemd-timesyncd, 1 PTP clock");
	process(dir, "21", "ptp4l");
	process(dir, "22", "phc2sys");
	process(dir, "23", "ntpd");
	pp_wall_claim_by(dir, dir, by);
	CHECK_STR(by, "kernel, chronyd, ntpd, systemd-timesyncd, ptp4l, phc2sys"); /* whole words, as many as there is room for */
	pp_wall_claim_by(NULL, NULL, by);
	CHECK_STR(by, "kernel");
	snprintf(command, sizeof(command), "rm -r %s", dir);
	CHECK_INT(system(command), 0);
}

TEST(this_machine)
{
	char by[PP_WALL_CLAIM_BY];

	pp_wall_claim_by("/proc", "/dev", by);
	CHECK(!strncmp(by, "kernel", 6));
	CHECK(strlen(by) < PP_WALL_CLAIM_BY);
	CHECK_INT(pp_wall_claim_sees_host() & ~1, 0);
}

int main(void)
{
	who_disciplines();
	this_machine();
	return test_end();
}
