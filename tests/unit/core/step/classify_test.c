/* Who made a range and its name, to its category and what that rests on. */
#include "core/step/classify.h"

#include <string.h>

#include "core/step/category.h"
#include "tests/test.h"

static const struct {
	const char *name;
	enum pp_origin origin;
	enum pp_category category;
	enum pp_grounds by;
} table[] = {
        {"dataloader", PP_ORIGIN_PROGRAM, PP_CATEGORY_INPUT, PP_BY_WORDS},
        {"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", PP_ORIGIN_PROGRAM, PP_CATEGORY_INPUT, PP_BY_NAME},
        {"data_loader wait", PP_ORIGIN_PROGRAM, PP_CATEGORY_INPUT, PP_BY_WORDS},
        {"FSDP::backward_prefetch for layers.1", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMMUNICATION, PP_BY_NAME},
        {"FSDP::forward_prefetch for layers.1", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMMUNICATION, PP_BY_NAME},
        {"FullyShardedDataParallel._post_backward_prefetch", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMMUNICATION, PP_BY_NAME},
        {"prefetch batch", PP_ORIGIN_PROGRAM, PP_CATEGORY_INPUT, PP_BY_WORDS},
        {"IteratorGetNext", PP_ORIGIN_PROGRAM, PP_CATEGORY_INPUT, PP_BY_NAME},
        {"tf.data/map", PP_ORIGIN_PROGRAM, PP_CATEGORY_INPUT, PP_BY_NAME},
        {"next_batch", PP_ORIGIN_PROGRAM, PP_CATEGORY_INPUT, PP_BY_WORDS},
        {"Read Data", PP_ORIGIN_PROGRAM, PP_CATEGORY_INPUT, PP_BY_WORDS},
        {"input", PP_ORIGIN_PROGRAM, PP_CATEGORY_INPUT, PP_BY_WORDS},
        {"inputs", PP_ORIGIN_PROGRAM, PP_CATEGORY_INPUT, PP_BY_WORDS},
        {"input_layernorm", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMPUTE, PP_BY_WORDS},
        {"checkpoint", PP_ORIGIN_PROGRAM, PP_CATEGORY_OUTPUT, PP_BY_WORDS},
        {"save_checkpoint", PP_ORIGIN_PROGRAM, PP_CATEGORY_OUTPUT, PP_BY_WORDS},
        {"SaveModel", PP_ORIGIN_PROGRAM, PP_CATEGORY_OUTPUT, PP_BY_WORDS},
        {"MPI_Allreduce", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMMUNICATION, PP_BY_NAME},
        {"ncclAllReduce", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMMUNICATION, PP_BY_NAME},
        {"gradient allreduce", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMMUNICATION, PP_BY_WORDS},
        {"gloo:all_reduce", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMMUNICATION, PP_BY_NAME},
        {"BARRIER", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMMUNICATION, PP_BY_WORDS},
        {"comm", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMMUNICATION, PP_BY_WORDS},
        {"command", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMPUTE, PP_BY_NOTHING},
        {"jit_train", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMPUTE, PP_BY_NOTHING},
        {"XlaCompile", PP_ORIGIN_PROGRAM, PP_CATEGORY_COMPILATION, PP_BY_NAME},
        {"cudaLaunchKernel", PP_ORIGIN_PROGRAM, PP_CATEGORY_KERNEL_LAUNCH, PP_BY_NAME},
        {"cuLaunchKernelEx", PP_ORIGIN_PROGRAM, PP_CATEGORY_KERNEL_LAUNCH, PP_BY_NAME},
        {"forward", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMPUTE, PP_BY_WORDS},
        {"Optimizer.step#SGD.step", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMPUTE, PP_BY_NAME},
        {"matmul 4096", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMPUTE, PP_BY_WORDS},
        {"bert/layer_1/attention_output/einsum/Einsum/Cast:Cast", PP_ORIGIN_OPERATOR, PP_CATEGORY_HOST_COMPUTE, PP_BY_KIND},
        {"bert/input/Mul:Mul", PP_ORIGIN_OPERATOR, PP_CATEGORY_HOST_COMPUTE, PP_BY_KIND},
        {"cond/then/IteratorGetNextAsOptional_6:IteratorGetNextAsOptional", PP_ORIGIN_OPERATOR, PP_CATEGORY_INPUT, PP_BY_NAME},
        {"jit(train_step)/output/dot_general:", PP_ORIGIN_OPERATOR, PP_CATEGORY_HOST_COMPUTE, PP_BY_KIND},
        {"output/a b:c d", PP_ORIGIN_PROGRAM, PP_CATEGORY_OUTPUT, PP_BY_WORDS},
        {"cond_17_input_10195:_Arg", PP_ORIGIN_OPERATOR, PP_CATEGORY_HOST_COMPUTE, PP_BY_KIND},
        {"MatMul:MatMul", PP_ORIGIN_LIBRARY, PP_CATEGORY_HOST_COMPUTE, PP_BY_KIND},
        {"ReadVariableOp_1:ReadVariableOp", PP_ORIGIN_LIBRARY, PP_CATEGORY_HOST_COMPUTE, PP_BY_KIND},
        {"SaveV2:SaveV2", PP_ORIGIN_LIBRARY, PP_CATEGORY_OUTPUT, PP_BY_NAME},
        {"MatMul_like:Mat", PP_ORIGIN_LIBRARY, PP_CATEGORY_HOST_COMPUTE, PP_BY_NOTHING},
        {"load:Data", PP_ORIGIN_PROGRAM, PP_CATEGORY_INPUT, PP_BY_WORDS},
        {"output:Cast", PP_ORIGIN_PROGRAM, PP_CATEGORY_OUTPUT, PP_BY_WORDS},
        {"broadcast_maximum_fusion.1", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMPUTE, PP_BY_WORDS},
        {"input_reduce_fusion", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMPUTE, PP_BY_WORDS},
        {"broadcast", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMMUNICATION, PP_BY_WORDS},
        {"aten::broadcast_to", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMPUTE, PP_BY_NAME},
        {"aten::add_", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMPUTE, PP_BY_NAME},
        {"detach", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMPUTE, PP_BY_NAME},
        {"KernelAndDeviceFunc::Run", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMPUTE, PP_BY_NAME},
        {"multi_step_on_iterator", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMPUTE, PP_BY_NAME},
        {"MapAndBatchProduce", PP_ORIGIN_PROGRAM, PP_CATEGORY_INPUT, PP_BY_NAME},
        {"TFE_Py_FastPathExecute_C", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMPUTE, PP_BY_NAME},
        {"CommonPjRtLoadedExecutable::ExecutePrepare", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMPUTE, PP_BY_NAME},
        {"PjitFunction(multiply)", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMPUTE, PP_BY_NAME},
        {"$pjit.py:616 _infer_params", PP_ORIGIN_PYTHON, PP_CATEGORY_HOST_COMPUTE, PP_BY_KIND},
        {"$builtins isinstance", PP_ORIGIN_PYTHON, PP_CATEGORY_HOST_COMPUTE, PP_BY_KIND},
        {"torch/_ops.py(1140): _contains_fake_script", PP_ORIGIN_PYTHON, PP_CATEGORY_HOST_COMPUTE, PP_BY_KIND},
        {"<built-in method acquire of _thread.lock object>", PP_ORIGIN_PYTHON, PP_CATEGORY_HOST_COMPUTE, PP_BY_KIND},
        {"$compiler.py:292 backend_compile_and_load", PP_ORIGIN_PYTHON, PP_CATEGORY_COMPILATION, PP_BY_NAME},
        {"autograd::engine::evaluate_function: AddmmBackward0", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMPUTE, PP_BY_NAME},
        {"torch::autograd::AccumulateGrad", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMPUTE, PP_BY_NAME},
        {"AddmmBackward0", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMPUTE, PP_BY_NAME},
        {"XBackward0", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMPUTE, PP_BY_NAME},
        {"CompiledFunctionBackward", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMPUTE, PP_BY_NAME},
        {"torch::distributed::reducer::mul_out", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMPUTE, PP_BY_NAME},
        {"torch::distributed::reducer::copy_", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMPUTE, PP_BY_NAME},
        {"torch.distributed.ddp.reducer::copy_bucket_to_grad", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMPUTE, PP_BY_NAME},
        {"DistributedDataParallel.forward", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMPUTE, PP_BY_NAME},
        {"Optimizer.zero_grad#SGD.zero_grad", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMPUTE, PP_BY_NAME},
        {"Optimizer.step#AdamW.step", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMPUTE, PP_BY_NAME},
        {"ProfilerStep#12", PP_ORIGIN_PROGRAM, PP_CATEGORY_OTHER, PP_BY_NAME},
        {"torch.compile", PP_ORIGIN_PROGRAM, PP_CATEGORY_COMPILATION, PP_BY_NAME},
        {"Torch-Compiled Region: 0/0", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMPUTE, PP_BY_NAME},
        {"## Call CompiledFxGraph fq5x ##", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMPUTE, PP_BY_NAME},
        {"reorder", PP_ORIGIN_LIBRARY, PP_CATEGORY_HOST_COMPUTE, PP_BY_NOTHING},
        {"batch_normalization", PP_ORIGIN_LIBRARY, PP_CATEGORY_HOST_COMPUTE, PP_BY_NOTHING},
        {"TorchDynamo Cache Lookup", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMPUTE, PP_BY_NAME},
        {"prims::broadcast_in_dim", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMPUTE, PP_BY_NAME},
        {"PythonDispatchMode", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMPUTE, PP_BY_NAME},
        {"GraphLowering.run (dynamo_timed)", PP_ORIGIN_PROGRAM, PP_CATEGORY_COMPILATION, PP_BY_NAME},
        {"torch/_compile.py(42): inner", PP_ORIGIN_PYTHON, PP_CATEGORY_HOST_COMPUTE, PP_BY_KIND},
        {"torch/_dynamo/eval_frame.py(1423): _fn", PP_ORIGIN_PYTHON, PP_CATEGORY_HOST_COMPUTE, PP_BY_KIND},
        {"torch/_dynamo/decorators.py(850): graph_break", PP_ORIGIN_PYTHON, PP_CATEGORY_HOST_COMPUTE, PP_BY_KIND},
        {"torch/_dynamo/convert_frame.py(1400): __call__", PP_ORIGIN_PYTHON, PP_CATEGORY_COMPILATION, PP_BY_NAME},
        {"torch/_inductor/compile_fx.py(700): compile_fx_inner", PP_ORIGIN_PYTHON, PP_CATEGORY_COMPILATION, PP_BY_NAME},
        {"torch/_jit_internal.py(104): is_scripting", PP_ORIGIN_PYTHON, PP_CATEGORY_HOST_COMPUTE, PP_BY_KIND},
        {"torch/jit/__init__.py(129): annotate", PP_ORIGIN_PYTHON, PP_CATEGORY_HOST_COMPUTE, PP_BY_KIND},
        {"torch/compiler/__init__.py(630): is_exporting", PP_ORIGIN_PYTHON, PP_CATEGORY_HOST_COMPUTE, PP_BY_KIND},
        {"torch/utils/checkpoint.py(488): checkpoint", PP_ORIGIN_PYTHON, PP_CATEGORY_HOST_COMPUTE, PP_BY_KIND},
        {"inductor", PP_ORIGIN_PROGRAM, PP_CATEGORY_COMPILATION, PP_BY_NAME},
        {"inductor::_alloc_from_pool", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMPUTE, PP_BY_NAME},
        {"gloo:reduce_scatter", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMMUNICATION, PP_BY_NAME},
        {"nccl:_all_gather_base", PP_ORIGIN_OPERATOR, PP_CATEGORY_HOST_COMMUNICATION, PP_BY_NAME},
        {"nccl:all_reduce", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMMUNICATION, PP_BY_NAME},
        {"c10d::_reduce_scatter_base_", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMMUNICATION, PP_BY_NAME},
        {"c10d::allreduce_", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMMUNICATION, PP_BY_NAME},
        {"_c10d_functional_autograd::all_to_all_single", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMMUNICATION, PP_BY_NAME},
        {"enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", PP_ORIGIN_PROGRAM, PP_CATEGORY_INPUT, PP_BY_NAME},
        {"frobnicate", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMPUTE, PP_BY_NOTHING},
        {"", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMPUTE, PP_BY_NOTHING},
        {"\xef\xbf\xbd\xef\xbf\xbd", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMPUTE, PP_BY_NOTHING},
        {"presave", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMPUTE, PP_BY_NOTHING},
        {"vllm/compilation/decorators.py(200): __call__", PP_ORIGIN_PYTHON, PP_CATEGORY_HOST_COMPUTE, PP_BY_KIND},
        {"my/input_pipeline.py(10): run_on_input", PP_ORIGIN_PYTHON, PP_CATEGORY_HOST_COMPUTE, PP_BY_KIND},
        {"transformers/utils/output_capturing.py(1): wrapper", PP_ORIGIN_PYTHON, PP_CATEGORY_HOST_COMPUTE, PP_BY_KIND},
        {"torch/_inductor/output_code.py(500): __call__", PP_ORIGIN_PYTHON, PP_CATEGORY_HOST_COMPUTE, PP_BY_KIND},
        {"/opt/venv/lib/python3.11/site-packages/torch/utils/data/dataloader.py(633): __next__", PP_ORIGIN_PYTHON,
         PP_CATEGORY_INPUT, PP_BY_NAME},
        {"torch/serialization.py(800): save", PP_ORIGIN_PYTHON, PP_CATEGORY_OUTPUT, PP_BY_NAME},
        {"Execute (jit_train_step)", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMPUTE, PP_BY_NAME},
        {"XlaModule:#hlo_module=jit_step,program_id=3#", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMPUTE, PP_BY_NAME},
        {"CollectiveOpV2Kernel::Run", PP_ORIGIN_LIBRARY, PP_CATEGORY_HOST_COMMUNICATION, PP_BY_NAME},
        {"BaseCollectiveExecutor::ExecuteAsync", PP_ORIGIN_LIBRARY, PP_CATEGORY_HOST_COMMUNICATION, PP_BY_NAME},
        {"Frobnicator::Input", PP_ORIGIN_LIBRARY, PP_CATEGORY_HOST_COMPUTE, PP_BY_NOTHING},
        {"my_extension::save_output", PP_ORIGIN_OPERATOR, PP_CATEGORY_HOST_COMPUTE, PP_BY_KIND},
        {"PythonSubclass", PP_ORIGIN_OPERATOR, PP_CATEGORY_HOST_COMPUTE, PP_BY_NAME},
        {"Redistribute", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMPUTE, PP_BY_NAME},
        {"fsdp::chunk_cat", PP_ORIGIN_OPERATOR, PP_CATEGORY_HOST_COMPUTE, PP_BY_NAME},
        {"all-reduce.17", PP_ORIGIN_OPERATOR, PP_CATEGORY_HOST_COMMUNICATION, PP_BY_NAME},
        {"cudaStreamSynchronize", PP_ORIGIN_RUNTIME, PP_CATEGORY_HOST_COMPUTE, PP_BY_KIND},
        {"hipExtModuleLaunchKernel", PP_ORIGIN_RUNTIME, PP_CATEGORY_KERNEL_LAUNCH, PP_BY_NAME},
        {"checkpoint_wrapper.forward", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMPUTE, PP_BY_WORDS},
        {"write_kv_cache", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMPUTE, PP_BY_WORDS},
        {"gpu_model_runner: preprocess", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMPUTE, PP_BY_NAME},
        {"activation checkpointing", PP_ORIGIN_PROGRAM, PP_CATEGORY_HOST_COMPUTE, PP_BY_WORDS},
};

