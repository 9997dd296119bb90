# mpi4py's calls, each with the record it must give; run by said.py on 4 ranks. What mpi4py calls besides (to free, to ask) is none of them.
import os
import sys
from array import array

try:
    from mpi4py import MPI
except ImportError:
    print("no mpi4py")
    sys.exit(77)

world = MPI.COMM_WORLD
me, size = world.Get_rank(), world.Get_size()
right, left = (me + 1) % size, (me - 1) % size
one, many = array("i", [me] * 4), array("i", [0] * 16)
wants = [("Init_thread", -1, 0, 0)]
ONE, ALL = 16, 64


def did(name, peer=-1, sent=0, received=0):
    wants.append((name, peer, sent, received))


def ends(request, peer=-1):
    request.Wait()
    did("Wait", peer)


def point_to_point():
    world.Send(one, dest=right)
    did("Send", right, ONE)
    world.Probe(source=left)
    did("Probe", left)
    assert world.Iprobe(source=left)
    did("Iprobe", left)
    world.Recv(many, source=MPI.ANY_SOURCE)
    did("Recv", left, 0, ONE)
    for name in ("Isend", "Issend", "Ibsend", "Irsend"):
        receive = world.Irecv(many, source=left, tag=3)
        did("Irecv", left)
        world.Barrier()
        did("Barrier")
        if name == "Ibsend":
            MPI.Attach_buffer(bytearray(4096))
        send = getattr(world, name)(one, dest=right, tag=3)
        did(name, right, ONE)
        ends(receive, left)
        send.Wait()
        did("Wait", "*")
        if name == "Ibsend":
            MPI.Detach_buffer()
            did("Buffer_detach")
    world.Sendrecv(one, dest=right, recvbuf=many, source=left)
    did("Sendrecv", right, ONE, ONE)
    world.Sendrecv_replace(one, dest=right, source=left)
    did("Sendrecv_replace", right, ONE, ONE)
    world.Send(one, dest=right)
    did("Send", right, ONE)
    message = world.Mprobe(source=left)
    did("Mprobe", left)
    message.Recv(many)
    did("Mrecv", left, 0, ONE)
    world.Send(one, dest=right)
    did("Send", right, ONE)
    world.Barrier()
    did("Barrier")
    message = world.Improbe(source=left)
    did("Improbe", left)
    request = message.Irecv(many)
    did("Imrecv", left)
    ends(request, left)


def persistent():
    receive = world.Recv_init(many, source=left, tag=5)
    did("Recv_init", left)
    sends = []
    for name in ("Send_init", "Ssend_init"):
        sends.append(getattr(world, name)(one, dest=right, tag=5))
        did(name, right)
    for send in sends:
        receive.Start()
        did("Start", left)
        send.Start()
        did("Start", right, ONE)
        ends(receive, left)
        ends(send, right)
    MPI.Prequest.Startall([receive, sends[0]])
    did("Startall", left)
    did("Startall", right, ONE)
    MPI.Request.Waitall([receive, sends[0]])
    did("Waitall")
    for request, peer in ((receive, left), (sends[0], right), (sends[1], right)):
        request.Free()
        did("Request_free", peer)


def completions():
    for name in ("Waitany", "Waitsome", "Waitall", "Testany", "Testsome", "Testall", "Test"):
        request = world.Irecv(many, source=left, tag=6)
        did("Irecv", left)
        world.Send(one, dest=right, tag=6)
        did("Send", right, ONE)
        world.Barrier()
        did("Barrier")
        while not request.Get_status():
            wants.append(("Request_get_status", left, 0, 0))
        did("Request_get_status", left)
        request.Test() if name == "Test" else getattr(MPI.Request, name)([request])
        did(name, left)


