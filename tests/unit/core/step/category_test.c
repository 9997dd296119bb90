/* Names to categories. */
#include "core/step/category.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/test.h"

static const struct {
	const char *name;
	enum pp_category category;
	int by_default;
} table[] = {
        {"dataloader", PP_CATEGORY_INPUT, 0},
        {"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", PP_CATEGORY_INPUT, 0},
        {"data_loader wait", PP_CATEGORY_INPUT, 0},
        {"FSDP::backward_prefetch for layers.1", PP_CATEGORY_HOST_COMMUNICATION, 0},
        {"FSDP::forward_prefetch for layers.1", PP_CATEGORY_HOST_COMMUNICATION, 0},
        {"FullyShardedDataParallel._post_backward_prefetch", PP_CATEGORY_HOST_COMMUNICATION, 0},
        {"prefetch batch", PP_CATEGORY_INPUT, 0},
        {"IteratorGetNext", PP_CATEGORY_INPUT, 0},
        {"tf.data/map", PP_CATEGORY_INPUT, 0},
        {"next_batch", PP_CATEGORY_INPUT, 0},
        {"Read Data", PP_CATEGORY_INPUT, 0},
        {"input", PP_CATEGORY_INPUT, 0},
        {"inputs", PP_CATEGORY_INPUT, 0},
        {"input_layernorm", PP_CATEGORY_HOST_COMPUTE, 0},
        {"checkpoint", PP_CATEGORY_OUTPUT, 0},
        {"save_checkpoint", PP_CATEGORY_OUTPUT, 0},
        {"SaveModel", PP_CATEGORY_OUTPUT, 0},
        {"MPI_Allreduce", PP_CATEGORY_HOST_COMMUNICATION, 0},
        {"ncclAllReduce", PP_CATEGORY_HOST_COMMUNICATION, 0},
        {"gradient allreduce", PP_CATEGORY_HOST_COMMUNICATION, 0},
        {"gloo:all_reduce", PP_CATEGORY_HOST_COMMUNICATION, 0},
        {"BARRIER", PP_CATEGORY_HOST_COMMUNICATION, 0},
        {"comm", PP_CATEGORY_HOST_COMMUNICATION, 0},
        {"command", PP_CATEGORY_HOST_COMPUTE, 1},
        {"jit_train", PP_CATEGORY_COMPILATION, 0},
        {"XlaCompile", PP_CATEGORY_COMPILATION, 0},
        {"cudaLaunchKernel", PP_CATEGORY_KERNEL_LAUNCH, 0},
        {"cuLaunchKernelEx", PP_CATEGORY_KERNEL_LAUNCH, 0},
        {"forward", PP_CATEGORY_HOST_COMPUTE, 0},
        {"Optimizer.step#SGD.step", PP_CATEGORY_HOST_COMPUTE, 0},
        {"matmul 4096", PP_CATEGORY_HOST_COMPUTE, 0},
        {"bert/layer_1/attention_output/einsum/Einsum/Cast:Cast", PP_CATEGORY_HOST_COMPUTE, 0},
        {"bert/input/Mul:Mul", PP_CATEGORY_HOST_COMPUTE, 0},
        {"cond/then/IteratorGetNextAsOptional_6:IteratorGetNextAsOptional", PP_CATEGORY_INPUT, 0},
        {"jit(train_step)/output/dot_general:", PP_CATEGORY_HOST_COMPUTE, 0},
        {"output/a b:c d", PP_CATEGORY_OUTPUT, 0},
        {"cond_17_input_10195:_Arg", PP_CATEGORY_HOST_COMPUTE, 0},
        {"output:Cast", PP_CATEGORY_OUTPUT, 0},
        {"broadcast_maximum_fusion.1", PP_CATEGORY_HOST_COMPUTE, 0},
        {"input_reduce_fusion", PP_CATEGORY_HOST_COMPUTE, 0},
        {"broadcast", PP_CATEGORY_HOST_COMMUNICATION, 0},
        {"aten::broadcast_to", PP_CATEGORY_HOST_COMPUTE, 0},
        {"aten::add_", PP_CATEGORY_HOST_COMPUTE, 0},
        {"detach", PP_CATEGORY_HOST_COMPUTE, 0},
        {"KernelAndDeviceFunc::Run", PP_CATEGORY_HOST_COMPUTE, 0},
        {"multi_step_on_iterator", PP_CATEGORY_HOST_COMPUTE, 0},
        {"MapAndBatchProduce", PP_CATEGORY_INPUT, 0},
        {"TFE_Py_FastPathExecute_C", PP_CATEGORY_HOST_COMPUTE, 0},
        {"CommonPjRtLoadedExecutable::ExecutePrepare", PP_CATEGORY_HOST_COMPUTE, 0},
        {"PjitFunction(multiply)", PP_CATEGORY_HOST_COMPUTE, 0},
        {"$pjit.py:616 _infer_params", PP_CATEGORY_HOST_COMPUTE, 0},
        {"$builtins isinstance", PP_CATEGORY_HOST_COMPUTE, 0},
        {"torch/_ops.py(1140): _contains_fake_script", PP_CATEGORY_HOST_COMPUTE, 0},
        {"<built-in method acquire of _thread.lock object>", PP_CATEGORY_HOST_COMPUTE, 0},
        {"$compiler.py:292 backend_compile_and_load", PP_CATEGORY_COMPILATION, 0},
        {"autograd::engine::evaluate_function: AddmmBackward0", PP_CATEGORY_HOST_COMPUTE, 0},
        {"torch::autograd::AccumulateGrad", PP_CATEGORY_HOST_COMPUTE, 0},
        {"AddmmBackward0", PP_CATEGORY_HOST_COMPUTE, 0},
        {"XBackward0", PP_CATEGORY_HOST_COMPUTE, 0},
        {"CompiledFunctionBackward", PP_CATEGORY_HOST_COMPUTE, 0},
        {"torch::distributed::reducer::mul_out", PP_CATEGORY_HOST_COMPUTE, 0},
        {"torch::distributed::reducer::copy_", PP_CATEGORY_HOST_COMPUTE, 0},
        {"torch.distributed.ddp.reducer::copy_bucket_to_grad", PP_CATEGORY_HOST_COMPUTE, 0},
        {"DistributedDataParallel.forward", PP_CATEGORY_HOST_COMPUTE, 0},
        {"Optimizer.zero_grad#SGD.zero_grad", PP_CATEGORY_HOST_COMPUTE, 0},
        {"Optimizer.step#AdamW.step", PP_CATEGORY_HOST_COMPUTE, 0},
        {"ProfilerStep#12", PP_CATEGORY_OTHER, 0},
        {"torch.compile", PP_CATEGORY_COMPILATION, 0},
        {"Torch-Compiled Region: 0/0", PP_CATEGORY_HOST_COMPUTE, 0},
        {"## Call CompiledFxGraph fq5x ##", PP_CATEGORY_HOST_COMPUTE, 0},
        {"reorder", PP_CATEGORY_HOST_COMPUTE, 0}, /* oneDNN's */
        {"batch_normalization", PP_CATEGORY_HOST_COMPUTE, 0},
        {"TorchDynamo Cache Lookup", PP_CATEGORY_HOST_COMPUTE, 0},
        {"prims::broadcast_in_dim", PP_CATEGORY_HOST_COMPUTE, 0},
        {"PythonDispatchMode", PP_CATEGORY_HOST_COMPUTE, 0},
        {"GraphLowering.run (dynamo_timed)", PP_CATEGORY_COMPILATION, 0},
        {"torch/_compile.py(42): inner", PP_CATEGORY_HOST_COMPUTE, 0},
        {"torch/_dynamo/eval_frame.py(1423): _fn", PP_CATEGORY_HOST_COMPUTE, 0},
        {"torch/_dynamo/decorators.py(850): graph_break", PP_CATEGORY_HOST_COMPUTE, 0},
        {"torch/_dynamo/convert_frame.py(1400): __call__", PP_CATEGORY_COMPILATION, 0},
        {"torch/_inductor/compile_fx.py(700): compile_fx_inner", PP_CATEGORY_COMPILATION, 0},
        {"torch/_jit_internal.py(104): is_scripting", PP_CATEGORY_HOST_COMPUTE, 0},
        {"torch/jit/__init__.py(129): annotate", PP_CATEGORY_HOST_COMPUTE, 0},
        {"torch/compiler/__init__.py(630): is_exporting", PP_CATEGORY_HOST_COMPUTE, 0},
        {"torch/utils/checkpoint.py(488): checkpoint", PP_CATEGORY_HOST_COMPUTE, 0},
        {"inductor", PP_CATEGORY_COMPILATION, 0},
        {"inductor::_alloc_from_pool", PP_CATEGORY_HOST_COMPUTE, 0},
        {"gloo:reduce_scatter", PP_CATEGORY_HOST_COMMUNICATION, 0},
        {"nccl:all_reduce", PP_CATEGORY_HOST_COMMUNICATION, 0},
        {"c10d::_reduce_scatter_base_", PP_CATEGORY_HOST_COMMUNICATION, 0},
        {"c10d::allreduce_", PP_CATEGORY_HOST_COMMUNICATION, 0},
        {"_c10d_functional_autograd::all_to_all_single", PP_CATEGORY_HOST_COMMUNICATION, 0},
        {"enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", PP_CATEGORY_INPUT, 0},
        {"frobnicate", PP_CATEGORY_HOST_COMPUTE, 1},
        {"", PP_CATEGORY_HOST_COMPUTE, 1},
        {"\xef\xbf\xbd\xef\xbf\xbd", PP_CATEGORY_HOST_COMPUTE, 1},
        {"presave", PP_CATEGORY_HOST_COMPUTE, 1},
};

