/* Calls of Python's functions on one thread, the one that marks steps. In: events of sys.monitoring or PyEval_SetProfile(), whose
 * callbacks are here, in C: the shim (launchers/python/podprof/_calls.py) registers them. Out: ranges of the domain "Python calls",
 * named "file(line): function" as other profilers name frames. Nested calls beyond PP_CALLS_DEEP, and calls beyond PP_CALLS_MOST in
 * a step (or second), are not recorded but counted: PP_LOSS_CALLS. All callbacks run with the interpreter's lock. */
#pragma once

#include <stdint.h>

enum { PP_CALLS_DEEP = 256, PP_CALLS_MOST = 1 << 17, PP_CALLS_CODES = 1 << 14 };

/* The interpreter's functions, by their names there; found by pp_calls_begin(), or set by a test before it. */
struct pp_calls_python {
	void *(*PyObject_GetAttrString)(void *object, const char *name);
	const char *(*PyUnicode_AsUTF8AndSize)(void *unicode, intptr_t *ret_size);
	long (*PyLong_AsLong)(void *number);
	void *(*PyFrame_GetCode)(void *frame);
	void (*Py_IncRef)(void *object);
	void (*Py_DecRef)(void *object);
	void (*PyErr_Fetch)(void **type, void **value, void **traceback);
	void (*PyErr_Restore)(void *type, void *value, void *traceback);
	void *none;
};
extern struct pp_calls_python pp_calls_python __attribute__((visibility("hidden")));

/* From now on calls of this thread are recorded. paths: directories, a line break behind each, longest first, which are left out of
 * names; own: what is in this directory is not recorded. 0; 1: there is no interpreter or memory, or this
 * thread has no ring. */
int pp_calls_begin(const char *paths, const char *own);
/* Until now. Calls that have not ended end here. */
void pp_calls_end(void);

/* A METH_FASTCALL function for events of sys.monitoring, whose first argument is a code object. */
void *pp_calls_on_begin(void *self, void *const *arguments, intptr_t count);
void *pp_calls_on_end(void *self, void *const *arguments, intptr_t count);
/* A Py_tracefunc. */
int pp_calls_on_profile(void *self, void *frame, int what, void *argument);
