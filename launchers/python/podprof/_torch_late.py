"""Parts of torch that are imported when they are used first. Called by _hook.py right after their import."""
import sys

from . import _torch_phases


def install(module):
    torch = sys.modules.get("_podprof._torch")
    adapter = torch.adapter() if torch is not None else None
    if adapter is None:
        return
    if module.__name__ == "torch._dynamo.callback":
        _torch_phases.wrap_compile(adapter, module)
    else:
        _torch_phases.wrap_distributed_save(adapter, module)