TEST(rules)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct pp_class got = pp_category_of(table[i].origin, table[i].name, strlen(table[i].name));

		if (got.category != table[i].category || got.by != table[i].by)
			fprintf(stderr, "'%s': %s by %s\n", table[i].name, pp_category_name(got.category), pp_grounds_name(got.by));
		CHECK_INT(got.category, table[i].category);
		CHECK_INT(got.by, table[i].by);
	}
}

TEST(long_name)
{
	char name[10240];

	memset(name, 'A', sizeof(name));
	CHECK_INT(pp_category_of(PP_ORIGIN_PROGRAM, name, sizeof(name)).category, PP_CATEGORY_HOST_COMPUTE);
	for (size_t i = 0; i < sizeof(name); i++) /* the most words there can be */
		name[i] = i % 2 ? 'A' : 'b';
	CHECK_INT(pp_category_of(PP_ORIGIN_PROGRAM, name, sizeof(name)).by, PP_BY_NOTHING);
	memset(name, '/', sizeof(name)); /* and the most files */
	CHECK_INT(pp_category_of(PP_ORIGIN_PYTHON, name, sizeof(name)).by, PP_BY_KIND);
	CHECK_INT(pp_category_of(PP_ORIGIN_PROGRAM, NULL, 0).category, PP_CATEGORY_HOST_COMPUTE);
	CHECK_INT(pp_category_of(PP_ORIGIN_PROGRAM, NULL, 0).by, PP_BY_NOTHING);
}

TEST(names_of_ids)
{
	CHECK_STR(pp_category_name(4), "Host compute");
	CHECK_STR(pp_category_name(10), "Host communication");
	CHECK_STR(pp_category_name(0), "?");
	CHECK_STR(pp_category_name(11), "?");
	CHECK_STR(pp_category_colour(6), "#D7263D");
	CHECK_STR(pp_grounds_name(PP_BY_WORDS), "words");
	CHECK_STR(pp_grounds_name(PP_BY_UNKNOWN), "unknown");
	CHECK_STR(pp_grounds_name(PP_GROUNDS), "");
}

int main(void)
{
	rules();
	long_name();
	names_of_ids();
	return test_end();
}
