"""Hooks for parts of torch that are imported at first use. Called by _hook.py right after their import."""
import sys
import types

from . import _torch_phases


def install(module):
    torch = sys.modules.get("_podprof._torch")
    adapter = torch.adapter() if torch is not None else None
    if adapter is None:
        return
    if module.__name__ == "torch._dynamo.callback":
        _torch_phases.wrap_compile(adapter, module)
    elif module.__name__ == "torch._dynamo.decorators":
        _exempt_ours(module.skip_code)
    else:
        _torch_phases.wrap_distributed_save(adapter, module)


def _exempt_ours(skip):
    """torch.compile traces each frame below a compiled one: exclude ours, like torch's own frames that they wrap."""
    for name, module in list(sys.modules.items()):
        if name.startswith("_podprof."):
            for thing in list(vars(module).values()):
                for function in [thing, *vars(thing).values()] if isinstance(thing, type) else [thing]:
                    code = getattr(function, "__code__", None)
                    if code is not None and code.co_filename == module.__file__:
                        _each_code(code, skip)


def _each_code(code, skip):
    skip(code)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            _each_code(constant, skip)
