"""Four ranks of a mesh of two dimensions, with names or (argument) without; further groups that are no dimension."""
import sys

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

dist.init_process_group("gloo")
torch.manual_seed(0)
named = len(sys.argv) < 2
mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("pp", "dp") if named else None)
stages = [dist.new_group(ranks, group_desc="TENSOR_MODEL_PARALLEL_GROUP") for ranks in ([0, 1], [2, 3])] if named else []
dist.new_group([0, 3], group_desc="embeddings")
dist.new_group([1, 2])
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for i in range(8):
    model(torch.randn(4, 8)).pow(2).mean().backward()
    for p in model.parameters():
        dist.all_reduce(p.grad, group=mesh.get_group(1))
    optimizer.step()
    optimizer.zero_grad()
dist.destroy_process_group()
