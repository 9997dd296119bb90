/* Writes and reads an invitation as an owner-only file in a shared log directory; see rendezvous.h. Called by the keeper. */
#include "aggregate/keeper/net/rendezvous.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/hash.h"

static const char magic[] = "podprof rendezvous 1";

enum { FILE_MAX = PP_RENDEZVOUS_TEXT - 1, NAME_SIZE = 192 };

/* The job's name is untrusted: characters not allowed in a file name become '_', and a hash keeps two jobs apart. */
static void file_name(const char *job, char name[NAME_SIZE])
{
	char plain[96];
	size_t n = 0;

	for (const char *c = job; *c; c++) {
		int is_plain =
		        (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || strchr("._-@+", *c);

		if (n < sizeof(plain) - 1)
			plain[n++] = (char)(is_plain ? *c : '_');
	}
	plain[n] = '\0';
	if (strcmp(plain, job) != 0)
		snprintf(name, NAME_SIZE, ".podprof-%s-%016llx.rendezvous", plain, (unsigned long long)pp_hash_text(job));
	else
		snprintf(name, NAME_SIZE, ".podprof-%s.rendezvous", plain);
}

int pp_rendezvous_addresses(struct pp_net_invite *invite, struct pp_err *err)
{
	static const int families[] = {AF_INET, AF_INET6};
	struct ifaddrs *list;

	if (getifaddrs(&list))
		return pp_err_set(err, -errno, "cannot list this host's addresses: %s", strerror(errno));
	invite->addresses = 0;
	for (int f = 0; f < 2; f++) {
		for (struct ifaddrs *i = list; i && invite->addresses < PP_NET_ADDRESSES; i = i->ifa_next) {
			const void *number;

			if (!i->ifa_addr || i->ifa_addr->sa_family != families[f] || !(i->ifa_flags & IFF_UP) ||
			    (i->ifa_flags & IFF_LOOPBACK))
				continue;
			if (families[f] == AF_INET)
				number = &((const struct sockaddr_in *)(const void *)i->ifa_addr)->sin_addr;
			else
				number = &((const struct sockaddr_in6 *)(const void *)i->ifa_addr)->sin6_addr;
			if (families[f] == AF_INET6 && IN6_IS_ADDR_LINKLOCAL((const struct in6_addr *)number))
				continue;
			if (inet_ntop(families[f], number, invite->address[invite->addresses], sizeof(invite->address[0])))
				invite->addresses++;
		}
	}
	freeifaddrs(list);
	if (!invite->addresses)
		return pp_err_set(err, -ENETUNREACH, "cannot be reached by other hosts: this one has no address but loopback");
	return 0;
}

static int open_dir(const char *log_dir, struct pp_err *err)
{
	int dir = open(log_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0)
		return pp_err_set(err, -errno, "cannot open '%s': %s", log_dir, strerror(errno));
	return dir;
}

void pp_rendezvous_print(const struct pp_net_invite *invite, char text[PP_RENDEZVOUS_TEXT])
{
	int n = snprintf(text, PP_RENDEZVOUS_TEXT, "%s\njob=%s\nport=%u\nserver=%s\nclient=%s\nsecret=%s\n", magic, invite->job,
	                 (unsigned)invite->port, invite->server_public, invite->client_public, invite->client_secret);

	for (size_t i = 0; i < invite->addresses; i++)
		n += snprintf(text + n, (size_t)(PP_RENDEZVOUS_TEXT - n), "address=%s\n", invite->address[i]);
	snprintf(text + n, (size_t)(PP_RENDEZVOUS_TEXT - n), "end\n");
}

int pp_rendezvous_put(const char *log_dir, const char *name, const struct pp_net_invite *invite, struct pp_err *err)
{
	char part[NAME_SIZE + 48], text[PP_RENDEZVOUS_TEXT];
	int dir = open_dir(log_dir, err), fd, rc = 0;
	struct stat st;
	size_t size;

	if (dir < 0)
		return dir;
	pp_rendezvous_print(invite, text);
	size = strlen(text);
	/* An unpredictable name, and O_EXCL: an existing file or link is never written to. */
	snprintf(part, sizeof(part), "%.*s.%.2x%.2x%.2x%.2x%d.part", NAME_SIZE, name, invite->server_public[0],
	         invite->server_public[1], invite->server_public[2], invite->server_public[3], (int)getpid());
	fd = openat(dir, part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0) {
		rc = pp_err_set(err, -errno, "cannot make '%s/%s': %s", log_dir, part, strerror(errno));
		goto close_dir;
	}
	if (fchmod(fd, 0600) || fstat(fd, &st))
		rc = pp_err_set(err, -errno, "cannot protect '%s/%s': %s", log_dir, part, strerror(errno));
	else if (st.st_uid != geteuid() || (st.st_mode & 077))
		rc = pp_err_set(err, -EPERM, "cannot protect '%s/%s': its file system gives it to user %u with mode %o", log_dir,
		                part, (unsigned)st.st_uid, (unsigned)(st.st_mode & 0777));
	else if (write(fd, text, size) != (ssize_t)size || fsync(fd))
		rc = pp_err_set(err, errno ? -errno : -ENOSPC, "cannot write '%s/%s': %s", log_dir, part,
		                strerror(errno ? errno : ENOSPC));
	else if (renameat(dir, part, dir, name))
		rc = pp_err_set(err, -errno, "cannot make '%s/%s': %s", log_dir, name, strerror(errno));
	if (rc < 0)
		unlinkat(dir, part, 0);
	close(fd);

close_dir:
	close(dir);
	explicit_bzero(text, sizeof(text));
	return rc;
}

int pp_rendezvous_write(const char *log_dir, const struct pp_net_invite *invite, struct pp_err *err)
{
	char name[NAME_SIZE];

	file_name(invite->job, name);
	return pp_rendezvous_put(log_dir, name, invite, err);
}

static int is_key(const char *key)
{
	size_t n = strspn(key, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#");

	return n == PP_NET_KEY - 1 && key[n] == '\0';
}

static int is_address(const char *text)
{
	struct in6_addr number;

	return inet_pton(AF_INET, text, &number) == 1 || inet_pton(AF_INET6, text, &number) == 1;
}

static int take_line(struct pp_net_invite *v, const char *line)
{
	const struct {
		const char *name;
		char *to;
		size_t size;
	} text[] = {
	        {"job=", v->job, sizeof(v->job)},
	        {"server=", v->server_public, sizeof(v->server_public)},
	        {"client=", v->client_public, sizeof(v->client_public)},
	        {"secret=", v->client_secret, sizeof(v->client_secret)},
	};
	char *end;

	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
		size_t n = strlen(text[i].name);

		if (!strncmp(line, text[i].name, n))
			return snprintf(text[i].to, text[i].size, "%s", line + n) < (int)text[i].size;
	}
	if (!strncmp(line, "port=", 5)) {
		unsigned long port = strtoul(line + 5, &end, 10);

		v->port = (uint16_t)port;
		return port > 0 && port <= 65535 && *end == '\0' && line[5] >= '0' && line[5] <= '9';
	}
	if (strncmp(line, "address=", 8) != 0 || v->addresses == PP_NET_ADDRESSES || !is_address(line + 8))
		return 0;
	snprintf(v->address[v->addresses++], sizeof(v->address[0]), "%s", line + 8);
	return 1;
}

int pp_rendezvous_parse(char *text, struct pp_net_invite *ret_invite)
{
	char *line = text, *next;
	int number = 0, ended = 0;

	*ret_invite = (struct pp_net_invite){.port = 0};
	for (; *line && (next = strchr(line, '\n')); line = next + 1, number++) {
		*next = '\0';
		if (ended || (number == 0 && strcmp(line, magic) != 0))
			return -EBADMSG;
		ended = !strcmp(line, "end");
		if (number > 0 && !ended && !take_line(ret_invite, line))
			return -EBADMSG;
	}
	return ended && ret_invite->addresses && ret_invite->port && ret_invite->job[0] && is_key(ret_invite->server_public) &&
	                       is_key(ret_invite->client_public) && is_key(ret_invite->client_secret)
	               ? 0
	               : -EBADMSG;
}

/* `job` NULL: any. 0, -ENOENT: not there yet, -EPERM, -EBADMSG. */
static int read_once(int dir, const char *log_dir, const char *name, const char *job, struct pp_net_invite *v, struct pp_err *err)
{
	/* O_NONBLOCK: somebody may have put a pipe there. */
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), rc = 0;
	char text[FILE_MAX + 1];
	struct stat st;
	ssize_t n = -1;

	if (fd < 0 && (errno == ENOENT || errno == ESTALE))
		return -ENOENT;
	if (fd < 0)
		return pp_err_set(err, -EPERM, "cannot trust '%s/%s': %s", log_dir, name,
		                  errno == ELOOP ? "it is a link" : strerror(errno));
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		rc = pp_err_set(err, -EPERM, "cannot trust '%s/%s': it is no plain file", log_dir, name);
	else if (st.st_uid != geteuid() || (st.st_mode & 077))
		rc = pp_err_set(err, -EPERM, "cannot trust '%s/%s': it is of user %u with mode %o", log_dir, name,
		                (unsigned)st.st_uid, (unsigned)(st.st_mode & 0777));
	else
		n = read(fd, text, FILE_MAX);
	close(fd);
	if (rc < 0)
		return rc;
	text[n > 0 ? n : 0] = '\0';
	if (pp_rendezvous_parse(text, v) || (job && strcmp(v->job, job) != 0))
		rc = pp_err_set(err, -EBADMSG, "cannot read '%s/%s': it is no rendezvous of job '%s'", log_dir, name,
		                job ? job : "any");
	explicit_bzero(text, sizeof(text));
	return rc;
}

