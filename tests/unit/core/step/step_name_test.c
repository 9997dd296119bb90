/* What of a range's name repeats, and which names frameworks wrote. */
#include "core/step/step_name.h"

#include "core/ring/intern.h"
#include "core/step/classify.h"
#include "tests/test.h"

static struct pp_intern *names;

static struct pp_step_name name_of(const char *text)
{
	return pp_step_name(names, pp_intern_put(names, text, strlen(text)));
}

static void check_stem(const char *text, const char *stem)
{
	CHECK_STR(pp_intern_text(names, name_of(text).stem, NULL), stem);
}

TEST(number_at_the_end)
{
	check_stem("step 12", "step");
	check_stem("## step 12 ##", "## step");
	CHECK_INT(name_of("step 12").number, 12);
	CHECK(name_of("step 12").numbered);
	CHECK(!name_of("layer1").numbered);
	check_stem("layer1", "layer1");
	check_stem("12", "12");
	check_stem("", "");
	check_stem("step 1234567890123456789", "step #"); /* no number that counts */
	CHECK(!name_of("step 1234567890123456789").numbered);
}

TEST(numbers_inside)
{
	check_stem("load(3) of 8 files", "load(#) of # files");
	check_stem("epoch 3 step 12", "epoch # step");
	check_stem("batch[bs=8,seq=2048]", "batch[bs=#,seq=#]");
	check_stem("fp16 resnet50 forward", "fp16 resnet50 forward"); /* parts of words */
	check_stem("8x8 tile", "8x8 tile");
	check_stem("lr=0.5", "lr=#.#");
	check_stem("(1, 2)", "(1, 2)"); /* nothing else */
	CHECK(name_of("load(3) of 8 files").may_be_parts);
	CHECK(!name_of("iteration(3) of 8").may_be_parts);
	CHECK(!name_of("batch 3").may_be_parts);
	CHECK(name_of("micro-batch 3").may_be_parts);
}

/* Words and numbers tell what this iteration's requests are. */
TEST(iterations_of_engines)
{
	static const char *const vllm[] = {"execute_context_3(128)_generation_5(5)", "execute_context_0(0)_generation_64(64)"};
	static const char *const sglang[] = {"step[DECODE bs=8]", "step[EXTEND bs=1 toks=400]", "step[IDLE]"};
	struct pp_step_name tensorrt = name_of("[Executor] _forward_step 12: 3 ctx reqs, 5 gen reqs");

	for (int i = 0; i < 2; i++) {
		CHECK_INT(name_of(vllm[i]).word, PP_STEP_WORD_ITERATION);
		CHECK_INT(name_of(vllm[i]).stem, name_of(vllm[0]).stem);
		CHECK(!name_of(vllm[i]).numbered);
	}
	for (int i = 0; i < 3; i++) {
		CHECK_INT(name_of(sglang[i]).word, PP_STEP_WORD_ITERATION);
		CHECK_INT(name_of(sglang[i]).stem, name_of(sglang[0]).stem);
	}
	CHECK_INT(tensorrt.word, PP_STEP_WORD_ITERATION);
	CHECK_INT(tensorrt.stem, name_of("[Executor] _forward_step 13: 0 ctx reqs, 0 ctx tokens, 32 gen reqs").stem);
	CHECK(tensorrt.numbered);
	CHECK_INT(tensorrt.number, 12);
	CHECK_INT(name_of("execute_model").word, PP_STEP_WORD_ANY);
	CHECK_INT(name_of("step").word, PP_STEP_WORD_ANY);
}

/* Steps of one kind are alike, whatever their requests and tokens are. */
TEST(kinds_of_iterations)
{
	CHECK_INT(name_of("execute_context_3(128)_generation_5(5)").kind, PP_STEP_MIXED);
	CHECK_INT(name_of("execute_context_10(128)_generation_0(0)").kind, PP_STEP_PREFILL);
	CHECK_INT(name_of("execute_context_0(0)_generation_64(64)").kind, PP_STEP_DECODE);
	CHECK_INT(name_of("execute_context_0(0)_generation_0(0)").kind, PP_STEP_OTHER);
	CHECK_INT(name_of("execute_new_0_cached_5").kind, PP_STEP_DECODE);
	CHECK_INT(name_of("execute_new_2_cached_0").kind, PP_STEP_PREFILL);
	CHECK_INT(name_of("step[DECODE bs=8]").kind, PP_STEP_DECODE);
	CHECK_INT(name_of("step[EXTEND bs=1 toks=400]").kind, PP_STEP_PREFILL);
	CHECK_INT(name_of("step[MIXED bs=1 toks=400]").kind, PP_STEP_MIXED);
	CHECK_INT(name_of("step[TARGET_VERIFY bs=1]").kind, PP_STEP_OTHER);
	CHECK_INT(name_of("step[DECODED bs=1]").kind, PP_STEP_OTHER);
	CHECK_INT(name_of("[Executor] _forward_step 12: 3 ctx reqs, 0 gen reqs").kind, PP_STEP_PREFILL);
	CHECK_INT(name_of("[Executor] _forward_step 12: 0 ctx reqs, 10 gen reqs").kind, PP_STEP_DECODE);
	CHECK_INT(name_of("step 12").kind, PP_STEP_NONE);
	CHECK(!strcmp(pp_step_kind_name(PP_STEP_MIXED), "mixed") && !pp_step_kind_name(PP_STEP_NONE)[0] &&
	      !pp_step_kind_name(99)[0]);
}

TEST(parts)
{
	static const char *const part[] = {"Optimizer.step#SGD.step",
	                                   "Optimizer.zero_grad#Adam.zero_grad",
	                                   "nccl:all_reduce",
	                                   "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
	                                   "DistributedDataParallel.forward",
	                                   "FSDP::pre_forward",
	                                   "Torch-Compiled Region: 0/1",
	                                   "aten::mm, seq = 12",
	                                   "autograd::engine::evaluate_function: AddmmBackward0"};

	for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++)
		CHECK(name_of(part[i]).word == PP_STEP_WORD_PART ||
		      pp_category_of(PP_ORIGIN_PROGRAM, part[i], strlen(part[i])).by == PP_BY_NAME); /* as step_range.c asks */
	CHECK_INT(name_of("optimizer").word, PP_STEP_WORD_ANY);
	CHECK_INT(name_of("train_step").word, PP_STEP_WORD_ANY);
}

int main(void)
{
	names = pp_intern_new();
	number_at_the_end();
	numbers_inside();
	iterations_of_engines();
	kinds_of_iterations();
	parts();
	pp_intern_free(names);
	return test_end();
}
