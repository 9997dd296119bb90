/* Calls of one frame of Python; see loop_calls.h. It knows no header of Python: the functions that it calls have had the same
 * arguments since Python 3.9. */
#include "core/source/python/loop_calls.h"

#include <dlfcn.h>
#include <stddef.h>

enum { CALL = 0, RETURN = 3 }; /* PyTrace_CALL, PyTrace_RETURN */

static struct {
	void *(*back)(void *frame); /* PyFrame_GetBack: a new reference, or NULL */
	void *(*code)(void *frame); /* PyFrame_GetCode: a new reference */
	void (*release)(void *object);
	void *(*call)(void *callable, ...); /* PyObject_CallFunctionObjArgs */
	void *(*number)(long value);
	void *none;
} python;

static struct {
	void *frame, *code, *other_code;
} wanted;

static int is_of_loop(void *frame)
{
	void *back = python.back(frame);
	int is = back == wanted.frame;

	if (back)
		python.release(back);
	return is;
}

static int is_model(void *frame)
{
	void *code = python.code(frame);
	int is = code == wanted.code || code == wanted.other_code;

	python.release(code);
	return is;
}

/* 0: the interpreter goes on; -1: it raises what the callable has, which lets through only what is not its own: an interrupt. */
static int called(void *callable, void *frame, int what, void *result)
{
	void *number, *answer;

	if ((what != CALL && what != RETURN) || !(is_of_loop(frame) || (what == CALL && is_model(frame))))
		return 0;
	number = python.number(what);
	answer = number ? python.call(callable, frame, number, result ? result : python.none, NULL) : NULL;
	if (number)
		python.release(number);
	if (!answer)
		return -1;
	python.release(answer);
	return 0;
}

uint64_t pp_python_calls(void)
{
	*(void **)&python.back = dlsym(RTLD_DEFAULT, "PyFrame_GetBack");
	*(void **)&python.code = dlsym(RTLD_DEFAULT, "PyFrame_GetCode");
	*(void **)&python.release = dlsym(RTLD_DEFAULT, "Py_DecRef");
	*(void **)&python.call = dlsym(RTLD_DEFAULT, "PyObject_CallFunctionObjArgs");
	*(void **)&python.number = dlsym(RTLD_DEFAULT, "PyLong_FromLong");
	python.none = dlsym(RTLD_DEFAULT, "_Py_NoneStruct");
	return python.back && python.code && python.release && python.call && python.number && python.none
	               ? (uint64_t)(uintptr_t)called
	               : 0;
}

void pp_python_loop(uint64_t frame, uint64_t code, uint64_t other_code)
{
	wanted.frame = (void *)(uintptr_t)frame;
	wanted.code = (void *)(uintptr_t)code;
	wanted.other_code = (void *)(uintptr_t)other_code;
}
