"""fit() on the backend that KERAS_BACKEND names; the generator reads from a slow disk."""
import time

import keras
import numpy as np

STEPS = 16


def batches():
    for _ in range(STEPS):
        time.sleep(0.1)
        yield np.ones((4, 8), "float32"), np.ones((4, 1), "float32")


model = keras.Sequential([keras.layers.Input((8,)), keras.layers.Dense(64, activation="relu"), keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
model.fit(batches(), epochs=1, verbose=0)
