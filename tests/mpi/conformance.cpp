// A C++ program's calls: what it says it wants is what is recorded. Run by said.py on 4 ranks.
#include <mpi.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace {

std::ofstream wants;

void want(const std::string &name, int peer, long sent, long received)
{
	wants << "MPI_" << name << ' ' << peer << ' ' << sent << ' ' << received << '\n';
}

} // namespace

int main(int argc, char **argv)
{
	int rank, size;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	const int right = (rank + 1) % size, left = (rank + size - 1) % size;
	const char *path = std::getenv("PP_WANT");
	if (!path)
		return 1;
	wants.open(path + ("." + std::to_string(rank)));
	want("Init", -1, 0, 0);

	std::vector<double> out(10, rank), in(10);
	std::vector<MPI_Request> both(2);
	MPI_Recv_init(in.data(), 10, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &both[0]);
	want("Recv_init", left, 0, 0);
	MPI_Send_init(out.data(), 10, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &both[1]);
	want("Send_init", right, 0, 0);
	for (int step = 0; step < 3; step++) {
		MPI_Startall(2, both.data());
		want("Startall", left, 0, 0);
		want("Startall", right, 80, 0);
		MPI_Waitall(2, both.data(), MPI_STATUSES_IGNORE);
		want("Waitall", -1, 0, 0);
		if (in[0] != left)
			return 1;
	}
	for (MPI_Request &one : both)
		MPI_Request_free(&one);
	want("Request_free", left, 0, 0);
	want("Request_free", right, 0, 0);

	auto *message = new MPI_Message;
	MPI_Send(out.data(), 3, MPI_DOUBLE, right, 2, MPI_COMM_WORLD);
	want("Send", right, 24, 0);
	MPI_Mprobe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, message, MPI_STATUS_IGNORE);
	want("Mprobe", left, 0, 0);
	MPI_Mrecv(in.data(), 10, MPI_DOUBLE, message, MPI_STATUS_IGNORE);
	want("Mrecv", left, 0, 24);
	delete message;

	MPI_Allreduce(MPI_IN_PLACE, in.data(), 10, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	want("Allreduce", -1, 80, 80);
	MPI_Comm ring;
	const int dims[] = {size}, periods[] = {1};
	MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &ring);
	want("Cart_create", -1, 0, 0);
	std::vector<double> near(20);
	MPI_Neighbor_allgather(out.data(), 10, MPI_DOUBLE, near.data(), 10, MPI_DOUBLE, ring);
	want("Neighbor_allgather", -1, 80, 160);
	if (near[0] != left || near[10] != right)
		return 1;
	MPI_Comm_free(&ring);
	want("Comm_free", -1, 0, 0);
	MPI_Finalize();
	want("Finalize", -1, 0, 0);
	return 0;
}