TEST(rules)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		int by_default = -1;
		enum pp_category got = pp_category_of_name(table[i].name, strlen(table[i].name), &by_default);

		if (got != table[i].category || by_default != table[i].by_default)
			fprintf(stderr, "'%s': %s, default %d\n", table[i].name, pp_category_name((int)got), by_default);
		CHECK_INT(got, table[i].category);
		CHECK_INT(by_default, table[i].by_default);
	}
}

TEST(long_name)
{
	char name[10240];
	int by_default;

	memset(name, 'A', sizeof(name));
	CHECK_INT(pp_category_of_name(name, sizeof(name), &by_default), PP_CATEGORY_HOST_COMPUTE);
	for (size_t i = 0; i < sizeof(name); i++) /* the most words there can be */
		name[i] = i % 2 ? 'A' : 'b';
	CHECK_INT(pp_category_of_name(name, sizeof(name), &by_default), PP_CATEGORY_HOST_COMPUTE);
	CHECK_INT(by_default, 1);
	CHECK_INT(pp_category_of_name(NULL, 0, &by_default), PP_CATEGORY_HOST_COMPUTE);
	CHECK_INT(by_default, 1);
}

TEST(names_of_ids)
{
	CHECK_STR(pp_category_name(4), "Host compute");
	CHECK_STR(pp_category_name(10), "Host communication");
	CHECK_STR(pp_category_name(0), "?");
	CHECK_STR(pp_category_name(11), "?");
	CHECK_STR(pp_category_colour(6), "#D7263D");
}

