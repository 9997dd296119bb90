/* The rendezvous file: read back equal, owner-only, and not trusted where it is a link, a pipe, another's or open to others; and
 * two keepers that know only the directory find each other. */
#include "aggregate/keeper/net/rendezvous.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/unit/aggregate/keeper/net/net_kit.h"

static char dir[64];
static char path[256];

static struct pp_net_invite sample(const char *job)
{
	struct pp_net_invite v = {.addresses = 2, .port = 4711};

	snprintf(v.job, sizeof(v.job), "%s", job);
	snprintf(v.address[0], sizeof(v.address[0]), "10.0.0.7");
	snprintf(v.address[1], sizeof(v.address[1]), "2001:db8::7");
	memset(v.server_public, 'a', PP_NET_KEY - 1);
	memset(v.client_public, 'b', PP_NET_KEY - 1);
	memset(v.client_secret, 'c', PP_NET_KEY - 1);
	return v;
}

/* Files in the directory, hidden ones too. */
static int count_files(void)
{
	DIR *d = opendir(dir);
	int n = 0;

	for (struct dirent *e; d && (e = readdir(d));)
		n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
	if (d)
		closedir(d);
	return n;
}

TEST(round_trip)
{
	static const char *const job[] = {"prterun-h-12@1", "../../etc/passwd", "a b\xc3\xa9", "42.0"};
	char longest[128];

	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	for (int i = 0; i < 5; i++) {
		struct pp_net_invite v = sample(i < 4 ? job[i] : longest), back, again;
		struct pp_err err = {""};

		CHECK_INT(pp_rendezvous_write(dir, &v, &err), 0);
		CHECK_INT(pp_rendezvous_read(dir, v.job, &back, &err), 0);
		CHECK_STR(err.text, "");
		CHECK_STR(back.job, v.job);
		CHECK(back.port == 4711 && back.addresses == 2);
		CHECK_STR(back.address[1], v.address[1]);
		CHECK_STR(back.client_secret, v.client_secret);
		CHECK_STR(back.client_public, v.client_public);
		CHECK_INT(count_files(), 1);
		/* A second one of the job replaces it; the first keeper's end leaves that alone. */
		back.server_public[0] = 'z';
		CHECK_INT(pp_rendezvous_write(dir, &back, &err), 0);
		pp_rendezvous_remove(dir, &v);
		CHECK_INT(count_files(), 1);
		CHECK_INT(pp_rendezvous_read(dir, v.job, &again, &err), 0);
		CHECK_STR(again.server_public, back.server_public);
		pp_rendezvous_remove(dir, &back);
		CHECK_INT(count_files(), 0);
	}
}

TEST(absent)
{
	struct pp_net_invite back;
	struct pp_err err = {""};

	CHECK_INT(pp_rendezvous_read(dir, "j", &back, &err), -ETIMEDOUT);
	CHECK(strstr(err.text, "share") != NULL);
	CHECK_INT(pp_rendezvous_read("/proc/nonexistent", "j", &back, &err), -ENOENT);
	CHECK_INT(pp_rendezvous_get(dir, "j", &back, &err), -ENOENT);
}

static void distrusted(const char *why, int code)
{
	struct pp_net_invite back;
	struct pp_err err = {""};

	CHECK_INT(pp_rendezvous_read(dir, "j", &back, &err), code);
	CHECK(strstr(err.text, why) != NULL && !strchr(err.text, '\n'));
}

TEST(not_to_be_trusted)
{
	struct pp_net_invite v = sample("j");
	char elsewhere[300];
	struct stat st;

	snprintf(path, sizeof(path), "%s/.podprof-j.rendezvous", dir);
	umask(0);
	CHECK_INT(pp_rendezvous_write(dir, &v, NULL), 0);
	CHECK(stat(path, &st) == 0 && (st.st_mode & 07777) == 0600 && st.st_uid == geteuid());
	CHECK_INT(chmod(path, 0640), 0);
	distrusted("mode 640", -EPERM);
	snprintf(elsewhere, sizeof(elsewhere), "%s/elsewhere", dir);
	CHECK(chmod(path, 0600) == 0 && rename(path, elsewhere) == 0 && symlink("elsewhere", path) == 0);
	distrusted("it is a link", -EPERM);
	/* The link is replaced, what it names is not. */
	v.port = 99;
	CHECK_INT(pp_rendezvous_write(dir, &v, NULL), 0);
	CHECK(lstat(path, &st) == 0 && S_ISREG(st.st_mode));
	CHECK(unlink(path) == 0 && rename(elsewhere, path) == 0);
	{
		struct pp_net_invite back;

		CHECK(pp_rendezvous_read(dir, "j", &back, NULL) == 0 && back.port == 4711);
	}
	CHECK(unlink(path) == 0 && mkfifo(path, 0600) == 0);
	distrusted("no plain file", -EPERM);
	CHECK(unlink(path) == 0 && mkdir(path, 0700) == 0);
	distrusted("no plain file", -EPERM);
	CHECK_INT(rmdir(path), 0);
}

