"""Steps of frameworks' loops. Examples to use or to copy: a framework is imported when its callback is made.

    trainer = lightning.Trainer(callbacks=[podprof.callbacks.lightning()])
    model.fit(data, callbacks=[podprof.callbacks.keras()])
    transformers.Trainer(..., callbacks=[podprof.callbacks.trainer()])
"""
from typing import Any, Optional

from . import _begin, _door, _now, step_end


class Loop:
    """For a loop that is not a for over batches: wants() when input is requested, has(number) when it has arrived, over() at the end and
    before a validation. Frameworks call over() without an open step too."""

    def __init__(self) -> None:
        self._tick, self._last, self._is_open = 0, -1, False

    def wants(self) -> None:
        if _door is not None:
            self._tick = _now()

    def has(self, number: Optional[int] = None) -> None:
        """The step begins at the request for its input. The same number again is the same step: gradients are accumulated."""
        number = self._last + 1 if number is None else int(number)
        if _door is not None and number != self._last:
            _begin(number, self._tick)
            self._last, self._is_open = number, True

    def over(self) -> None:
        self._tick = 0  # the input of the next step is not requested yet
        if self._is_open:
            self._is_open = False
            step_end()


def lightning() -> Any:
    """A Callback of Lightning; its numbers are the trainer's global_step."""
    try:
        from lightning.pytorch.callbacks import Callback
    except ImportError:
        from pytorch_lightning.callbacks import Callback

    class Steps(Callback):
        def __init__(self) -> None:
            self.loop = Loop()

        def on_train_epoch_start(self, trainer: Any, module: Any) -> None:
            self.loop.wants()

        def on_train_batch_start(self, trainer: Any, module: Any, batch: Any, batch_idx: int) -> None:
            self.loop.has(trainer.global_step)

        def on_train_batch_end(self, trainer: Any, module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
            self.loop.wants()

        def on_validation_start(self, trainer: Any, module: Any) -> None:
            self.loop.over()

        def on_validation_end(self, trainer: Any, module: Any) -> None:
            self.loop.wants()

        def on_train_end(self, trainer: Any, module: Any) -> None:
            self.loop.over()

    return Steps()


def keras() -> Any:
    """A Callback of Keras; its steps count on over epochs."""
    from keras.callbacks import Callback

    class Steps(Callback):
        def __init__(self) -> None:
            super().__init__()
            self.loop = Loop()

        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            self.loop.wants()

        def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
            self.loop.has()

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            self.loop.wants()

        def on_test_begin(self, logs: Any = None) -> None:
            self.loop.over()

        def on_test_end(self, logs: Any = None) -> None:
            self.loop.wants()

        def on_train_end(self, logs: Any = None) -> None:
            self.loop.over()

    return Steps()


def trainer() -> Any:
    """A TrainerCallback of transformers; its numbers are the state's global_step."""
    from transformers import TrainerCallback

    class Steps(TrainerCallback):
        def __init__(self) -> None:
            self.loop = Loop()

        def on_epoch_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            self.loop.wants()

        def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            self.loop.has(state.global_step)

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            self.loop.wants()

        def on_evaluate(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            self.loop.over()
            self.loop.wants()

        def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            self.loop.over()

    return Steps()