/* Rules of a user go before the others, in the order of their file. */
TEST(users_rules)
{
	static const char *const bad[][2] = {
	        {"a = Input\n\nfetch\n", "line 3: 'fetch' has no '='"},
	        {"a = In put", "line 1: unknown category: 'In put'. Choose one of: Device compute, "},
	        {" :: = Input", "line 1: no word before '='"},
	        {"a* b*c = Input", "line 1: '*' in 'a* b*c' is not at the end of a word"},
	        {"* = Input", "line 1: '*' in '*' is not at the end of a word"},
	};
	static const char good[] = "# mine\n\n  Fetch-Shard* = input   # as written in the program\nmy_step = All others\r\n"
	                           "a=b = Output\nforward = Compilation";
	static const struct {
		const char *name;
		enum pp_category category;
		int by_default;
	} want[] = {{"fetchShards", PP_CATEGORY_INPUT, 0},   {"fetch", PP_CATEGORY_HOST_COMPUTE, 1},
	            {"MyStep", PP_CATEGORY_OTHER, 0},        {"a b", PP_CATEGORY_OUTPUT, 0},
	            {"forward", PP_CATEGORY_COMPILATION, 0}, {"save", PP_CATEGORY_OUTPUT, 0}};
	char path[] = "/tmp/podprof-rules-XXXXXX";
	int fd = mkstemp(path), by_default;
	struct pp_err err = {""};

	CHECK(write(fd, good, sizeof(good) - 1) == (ssize_t)sizeof(good) - 1);
	CHECK_INT(pp_category_rules_load(path, &err), 0);
	CHECK_STR(err.text, "");
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		CHECK_INT(pp_category_of_name(want[i].name, strlen(want[i].name), &by_default), want[i].category);
		CHECK_INT(by_default, want[i].by_default);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CHECK(!ftruncate(fd, 0) && pwrite(fd, bad[i][0], strlen(bad[i][0]), 0) == (ssize_t)strlen(bad[i][0]));
		CHECK_INT(pp_category_rules_load(path, &err), -EINVAL);
		if (!strstr(err.text, bad[i][1]) || !strstr(err.text, path))
			fprintf(stderr, "%s\n", err.text);
		CHECK(strstr(err.text, bad[i][1]) && strstr(err.text, path));
		CHECK_INT(pp_category_of_name("a", 1, &by_default), PP_CATEGORY_HOST_COMPUTE); /* none stays */
	}
	CHECK(!ftruncate(fd, 0) && pwrite(fd, "a = Input\0\n", 11, 0) == 11);
	CHECK_INT(pp_category_rules_load(path, &err), -EINVAL);
	CHECK(strstr(err.text, "line 1: a zero byte") != NULL);
	unlink(path);
	close(fd);
	CHECK_INT(pp_category_rules_load(path, &err), -ENOENT);
	CHECK_INT(pp_category_of_name("forward", 7, &by_default), PP_CATEGORY_HOST_COMPUTE);
}

int main(void)
{
	users_rules();
	rules();
	long_name();
	names_of_ids();
	return test_end();
}
