"""A few collectives from mpi4py, results checked. Run by guest_table.py with Debian's mpi4py and with the wheel."""
import sys

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
for step in range(10):
    if comm.allreduce(rank + step) != size * step + size * (size - 1) // 2:
        comm.Abort(8)
half = comm.Split(rank % 2, rank)
if half.allreduce(1) != half.Get_size():
    comm.Abort(8)
half.Free()
got = comm.sendrecv({"from": rank}, dest=(rank + 1) % size, source=(rank - 1) % size)
if got["from"] != (rank - 1) % size:
    comm.Abort(8)
sys.stdout.write(f"rank {rank} of {size} is content\n")
sys.stdout.flush()
if len(sys.argv) > 1:
    sys.exit(int(sys.argv[1]))
