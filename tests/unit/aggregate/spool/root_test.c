/* Where spools stand: mounts of a job as Slurm makes them, and the files by which logind decides. */
#include "aggregate/spool/root.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/test.h"

static char root[] = "/tmp/podprof-place-XXXXXX";

static void put(const char *path, const char *text)
{
	char full[256];
	FILE *f;

	snprintf(full, sizeof(full), "%s%s", root, path);
	for (char *p = full + sizeof(root); *p; p++)
		if (*p == '/') {
			*p = '\0';
			mkdir(full, 0700);
			*p = '/';
		}
	f = fopen(full, "w");
	CHECK(f && fputs(text, f) >= 0);
	if (f)
		fclose(f);
}

static void drop(const char *path)
{
	char full[256];

	snprintf(full, sizeof(full), "%s%s", root, path);
	CHECK(!unlink(full));
}

#define NODE "44 43 254:0 / / rw - ext4 /dev/vda rw\n60 59 0:23 / /dev/shm rw,relatime - tmpfs tmpfs rw\n"
#define TMP "66 44 254:0 /local/jobs/42/.42/_tmp /tmp rw,relatime - ext4 /dev/vda rw\n"
#define SHM "61 60 0:39 / /dev/shm rw,relatime - tmpfs tmpfs rw\n"
#define MOUNTS "/proc/self/mountinfo"

TEST(mounts_of_a_job)
{
	put(MOUNTS, NODE);
	CHECK(!pp_spool_root_is_jobs(root, "/dev/shm") && !pp_spool_root_is_jobs(root, "/var/tmp"));
	put(MOUNTS, NODE TMP SHM);
	CHECK(pp_spool_root_is_jobs(root, "/dev/shm") && pp_spool_root_is_jobs(root, "/tmp") &&
	      pp_spool_root_is_jobs(root, "/tmp/x"));
	CHECK(!pp_spool_root_is_jobs(root, "/var/tmp") && !pp_spool_root_is_jobs(root, "/tmpfs"));
	put(MOUNTS, NODE "66 44 254:0 /jobs/7/.7 /tmp rw - ext4 /dev/vda rw\n" SHM); /* Slurm 22.05 */
	CHECK(pp_spool_root_is_jobs(root, "/dev/shm"));
	put(MOUNTS, NODE TMP); /* Dirs=/tmp */
	CHECK(!pp_spool_root_is_jobs(root, "/dev/shm"));
	put(MOUNTS, NODE "67 44 254:0 /jobs/42/.42/_var_tmp /var/tmp rw - ext4 /dev/vda rw\n" SHM);
	CHECK(pp_spool_root_is_jobs(root, "/var/tmp") && pp_spool_root_is_jobs(root, "/dev/shm"));
	put(MOUNTS, NODE "66 44 254:0 /jobs/42/.421 /tmp rw - ext4 /dev/vda rw\n" SHM); /* another program's names */
	CHECK(!pp_spool_root_is_jobs(root, "/dev/shm"));
	put(MOUNTS, NODE "66 44 254:0 /srv/a42/.42 /tmp rw - ext4 /dev/vda rw\n" SHM "broken\n\n");
	CHECK(!pp_spool_root_is_jobs(root, "/dev/shm"));
	drop(MOUNTS);
	CHECK(!pp_spool_root_is_jobs(root, "/dev/shm"));
}

#define CONF "/etc/systemd/logind.conf"

TEST(logind_as_configured)
{
	CHECK(!pp_spool_root_removes_ipc(root)); /* no logind runs */
	put("/run/systemd/seats/seat0", "");     /* a package may make it */
	CHECK(!pp_spool_root_removes_ipc(root));
	put("/run/systemd/system/x", "");
	CHECK(pp_spool_root_removes_ipc(root)); /* upstream's default */
	put("/usr/lib/systemd/logind.conf", "[Login]\n#RemoveIPC=no\n");
	CHECK(!pp_spool_root_removes_ipc(root)); /* as compiled by this distribution */
	put(CONF, "[Login]\n#RemoveIPC=no\nRemoveIPC = yes\n");
	CHECK(pp_spool_root_removes_ipc(root));
	put("/usr/lib/systemd/logind.conf.d/20-site.conf", "[Login]\nRemoveIPC=off\n");
	CHECK(!pp_spool_root_removes_ipc(root));
	put("/run/systemd/logind.conf.d/30-later.conf", "[Login]\nRemoveIPC=1\nRemoveIPCs=no\n");
	CHECK(pp_spool_root_removes_ipc(root));
	put("/etc/systemd/logind.conf.d/30-later.conf", ""); /* in place of the one of the same name */
	CHECK(!pp_spool_root_removes_ipc(root));
	put("/etc/systemd/logind.conf.d/40-comment.conf", "#RemoveIPC=yes\n");
	put("/etc/systemd/logind.conf.d/50-other.txt", "RemoveIPC=yes\n");
	CHECK(!pp_spool_root_removes_ipc(root));
	put("/etc/systemd/logind.conf.d/60-last.conf", "RemoveIPC=True\n");
	CHECK(pp_spool_root_removes_ipc(root));
}

/* After the test above: logind removes. */
TEST(users_who_lose_their_files)
{
	CHECK(!pp_spool_root_loses_ipc(root, 1000, "anna")); /* no session */
	put("/run/systemd/users/1000", "NAME=anna\n");
	put("/run/systemd/users/999", "NAME=daemon\n");
	put("/run/systemd/users/600", "NAME=old\n");
	CHECK(pp_spool_root_loses_ipc(root, 1000, "anna") && pp_spool_root_loses_ipc(root, 1000, NULL));
	CHECK(!pp_spool_root_loses_ipc(root, 999, "daemon")); /* users of the system keep theirs */
	put("/etc/login.defs", "# SYS_UID_MAX 5\nSYS_UID_MAX\t\t499\n");
	CHECK(pp_spool_root_loses_ipc(root, 600, "old"));
	put("/var/lib/systemd/linger/anna", "");
	CHECK(!pp_spool_root_loses_ipc(root, 1000, "anna"));
	drop("/var/lib/systemd/linger/anna");
	put("/etc/systemd/logind.conf.d/60-last.conf", "RemoveIPC=no\n");
	CHECK(!pp_spool_root_loses_ipc(root, 1000, "anna"));
}

int main(void)
{
	char command[64];

	if (!mkdtemp(root))
		return 77;
	mounts_of_a_job();
	logind_as_configured();
	users_who_lose_their_files();
	snprintf(command, sizeof(command), "rm -r %s", root);
	if (system(command))
		return 1;
	return test_end();
}
