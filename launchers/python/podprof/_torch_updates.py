"""Has a program that no optimizer of torch steps changed its parameters since the last backward pass? In: backward passes, from
_torch_phases.py through _torch_steps.py. Out: yes or no. One parameter stands for all: torch counts the writes to each tensor, and where
they go around that count (p.data), its gradient begins anew. Imports nothing of torch."""
import weakref

_NODES = 500  # of a graph, among which a parameter is looked for


def _nothing():
    return None


class Updates:
    def __init__(self):
        self.leaf = _nothing
        self.state = None  # (writes, writes to the gradient) when the last pass had ended; None: nothing to compare with

    def begins(self, torch, roots, inputs):
        """A backward pass of these roots, before it frees its graph; `inputs` are what it is limited to, or None."""
        if self.leaf() is None:
            leaf = _plain(torch, _find(torch, inputs if inputs is not None else roots))
            self.leaf = weakref.ref(leaf) if leaf is not None else _nothing
        self.state = None

    def ends(self):
        leaf = self.leaf()
        self.state = _state(leaf) if leaf is not None else None

    def happened(self, only_writes):
        """True once after each pass. A parameter that is gone was replaced by a new one."""
        if self.state is None:
            return False
        leaf, (writes, gradient) = self.leaf(), self.state
        if leaf is None:
            is_new = not only_writes
        else:
            now = _state(leaf)
            is_new = now[0] != writes or not only_writes and gradient is not None and now[1] != gradient
        if is_new:
            self.state = None
        return is_new


def _state(leaf):
    gradient = leaf.grad
    return leaf._version, None if gradient is None else gradient._version


def _plain(torch, leaf):
    """torch.func and torch.compile make leaves of their own, which say nothing of the program's."""
    if type(leaf) not in (torch.Tensor, torch.nn.Parameter) or leaf.is_inference():
        return None
    is_wrapped = getattr(getattr(torch._C, "_functorch", None), "is_functorch_wrapped_tensor", None)
    return None if is_wrapped is not None and is_wrapped(leaf) else leaf


def _find(torch, tensors):
    """A parameter that these tensors depend on, else any tensor that gradients end at, else None."""
    other = None
    nodes = []
    for tensor in tensors if isinstance(tensors, (list, tuple)) else (tensors,):
        node = getattr(tensor, "grad_fn", None)
        if node is not None:
            nodes.append(node)
        elif other is None and getattr(tensor, "is_leaf", False):
            other = tensor
    seen = set()
    while nodes and len(seen) < _NODES:
        node = nodes.pop()
        if node in seen:
            continue
        seen.add(node)
        leaf = getattr(node, "variable", None)
        if isinstance(leaf, torch.nn.Parameter):
            return leaf
        other = leaf if other is None else other
        nodes.extend(following for following, _ in node.next_functions if following is not None)
    return other
