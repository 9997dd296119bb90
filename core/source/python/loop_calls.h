/* The interpreter's profile function (PyEval_SetProfile) of the training thread: passes on the calls that one frame makes, and
 * those of a model. Everything here holds the interpreter's lock, which guards its state. Called by shim.c and the interpreter. */
#pragma once

#include <stdint.h>

/* The function to give to PyEval_SetProfile(), with a Python callable f(frame, what, result) as its object; 0: this process has no
 * Python, or another one. */
uint64_t pp_python_calls(void);
/* Addresses of the frame whose calls are wanted, and of the code of a model's call: of the latter two any frame's begin is. */
void pp_python_loop(uint64_t frame, uint64_t code, uint64_t other_code);
