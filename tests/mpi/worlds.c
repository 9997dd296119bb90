/* Calls that meet other worlds, and those about ports and names. 4 ranks; spawns itself. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/mpi/want.h"

static uint64_t world;
static char *self;

/* A spawned process: it may be seen or not, it only has to work. */
static int child(MPI_Comm parent)
{
	MPI_Barrier(parent);
	MPI_Comm_disconnect(&parent);
	MPI_Finalize();
	return 0;
}

/* The intercommunicator that the call before made: `spawned` processes of another world, told by `root`. */
static void check_made(const char *name, MPI_Comm made, uint64_t on, int root, int members, int spawned)
{
	int reported = spawned && root == me;
	uint64_t id;

	WANT_ON(name, on, root, 0, 0);
	CHECK_INT(last_call()->flags, root == me ? PP_MPI_IS_ROOT : 0);
	CHECK_INT(how_many(PP_RECORD_COUNTER), reported);
	if (reported && nth(PP_RECORD_COUNTER, 0))
		CHECK(nth(PP_RECORD_COUNTER, 0)->record.counter.value == spawned);
	CHECK_INT(how_many(PP_RECORD_COMM), 1);
	if (!nth(PP_RECORD_COMM, 0))
		return;
	CHECK_INT(nth(PP_RECORD_COMM, 0)->record.comm.size, members);
	id = nth(PP_RECORD_COMM, 0)->record.comm.comm;
	MPI_Barrier(made);
	WANT_ON("MPI_Barrier", id, -1, 0, 0);
	MPI_Comm_disconnect(&made);
	WANT_ON("MPI_Comm_disconnect", id, -1, 0, 0);
}

TEST(test_spawn)
{
	char *commands[2] = {self, self};
	int most[2] = {1, 1};
	MPI_Info infos[2] = {MPI_INFO_NULL, MPI_INFO_NULL};
	MPI_Comm made;

	MPI_Comm_spawn(self, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 2, MPI_COMM_WORLD, &made, MPI_ERRCODES_IGNORE);
	check_made("MPI_Comm_spawn", made, world, 2, ranks + 1, 1);
	MPI_Comm_spawn_multiple(2, commands, MPI_ARGVS_NULL, most, infos, 0, MPI_COMM_WORLD, &made, MPI_ERRCODES_IGNORE);
	check_made("MPI_Comm_spawn_multiple", made, world, 0, ranks + 2, 2);
}

/* Ranks 0 and 1 accept what 2 and 3 connect; 2 finds the port by its name. */
TEST(test_ports)
{
	char port[MPI_MAX_PORT_NAME] = "", service[64];
	MPI_Comm half, made;
	uint64_t id;

	snprintf(service, sizeof service, "podprof-test-%ld", (long)getppid());
	MPI_Comm_split(MPI_COMM_WORLD, me / 2, me, &half);
	forget();
	MPI_Barrier(half);
	take_all();
	id = last_call()->comm;
	if (me == 0) {
		MPI_Open_port(MPI_INFO_NULL, port);
		WANT_ON("MPI_Open_port", 0, -1, 0, 0);
		MPI_Publish_name(service, MPI_INFO_NULL, port);
		WANT_ON("MPI_Publish_name", 0, -1, 0, 0);
		MPI_Send(port, 0, MPI_CHAR, 2, 1, MPI_COMM_WORLD);
	}
	if (me == 2) {
		MPI_Recv(port, 0, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		forget();
		MPI_Lookup_name(service, MPI_INFO_NULL, port);
		WANT_ON("MPI_Lookup_name", 0, -1, 0, 0);
	}
	forget();
	if (me < 2) {
		MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &made);
		check_made("MPI_Comm_accept", made, id, 0, ranks, 0);
	} else {
		MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &made);
		check_made("MPI_Comm_connect", made, id, 2, ranks, 0);
	}
	if (me == 0) {
		MPI_Unpublish_name(service, MPI_INFO_NULL, port);
		WANT_ON("MPI_Unpublish_name", 0, -1, 0, 0);
		MPI_Close_port(port);
		WANT_ON("MPI_Close_port", 0, -1, 0, 0);
	}
	MPI_Comm_free(&half);
	MPI_Barrier(MPI_COMM_WORLD);
	forget();
}

/* A socket between ranks 0 and 1. */
static int connected(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof at;
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = -1;

	if (me == 0) {
		if (bind(fd, (struct sockaddr *)&at, length) || listen(fd, 1) || getsockname(fd, (struct sockaddr *)&at, &length))
			return -1;
		MPI_Send(&at.sin_port, sizeof at.sin_port, MPI_BYTE, 1, 2, MPI_COMM_WORLD);
		one = accept(fd, NULL, NULL);
		close(fd);
		return one;
	}
	MPI_Recv(&at.sin_port, sizeof at.sin_port, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	return connect(fd, (struct sockaddr *)&at, length) ? -1 : fd;
}

TEST(test_join)
{
	MPI_Comm made;
	int fd;

	if (me > 1)
		return;
	fd = connected();
	CHECK(fd >= 0);
	forget();
	MPI_Comm_join(fd, &made);
	WANT_ON("MPI_Comm_join", 0, -1, 0, 0);
	CHECK_INT(how_many(PP_RECORD_COMM), 1);
	MPI_Send(self, 3, MPI_CHAR, 0, 3, made);
	WANT("MPI_Send", 1 - me, 3, 0);
	MPI_Recv(&fd, 3, MPI_CHAR, 0, 3, made, MPI_STATUS_IGNORE);
	WANT("MPI_Recv", 1 - me, 0, 3);
	MPI_Comm_disconnect(&made);
	forget();
}

int main(int argc, char **argv)
{
	MPI_Comm parent;

	MPI_Init(&argc, &argv);
	MPI_Comm_get_parent(&parent);
	if (parent != MPI_COMM_NULL)
		return child(parent);
	self = argv[0];
	want_begin();
	take_all();
	world = nth(PP_RECORD_COMM, 0) ? nth(PP_RECORD_COMM, 0)->record.comm.comm : 0;
	test_spawn();
	test_ports();
	test_join();
	return want_end();
}
