"""Two processes of JAX, a model of flax.nnx and an optimizer of optax; rank 1 reads slowly."""
import os
import sys
import time

import jax

rank = int(os.environ["OMPI_COMM_WORLD_RANK"])
jax.distributed.initialize("127.0.0.1:" + sys.argv[1], 2, rank)
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

STEPS = 16
mesh = Mesh(np.array(jax.devices()), ("d",))
parts, whole = NamedSharding(mesh, P("d")), NamedSharding(mesh, P())
graph, state = nnx.split(nnx.Linear(8, 1, rngs=nnx.Rngs(0)))
rule = optax.sgd(0.01)
state = jax.tree_util.tree_map(lambda a: jax.make_array_from_process_local_data(whole, np.asarray(a)), state)
memory = rule.init(state)


@jax.jit
def train(state, memory, x):
    def loss(s):
        return jnp.mean((nnx.merge(graph, s)(x) - x.sum(1, keepdims=True)) ** 2)

    value, g = jax.value_and_grad(loss)(state)
    change, memory = rule.update(g, memory)
    return optax.apply_updates(state, change), memory, value


for i in range(STEPS):
    if rank == 1:
        time.sleep(0.16)
    state, memory, value = train(state, memory, jax.make_array_from_process_local_data(parts, np.full((4, 8), 0.1 * i, "float32")))
    value = float(value)
print(value)
