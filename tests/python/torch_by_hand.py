"""Small programs for torch_steps.py that change their parameters without an optimizer of torch, or only infer; and what all of its programs use.
Each returns how many steps it has."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

ITEMS = 4
model = nn.Linear(8, 8)


def loader(batches, **words):
    return DataLoader(TensorDataset(torch.randn(batches * ITEMS, 8)), ITEMS, **words)


def step(x, optimizer):
    optimizer.zero_grad()
    model(x).pow(2).mean().backward()
    optimizer.step()


def evaluate(data):
    for (x,) in data:
        with torch.no_grad():
            model(x)


def parameters():
    return list(model.parameters())


def by_hand(x, count=1):
    """A backward pass for each of `count` parts, and an update."""
    for part in x.chunk(count):
        model(part).pow(2).mean().backward()
    with torch.no_grad():
        for p in parameters():
            p -= 0.01 * p.grad
            p.grad = None


class Own:
    """An optimizer of the program's own."""

    def __init__(self):
        self.parameters = parameters()

    def zero_grad(self):
        for p in self.parameters:
            p.grad = None

    @torch.no_grad()
    def step(self):
        torch._foreach_add_(self.parameters, [p.grad for p in self.parameters], alpha=-0.01)


class Decay:
    """A scheduler of the program's own: its steps are none."""

    def step(self):
        pass


def hand_and_validation(*_):
    data, other = loader(5), loader(3)
    for _ in range(3):
        for (x,) in data:
            by_hand(x)
        evaluate(other)
    return 15


def hand_accumulates(*_):
    for i, (x,) in enumerate(loader(12)):
        model(x).pow(2).mean().backward()
        if i % 4 == 3:
            with torch.no_grad():
                for p in parameters():
                    p -= 0.01 * p.grad
            model.zero_grad()
    return 3


def hand_after_a_sanity_check(*_):
    with torch.no_grad():
        evaluate(loader(2))
    return hand_and_validation()


def hand_through_data(*_):
    """torch does not count such writes: the next gradients begin anew."""
    for i, (x,) in enumerate(loader(12)):
        if i % 2 == 0:
            model.zero_grad()
        model(x).pow(2).mean().backward()
        if i % 2 == 1:
            for p in parameters():
                p.data.add_(p.grad, alpha=-0.01)
    return 5  # the end of the last one is not seen


def own_optimizer(*_):
    own, decay = Own(), Decay()
    for (x,) in loader(6):
        own.zero_grad()
        model(x).pow(2).mean().backward()
        own.step()
        decay.step()
    return 6


def own_optimizer_around_one_of_torch(sgd, adam):
    class Outer(Own):
        def step(self):
            sgd.step()

    own = Outer()
    for i, (x,) in enumerate(loader(6)):
        model(x).pow(2).mean().backward()
        if i % 2:
            own.step()
            own.zero_grad()
    return 3


def own_optimizer_beside_one_of_torch(sgd, adam):
    """One was made for its groups, and never steps."""
    own = Own()
    for (x,) in loader(6):
        sgd.zero_grad()
        model(x).pow(2).mean().backward()
        own.step()
    return 6


def own_optimizer_without_a_loader(*_):
    own = Own()
    for _ in range(9):
        own.zero_grad()
        model(torch.randn(4, 8)).pow(2).mean().backward()
        own.step()
        with torch.no_grad():
            model(torch.randn(4, 8))
    return 9


def own_optimizer_beside_one_of_torch_without_a_loader(sgd, adam):
    return own_optimizer_without_a_loader()


def hand_without_a_loader(*_):
    for _ in range(9):
        by_hand(torch.randn(4, 8), 2)
    return 9


def hand_of_two_models_without_a_loader(*_):
    """A step is an iteration, not the update of one of them."""
    other = nn.Linear(8, 8)
    for _ in range(9):
        by_hand(torch.randn(4, 8))
        other(torch.randn(4, 8)).pow(2).mean().backward()
        with torch.no_grad():
            for p in other.parameters():
                p -= 0.01 * p.grad
                p.grad.zero_()
    return 9


def functional_without_a_loader(*_):
    weight = torch.randn(8, 8, requires_grad=True)
    for _ in range(9):
        (gradient,) = torch.autograd.grad((torch.randn(4, 8) @ weight).pow(2).mean(), [weight])
        weight = (weight - 0.01 * gradient).detach().requires_grad_()
    return 9


def functional_by_torch_func(*_):
    weight = torch.randn(8, 8)
    for _ in range(9):
        weight = weight - 0.01 * torch.func.grad(lambda w: (torch.randn(4, 8) @ w).pow(2).mean())(weight)
    return 8


def functional_with_a_loader(*_):
    weight = torch.randn(8, 8, requires_grad=True)
    for _ in range(2):
        for (x,) in loader(6):
            weight = (weight - 0.01 * torch.autograd.grad((x @ weight).pow(2).mean(), weight)[0]).detach().requires_grad_()
        evaluate(loader(3))
    return 12


def gradients_of_the_input(*_):
    """Nothing learns: each batch is one."""
    for (x,) in loader(6):
        x.requires_grad_()
        model(x).sum().backward()
    return 6


def updates_that_are_skipped(sgd, adam):
    """GradScaler, with gradients that overflow twice."""
    for i, (x,) in enumerate(loader(8)):
        loss = model(x).pow(2).mean()
        loss.backward()
        if i > 1:
            sgd.step()
        sgd.zero_grad()
    return 6


def optimizer_in_the_validation(sgd, adam):
    """Without gradients its call updates nothing."""
    data, other = loader(5), loader(20)
    for _ in range(2):
        for (x,) in data:
            step(x, sgd)
        with torch.no_grad():
            for (x,) in other:
                model(x)
                sgd.step()
    return 10


def raises_inside_of_a_step(sgd, adam):
    for i, (x,) in enumerate(loader(6)):
        try:
            sgd.zero_grad()
            loss = model(x).pow(2).mean()
            if i == 3:
                raise ValueError
            loss.backward()
            sgd.step()
        except ValueError:
            pass
    return 5


def inference_of_requests(*_):
    """A block in each turn; others around them are none."""
    for _ in range(12):
        with torch.no_grad():
            torch.zeros(1)
        with torch.inference_mode():
            for _ in range(20):
                model(torch.randn(4, 8))
    return 12


@torch.no_grad()
def generate(x):
    for _ in range(3):
        with torch.no_grad():
            x = model(x)
    return x


def inference_by_generate(*_):
    for _ in range(3):
        with torch.no_grad():
            torch.zeros(1)
    for _ in range(12):
        generate(torch.randn(4, 8))
    return 12


def inference_of_few_requests(*_):
    for _ in range(3):
        generate(torch.randn(4, 8))
    return 3


def inference_in_one_block(*_):
    with torch.no_grad():
        for _ in range(30):
            model(torch.randn(4, 8))
    return 0