def both(name, sent, received, *arguments, root=None, on=world):
    """The blocking and the nonblocking form."""
    more = {} if root is None else {"root": root}
    peer = -1 if root is None else root
    getattr(on, name)(*arguments, **more)
    did(name, peer, sent, received)
    other = "I" + name.lower()
    request = getattr(on, other)(*arguments, **more)
    did(other, peer, sent, received)
    request.Wait()
    did("Wait", "*" if root is not None else -1)


def collectives():
    root = me == 0
    every, each = [4] * size, [0, 4, 8, 12]
    both("Bcast", ONE if root else 0, 0 if root else ONE, one, root=0)
    both("Reduce", ONE, ONE if root else 0, one, many[:4], root=0)
    both("Allreduce", ONE, ONE, one, many[:4])
    both("Gather", ONE, ALL if root else 0, one, many, root=0)
    both("Gatherv", ONE, ALL if root else 0, one, [many, (every, each), MPI.INT], root=0)
    both("Scatter", ALL if root else 0, ONE, many, one, root=0)
    both("Scatterv", ALL if root else 0, ONE, [many, (every, each), MPI.INT], one, root=0)
    both("Allgather", ONE, ALL, one, many)
    both("Allgatherv", ONE, ALL, one, [many, (every, each), MPI.INT])
    both("Alltoall", ALL, ALL, many, array("i", many))
    both("Alltoallv", ALL, ALL, [many, (every, each), MPI.INT], [array("i", many), (every, each), MPI.INT])
    bytes_each = [4 * n for n in each]
    both("Alltoallw", ALL, ALL, [many, every, bytes_each, [MPI.INT] * 4], [array("i", many), every, bytes_each, [MPI.INT] * 4])
    both("Reduce_scatter_block", ALL, ONE, many, one)
    both("Reduce_scatter", ALL, ONE, many, one, every)
    both("Scan", ONE, ONE, one, many[:4])
    both("Exscan", ONE, ONE if me else 0, one, many[:4])
    both("Barrier", 0, 0)


def neighbours():
    ring = world.Create_cart([size], periods=[True])
    did("Cart_create")
    every, each = [4, 4], [0, 4]
    near, far = many[:8], array("i", many[:8])
    both("Neighbor_allgather", ONE, 2 * ONE, one, near, on=ring)
    both("Neighbor_allgatherv", ONE, 2 * ONE, one, [near, (every, each), MPI.INT], on=ring)
    both("Neighbor_alltoall", 2 * ONE, 2 * ONE, far, near, on=ring)
    both("Neighbor_alltoallv", 2 * ONE, 2 * ONE, [far, (every, each), MPI.INT], [near, (every, each), MPI.INT], on=ring)
    both("Neighbor_alltoallw", 2 * ONE, 2 * ONE, [far, every, [0, 16], [MPI.INT] * 2], [near, every, [0, 16], [MPI.INT] * 2], on=ring)
    ring.Free()
    did("Comm_free")


def communicators():
    for name, call in (("Comm_dup", world.Dup), ("Comm_dup_with_info", lambda: world.Dup(MPI.INFO_NULL)),
                       ("Comm_split", lambda: world.Split(me % 2)), ("Comm_split_type", lambda: world.Split_type(MPI.COMM_TYPE_SHARED)),
                       ("Comm_create", lambda: world.Create(world.Get_group())),
                       ("Comm_create_group", lambda: world.Create_group(world.Get_group()))):
        made = call()
        did(name)
        made.Set_name("one of mine")
        did("Comm_set_name")
        made.Disconnect() if name == "Comm_split" else made.Free()
        did("Comm_disconnect" if name == "Comm_split" else "Comm_free")
    made, request = world.Idup()
    did("Comm_idup")
    ends(request)
    made.Free()
    did("Comm_free")


point_to_point()
persistent()
completions()
collectives()
neighbours()
communicators()
MPI.Pcontrol(2)
did("Pcontrol")
did("Finalize")
with open(f"{os.environ['PP_WANT']}.{me}", "w") as f:
    f.write("".join("MPI_%s %s %s %s\n" % w for w in wants))
