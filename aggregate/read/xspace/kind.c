/* Tables of names that profilers of TensorFlow, JAX and of devices' vendors give planes, lines and threads; see kind.h. */
#include "aggregate/read/xspace/kind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/step/classify.h"

enum { DERIVED_LINES = 390 };

#define DERIVED_FIRST 0xdeadbeefu

static int begins(const char *text, size_t length, const char *with)
{
	return length >= strlen(with) && !memcmp(text, with, strlen(with));
}

enum pp_xplane_kind pp_xkind_plane(const char *name)
{
	static const struct {
		const char *begin;
		enum pp_xplane_kind kind;
		int whole;
	} row[] = {
	        {"/host:CPU", PP_XPLANE_HOST, 0},
	        {"/host:CUPTI", PP_XPLANE_HOST, 1}, /* these are merged into that of the CPU, unless the writer stopped before it */
	        {"/host:NVTX-CUPTI", PP_XPLANE_HOST, 1},
	        {"/host:ROCTRACER", PP_XPLANE_HOST, 1},
	        {"/host:python-tracer", PP_XPLANE_HOST, 1},
	        {"/host:TPU-runtime", PP_XPLANE_HOST, 1},
	        {"/device:TPU:", PP_XPLANE_TPU, 0},
	        {"/device:CUSTOM:", PP_XPLANE_CUSTOM, 0},
	        {"/custom:", PP_XPLANE_CUSTOM, 0},
	        {"/device:CPU:", PP_XPLANE_OTHER, 0},
	        {"/device:", PP_XPLANE_GPU, 0}, /* GPU, XPU and what other vendors call theirs */
	        {"Task Environment", PP_XPLANE_ENVIRONMENT, 1},
	        {"/host:metadata", PP_XPLANE_METADATA, 1},
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		if (row[i].whole ? !strcmp(name, row[i].begin) : begins(name, strlen(name), row[i].begin))
			return row[i].kind;
	return PP_XPLANE_OTHER;
}

void pp_xkind_device(const char *name, char *kind, size_t size, uint32_t *ret_number)
{
	const char *type = strchr(name, ':'), *end, *at;

	type = type ? type + 1 : name;
	if (!strncmp(type, "CUSTOM:", 7))
		type += 7;
	end = type + strcspn(type, ":");
	at = *end ? end + 1 : end;
	if (!*end) /* "Name 2" */
		while (at > type && at[-1] >= '0' && at[-1] <= '9')
			at--;
	if (!*end)
		end = at > type && *at && at[-1] == ' ' ? at - 1 : end;
	snprintf(kind, size, "%.*s", (int)(end - type), type);
	*ret_number = (uint32_t)(strtoul(at, NULL, 10) & 0xffffff);
}

int pp_xkind_is_device(enum pp_xplane_kind kind)
{
	return kind == PP_XPLANE_GPU || kind == PP_XPLANE_TPU;
}

static int is_one_of(const char *name, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(name, list[i]))
			return 1;
	return 0;
}

enum pp_xline_kind pp_xkind_device_line(enum pp_xplane_kind plane, const char *name, int64_t id, int has_streams)
{
	/* Viewers add lines to a device's streams, made from their events: by number, in old files by name. */
	static const char *const derived[] = {
	        "TensorFlow Ops", "TensorFlow Name Scope", "Framework Ops",    "Framework Name Scope", "XLA Modules",
	        "XLA Ops",        "Async XLA Ops",         "Launch Stats",     "Source code",          "Source Code",
	        "XLA TraceMe",    "Sparse Core Steps",     "Host Offload Ops", "Sparse Core Modules",  "Sparse Core Ops"};
	static const char *const ops[] = {"XLA Ops", "Sparse Core Ops"};
	uint32_t number = (uint32_t)(uint64_t)id - DERIVED_FIRST;
	int is_op = is_one_of(name, ops, sizeof(ops) / sizeof(ops[0]));
	const int is_own = plane == PP_XPLANE_TPU || !has_streams; /* else a viewer made it of streams */

	if (!number || !strcmp(name, "Steps"))
		return PP_XLINE_STEPS;
	if (!strcmp(name, "_counters_") || !strncmp(name, "counters_", 9))
		return PP_XLINE_COUNTERS;
	if (!strcmp(name, "XLA Modules"))
		return PP_XLINE_MODULES;
	if (is_own && (is_op || !strcmp(name, "Async XLA Ops")))
		return is_op ? PP_XLINE_STREAM : PP_XLINE_ASYNC;
	if (plane == PP_XPLANE_TPU)
		return PP_XLINE_DERIVED;
	return number < DERIVED_LINES || is_one_of(name, derived, sizeof(derived) / sizeof(derived[0])) ? PP_XLINE_DERIVED
	                                                                                                : PP_XLINE_STREAM;
}