/* Another user reads nothing, and what another user left is not believed. */
TEST(another_user)
{
	struct pp_net_invite v = sample("j");
	int status = 1;
	pid_t child;

	if (geteuid() != 0) {
		fprintf(stderr, "another user is not tried: that needs root\n");
		return;
	}
	CHECK(chmod(dir, 01777) == 0 && pp_rendezvous_write(dir, &v, NULL) == 0);
	child = fork();
	if (child == 0) {
		struct pp_net_invite back;

		if (setgid(65534) || setuid(65534))
			_exit(2);
		if (open(path, O_RDONLY) >= 0 || errno != EACCES)
			_exit(3);
		if (pp_rendezvous_read(dir, "j", &back, NULL) != -EPERM)
			_exit(4);
		_exit(pp_rendezvous_write(dir, &v, NULL) == 0 ? 5 : 0); /* a sticky directory */
	}
	waitpid(child, &status, 0);
	CHECK_INT(status, 0);
	CHECK_INT(count_files(), 1);
	CHECK_INT(chown(path, 65534, 65534), 0);
	distrusted("user 65534", -EPERM);
	unlink(path);
}

TEST(hostile_content)
{
	static const char *const bad[] = {"", "podprof rendezvous 2\n", "\nend\n"};
	struct pp_net_invite v = sample("j"), back;
	uint64_t seed = 42;
	char text[8192];
	int fd, taken = 0;
	ssize_t n;

	CHECK_INT(pp_rendezvous_write(dir, &v, NULL), 0);
	fd = open(path, O_RDWR);
	n = read(fd, text, sizeof(text));
	CHECK(n > 100);
	for (int i = 0; i < 3000 && n > 100; i++) {
		char copy[8192];
		size_t size = (size_t)n;

		memcpy(copy, text, size);
		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
		copy[(seed >> 33) % size] = (char)(seed >> 20);
		if (i % 3 == 0)
			size = (seed >> 40) % size;
		CHECK(ftruncate(fd, 0) == 0 && pwrite(fd, copy, size, 0) == (ssize_t)size);
		if (pp_rendezvous_read(dir, "j", &back, NULL) == 0) {
			taken++;
			CHECK(back.port > 0 && back.addresses == 2 && strlen(back.server_public) == PP_NET_KEY - 1);
		}
	}
	CHECK(taken < 1500);
	for (size_t i = 0; i < 3; i++) {
		CHECK(ftruncate(fd, 0) == 0 && pwrite(fd, bad[i], strlen(bad[i]), 0) == (ssize_t)strlen(bad[i]));
		distrusted("no rendezvous of job 'j'", -EBADMSG);
	}
	close(fd);
	unlink(path);
}

TEST(two_keepers)
{
	struct pp_net_options o = net_options("h0");
	struct pp_net_invite invite, found;
	struct pp_net *server = NULL, *client;
	struct pp_net_event e;
	struct pp_err err = {""};

	o.bind = NULL;
	if (pp_rendezvous_addresses(&invite, &err) < 0) {
		fprintf(stderr, "by loopback: %s\n", err.text);
		snprintf(invite.address[0], sizeof(invite.address[0]), "127.0.0.1");
		invite.addresses = 1;
	}
	CHECK_INT(pp_net_listen(&o, &invite, &server, &err), 0);
	for (size_t i = 0; i < invite.addresses; i++)
		CHECK(invite.addresses == 1 ||
		      (strncmp(invite.address[i], "127.", 4) != 0 && strcmp(invite.address[i], "::1") != 0));
	CHECK_INT(pp_rendezvous_write(dir, &invite, NULL), 0);
	CHECK_INT(pp_rendezvous_read(dir, "job 7", &found, NULL), 0);
	client = net_connect(&found, "h1", 5000);
	CHECK(net_await(client, server, PP_NET_JOINED, &e));
	pp_net_free(client);
	pp_net_free(server);
	pp_rendezvous_remove(dir, &invite);
	CHECK_INT(count_files(), 0);
}

int main(void)
{
	snprintf(dir, sizeof(dir), "/tmp/podprof-rendezvous-XXXXXX");
	if (!mkdtemp(dir))
		return 77;
	round_trip();
	absent();
	not_to_be_trusted();
	another_user();
	hostile_content();
	two_keepers();
	CHECK_INT(rmdir(dir), 0);
	return test_end();
}