/* `absent`: what is returned where no such file is there. */
static int get(const char *log_dir, const char *name, const char *job, int absent, struct pp_net_invite *ret_invite,
               struct pp_err *err)
{
	struct pp_net_invite invite;
	/* Opened anew each time: a network file system then asks its server for the names. */
	int dir = open_dir(log_dir, err), rc;

	if (dir < 0)
		return dir;
	rc = read_once(dir, log_dir, name, job, &invite, err);
	close(dir);
	if (rc == 0)
		*ret_invite = invite;
	explicit_bzero(&invite, sizeof(invite));
	return rc == -ENOENT ? absent : rc;
}

int pp_rendezvous_get(const char *log_dir, const char *name, struct pp_net_invite *ret_invite, struct pp_err *err)
{
	return get(log_dir, name, NULL, -ENOENT, ret_invite, err);
}

int pp_rendezvous_read(const char *log_dir, const char *job, struct pp_net_invite *ret_invite, struct pp_err *err)
{
	char name[NAME_SIZE];
	int rc;

	file_name(job, name);
	rc = get(log_dir, name, job, -ETIMEDOUT, ret_invite, err);
	return rc == -ETIMEDOUT ? pp_err_set(err, rc, "no '%s/%s' came: all hosts have to share that directory", log_dir, name)
	                        : rc;
}

void pp_rendezvous_remove(const char *log_dir, const struct pp_net_invite *invite)
{
	struct pp_net_invite there;
	char name[NAME_SIZE];
	int dir = open_dir(log_dir, NULL);

	if (dir < 0)
		return;
	file_name(invite->job, name);
	if (read_once(dir, log_dir, name, invite->job, &there, NULL) == 0 && !strcmp(there.server_public, invite->server_public))
		unlinkat(dir, name, 0);
	close(dir);
	explicit_bzero(&there, sizeof(there));
}