int pp_xkind_is_runtime_thread(const char *name)
{
	static const char *const pool[] = {"tf_", "tsl",  "pjrt", "PjRt", "XLA",  "xla",    "Eigen", "tpu",
	                                   "TPU", "tfrt", "TFRT", "ifrt", "IFRT", "py_xla", "grpc",  "MegaScale"};

	for (size_t i = 0; i < sizeof(pool) / sizeof(pool[0]); i++)
		if (!strncmp(name, pool[i], strlen(pool[i])))
			return 1;
	return 0;
}

static const char *const communicating[] = {"all-reduce",          "all-gather",         "reduce-scatter", "ragged-all-to-all",
                                            "all-to-all",          "collective-permute", "send",           "recv",
                                            "collective-broadcast"};

/* The operation's name ends there, but for what says that it is a part of an asynchronous one, or fused with others. */
static int is_end(const char *text, size_t length)
{
	static const char *const part[] = {"-start", "-done", "-update"};

	for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++)
		if (begins(text, length, part[i])) {
			text += strlen(part[i]);
			length -= strlen(part[i]);
			break;
		}
	return !length || *text == '.' || *text == ' ';
}

static int is_communicating(const char *text, size_t length)
{
	for (size_t i = 0; i < sizeof(communicating) / sizeof(communicating[0]); i++) {
		size_t n = strlen(communicating[i]);

		if (begins(text, length, communicating[i]) && is_end(text + n, length - n))
			return 1;
	}
	return 0;
}

int pp_xkind_activity(const char *category, size_t length)
{
	static const struct {
		const char *name;
		int activity;
	} row[] = {
	        {"copy-start", PP_DEVICE_DEVICE_TO_DEVICE},
	        {"copy-done", PP_DEVICE_DEVICE_TO_DEVICE},
	        {"infeed", PP_DEVICE_HOST_TO_DEVICE},
	        {"outfeed", PP_DEVICE_DEVICE_TO_HOST},
	        {"async-start", -1}, /* of any operation */
	        {"async-update", -1},
	        {"async-done", -1},
	        {"unknown", -1},
	};

	if (!length)
		return -1;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		if (length == strlen(row[i].name) && !memcmp(category, row[i].name, length))
			return row[i].activity;
	return is_communicating(category, length) ? PP_DEVICE_COLLECTIVE : PP_DEVICE_KERNEL;
}

int pp_xkind_hlo_communicates(const char *op, size_t length)
{
	if (length && *op == '%') {
		op++;
		length--;
	}
	return length && is_communicating(op, length);
}

/* One identifier as C++ of the runtimes writes them, "AllocateOutputBuffers": the file does not say who made a range, and words in
 * such a name would be taken for the program's. */
static int is_camel_case(const char *name, size_t length)
{
	size_t humps = 0;

	for (size_t i = 0; i < length; i++) {
		const int is_upper = name[i] >= 'A' && name[i] <= 'Z', is_lower = name[i] >= 'a' && name[i] <= 'z';

		if (!is_upper && !is_lower && !(name[i] >= '0' && name[i] <= '9'))
			return 0;
		humps += is_lower && i && name[i - 1] >= 'A' && name[i - 1] <= 'Z';
	}
	return humps > 1 && name[0] >= 'A' && name[0] <= 'Z';
}

enum pp_origin pp_xkind_origin(const char *name, size_t length)
{
	/* Python's tracers begin names with a $; C++ of a framework's runtime has namespaces; "scope/name:Type" is an operator. */
	/* Names of events of JAX's and TensorFlow's runtimes, where they begin. */
	static const char *const runtime[] = {"PjitFunction(",
	                                      "XlaModule:",
	                                      "Execute (",
	                                      "TfrtModelRun",
	                                      "TFE_",
	                                      "EagerExecute",
	                                      "EagerLocalExecute",
	                                      "EagerKernelExecute",
	                                      "EagerCopyToDevice",
	                                      "ValidateInputTypeAndPlacement",
	                                      "KernelLaunch",
	                                      "KernelExecute",
	                                      "BufferFromHost",
	                                      "Wait for usage holds",
	                                      "Wait for donation holds",
	                                      "SessionRun",
	                                      "FunctionRun",
	                                      "RunGraph",
	                                      "TfOpRun",
	                                      "PjrtAsyncWait",
	                                      "DoEnqueueProgram",
	                                      "EnqueueRequestLocked",
	                                      "RunProgramRequest",
	                                      "TransferH2DRequest",
	                                      "TransferD2HRequest",
	                                      "TpuExecuteOp",
	                                      "CompleteCallbacks",
	                                      "WriteHbm",
	                                      "ReadHbm",
	                                      "MegaScale: "};

	if (length && *name == '$')
		return PP_ORIGIN_PYTHON;
	if (pp_category_operator_type(name, length))
		return PP_ORIGIN_OPERATOR;
	if (length && (memmem(name, length, "::", 2) || is_camel_case(name, length)))
		return PP_ORIGIN_LIBRARY;
	for (size_t i = 0; i < sizeof(runtime) / sizeof(runtime[0]); i++)
		if (begins(name, length, runtime[i]))
			return PP_ORIGIN_LIBRARY;
	return PP_ORIGIN_PROGRAM;
}
