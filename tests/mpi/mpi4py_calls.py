# The calls of bindings.f90 through mpi4py, once. 4 ranks; the driver compares the names.
from array import array

from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
right, left = (rank + 1) % size, (rank - 1) % size
one, two = array("i", [rank] * 4), array("i", [0] * 4)
world.Barrier()
requests = [world.Irecv(two, source=MPI.ANY_SOURCE, tag=1), world.Isend(one, dest=right, tag=1)]
MPI.Request.Waitall(requests)
assert two[0] == left
status = MPI.Status()
world.Sendrecv(one, dest=right, sendtag=2, recvbuf=two, source=left, recvtag=2, status=status)
assert status.Get_source() == left
world.Allreduce(MPI.IN_PLACE, one, op=MPI.SUM)
assert one[0] == size * (size - 1) // 2
half = world.Split(rank % 2, rank)
half.Bcast(two, root=0)
half.Free()
if rank == 0:
    print("bindings done", flush=True)
