/* What a fuzz target is: reads any bytes, and aborts where a rule of its result is broken. Called by libFuzzer, or by replay.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
