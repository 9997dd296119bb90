/* What names of kernels tell, of Volta to Blackwell: names that libraries give their kernels, as CUPTI, Kineto and TensorFlow have
 * them. */
#include "core/capture/span.h"
#include "core/ring/record.h"
#include "core/step/kernel_name.h"

#include <stdlib.h>
#include <string.h>

#include "tests/test.h"

static const struct {
	const char *name;
	int precision, tensor_core; /* 0: unknown; tensor_core 1: no, 2: yes */
} kernel[] = {
        /* cuBLAS and cuDNN, Volta and Turing */
        {"volta_fp16_s884gemm_fp16_128x64_ldg8_f2f_nn", 16, 2},
        {"volta_h884gemm_256x64_ldg8_tn", 16, 2},
        {"volta_fp16_sgemm_fp16_64x64_tn", 16, 1},
        {"volta_sgemm_128x64_tn", 32, 1},
        {"volta_gcgemm_32x32_nt", 32, 0},
        {"volta_dgemm_128x64_nn", 0, 1},
        {"maxwell_fp16_sgemm_fp16_128x32_nn", 16, 1},
        {"turing_fp16_s1688gemm_fp16_64x64_sliced1x2_ldg8_f2f_tn", 16, 2},
        {"turing_h1688gemm_128x128_ldg8_stages_32x1_tn", 16, 2},
        {"void turing_first_layer_wgrad_kernel<__half>", 16, 2},
        /* Ampere */
        {"ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_tn", 16, 2},
        {"ampere_fp16_s16816gemm_fp16_64x64_sliced1x2_ldg8_f2f_stages_64x5_nn", 16, 2},
        {"ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn", 16, 2},
        {"ampere_h16816gemm_256x128_ldg8_stages_32x3_tn", 16, 2},
        {"ampere_bf16_s1688gemm_bf16_128x128_ldg8_relu_f2f_stages_32x1_tn", 16, 2},
        {"ampere_sgemm_32x128_tn", 32, 1},
        {"ampere_dgemm_64x64_nn", 0, 1},
        {"ampere_cgemm_64x32_nn", 32, 0},
        {"ampere_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1", 32, 1},
        {"ampere_scudnn_128x64_relu_interior_nn_v1", 32, 1},
        {"sgemm_largek_lds64<true, true, 6, 3, 4, 5, 2, 66>(float*, float const*)", 32, 1},
        {"sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x16_stage4_warpsize2x2x1_tensor16x8x8_kernel", 32, 2},
        {"sm80_xmma_gemm_f16f16_f16f32_f32_nn_n_tilesize160x128x32_stage4_warpsize2x2x1_tensor16x8x16_kernel", 16, 2},
        {"sm80_xmma_gemm_f64f64_f64f64_f64_tn_n_tilesize64x64x16_stage4_warpsize2x2x1_tensor8x8x4_kernel", 0, 2},
        {"sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize128x128x16_stage4", 32, 2},
        {"sm80_xmma_fprop_implicit_gemm_indexed_f16f16_f16f16_f16_nhwckrsc_nhwc_tilesize128x64x32", 16, 2},
        {"sm86_xmma_wgrad_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize256x64x32", 32, 2},
        {"sm80_xmma_gemm_i8i8_i8i32_f32_tn_n_tilesize128x64x64_stage3_warpsize2x2x1_tensor16x8x32_kernel", 32, 2},
        {"cutlass_80_tensorop_s1688gemm_128x64_16x6_tn_align4", 32, 2},
        {"void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64_32x6_tn_align4>(Params)", 32, 2},
        {"void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64_64x6_tn_align8>(T1::Params)", 16, 2},
        {"void cutlass::Kernel2<cutlass_80_wmma_tensorop_f16_s161616gemm_f16_16x16_128x2_tn_align8>(T1::Params)", 16, 2},
        {"void cutlass::Kernel2<cutlass_80_wmma_tensorop_s161616gemm_16x16_128x2_tn_align8>(T1::Params)", 16, 2},
        {"void cutlass::Kernel2<cutlass_80_tensorop_i16832gemm_s8_128x128_64x4_tn_align16>(T1::Params)", 16, 2},
        {"void cutlass::Kernel2<cutlass_80_tensorop_d884gemm_64x64_16x4_nn_align1>(T1::Params)", 0, 2},
        {"void cutlass::Kernel2<cutlass_80_simt_sgemm_128x64_8x5_nt_align1>(T1::Params)", 32, 1},
        {"cutlass_tensorop_s1688fprop_optimized_tf32_128x128_16x4_nhwc_align4", 32, 2},
        {"void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cutlass::tfloat32_t, OpClassTensorOp>>", 32, 2},
        /* Hopper */
        {"sm89_xmma_gemm_e4m3f32_e4m3f32_f32_tn_n_tilesize128x64x128_stage3_warpsize2x2x1_tensor16x8x32_kernel", 16, 2},
        {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x128x64_warpgroupsize1x1x1_bias_f16_execute", 16, 2},
        {"sm90_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x64_warpgroupsize2x1x1_execute_segment_k_off_kernel", 16, 2},
        {"sm90_xmma_gemm_f32f32_tf32f32_f32_nt_n_tilesize64x128x32_warpgroupsize1x1x1_execute_kernel__5x_cublas", 32, 2},
        {"sm90_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n_tilesize128x128x128_cgasize2x1x1_algo2_execute", 16, 2},
        {"sm90_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x128x64_warpgroupsize1x1x1", 16, 2},
        {"cutlass3x_sm90_tensorop_s64x128x8gemm_tf32_tf32_f32_f32_f32_128x128x32_2x1x1_0_tnn_align4", 32, 2},
        {"void cutlass::device_kernel<at::cuda::detail::enable_3x_kernel_for_sm9x<cutlass::gemm::kernel::GemmUniversal<"
         "cute::tuple<int>, cutlass::gemm::collective::CollectiveMma<cutlass::gemm::MainloopSm90TmaGmmaWarpSpecialized<7>, "
         "cute::C<128>, cutlass::bfloat16_t>>>",
         16, 2},
        {"nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NTT", 16, 2},
        {"nvjet_hss_64x128_64x8_1x4_v_bz_splitK_TNT", 16, 2},
        {"nvjet_tst_192x192_64x4_2x1_v_bz_coopB_TNN", 16, 2},
        {"nvjet_qqtst_128x256_128x4_2x1_v_bz_coopA_bias_TNT", 16, 2},
        {"nvjet_sss_128x128_32x4_2x1_v_bz_TNN", 32, 2},
        /* Blackwell */
        {"nvjet_sm100_tst_mma_256x256x64_2_32x64x64_cb_2x1_v_bz_TNT", 16, 2},
        {"nvjet_sm100_qqtst_128x256_128x6_2x1_2cta_v_bz_TNT", 16, 2},
        {"nvjet_sm103_hsh_192x128_64x6_1x2_2cta_h_bz_NNN", 16, 2},
        {"nvjet_sm120_sss_64x64_32x4_1x1_v_bz_TNN", 32, 2},
        {"nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNN", 16, 2},
        {"cutlass3x_sm100_tensorop_s256x128x16gemm_f16_f16_f32_f16_f16", 16, 2},
        {"cutlass3x_sm100_bstensorop_s128x256x64gemm_block_scaled_ue8m0xe2m1_ue8m0xe2m1_f32_void_f32", 16, 2},
        {"void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<MainloopSm100TmaUmmaWarpSpecialized<8, 2, 4>, "
         "cutlass::float_e4m3_t>>",
         16, 2},
        {"my_kernel_tcgen05_f8f6f4", 16, 2},
        /* attention */
        {"void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4, false, false, cutlass::bfloat16_t>>", 16,
         2},
        {"void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<64, cutlass::half_t>>", 16, 2},
        {"void pytorch_flash::flash_bwd_dot_do_o_kernel<true, Flash_bwd_kernel_traits<64, 128, cutlass::half_t>>", 16, 1},
        {"void pytorch_flash::flash_bwd_convert_dq_kernel<Flash_bwd_kernel_traits<64, cutlass::bfloat16_t>>", 16, 1},
        {"void flash_fwd_splitkv_combine_kernel<Flash_fwd_kernel_traits<128, cutlass::half_t>>", 16, 1},
        {"void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2, "
         "cutlass::bfloat16_t>>>>",
         16, 2},
        {"void cutlass::device_kernel<flash::FlashAttnBwdPreprocess<cute::tuple<int>, cutlass::bfloat16_t, float>>", 16, 1},
        {"fmha_cutlassF_f16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<cutlass::half_t>::Params)", 16, 2},
        {"fmha_cutlassB_bf16_aligned_64x64_k64_sm80(PyTorchMemEffAttention::AttentionBackwardKernel::Params)", 16, 2},
        {"fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<float>::Params)", 32, 0},
        {"fmha_cutlassF_f16_aligned_64x64_rf_sm50(PyTorchMemEffAttention::AttentionKernel<cutlass::half_t>::Params)", 16, 1},
        {"cudnn_generated_fort_native_sdpa_sm80_flash_fprop_f16_knob_7_64x64x64_4x1x1_kernel0_0", 16, 2},
        {"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_3_64x128x128", 16, 2},
        {"cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_bf16_knob_26_128x64x128_1x1x1_kernel0_0", 16, 2},
        {"void cudnn::fusion::compute_dot_do_o_specialized<true, __half, 128>(CUDNN_Dot)", 16, 1},
        {"fmhaSm100fKernel_QkvBfloat16OBfloat16H128PagedKvCausalP32VarSeqQ128Kv128PersistentContext", 16, 2},
        {"fmha_v2_flash_attention_e4m3_fp32_64_64_S_q_kv_128_causal_tma_ws_sm90_kernel", 16, 2},
        /* ordinary arithmetic */
        {"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<c10::Half>, std::array<char*, 1>>", 16, 1},
        {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>>", 32, 1},
        {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<double>, std::array<char*, 3ul>>", 0, 1},
        {"void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float, float, float>", 32, 1},
        {"void at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernel<float, float>(long, long)", 32, 0},
        {"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>(int, float)", 16, 1},
        {"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<TensorListMetadata<4>, FusedAdamMathFunctor<float, 4>>",
         32, 1},
        {"void at::native::tinygemm_m16n8k16_chunk_kernel<BLayout_TC_int4, __nv_bfloat16>", 16, 2},
        {"std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, float, float, float, float, false>", 32, 1},
        {"void gemv2T_kernel_val<int, int, __half, __half, __half, float, 128, 16, 4, 4, false>", 16, 1},
        {"void splitKreduce_kernel<32, 16, int, float, __nv_bfloat16, float, __nv_bfloat16, true, false>", 16, 1},
        {"void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, int, 512, true, 1, true>", 32, 1},
        {"void cudnn::ops::nchwToNhwcKernel<__half, __half, float, false, true, (cudnnKernelDataType_t)0>", 16, 1},
        {"void implicit_convolve_sgemm<float, float, 1024, 5, 5, 3, 3, 3, 1, true, false, true>", 32, 1},
        {"void cub::DeviceRadixSortOnesweepKernel<cub::DeviceRadixSortPolicy<long, long, int>>", 0, 1},
        {"void Eigen::internal::EigenMetaKernel<Eigen::TensorEvaluator<Eigen::TensorAssignOp<Eigen::half>>>", 16, 1},
        {"Mul_GPU_DT_HALF_DT_HALF_kernel", 16, 0},
        {"AddV2_GPU_DT_FLOAT_DT_FLOAT_kernel", 32, 0},
        {"triton_poi_fused_add_relu_0", 0, 1},
        {"triton_per_fused_native_layer_norm_3", 0, 1},
        {"triton_tem_fused_mm_3", 0, 0},
        {"loop_add_fusion_12", 0, 0},
        {"void foo<c10::TensorOptions>(int)", 0, 0},
        {"my_kernel(int)", 0, 0},
        {"", 0, 0},
        /* collectives */
        {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 16, 1},
        {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclWork*)", 32, 1},
        {"rcclGenericKernel", 0, 1},
        /* shapes */
        {"(half[1024,1024])", 16, 0},
        {"(bf16[8,128]{1,0}, f32[128]{0})", 16, 0},
        {"f16[8,128]{1,0}", 16, 0},
        {"f32[128]{0}", 32, 0},
        {"(int32[4])", 0, 0},
};

TEST(precision_and_tensor_cores)
{
	for (size_t i = 0; i < sizeof(kernel) / sizeof(kernel[0]); i++) {
		const char *name = kernel[i].name;
		int precision = pp_kernel_precision(name, strlen(name)), got = precision == PP_PRECISION_16   ? 16
		                                                               : precision == PP_PRECISION_32 ? 32
		                                                                                              : 0;
		int tensor_core = pp_kernel_tensor_core(name, strlen(name));

		if (got != kernel[i].precision || tensor_core != kernel[i].tensor_core)
			fprintf(stderr, "%s\n", name);
		CHECK_INT(got, kernel[i].precision);
		CHECK_INT(tensor_core, kernel[i].tensor_core);
	}
}

static const struct {
	const char *name;
	enum pp_device_activity activity;
} activity_of[] = {
        {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", PP_DEVICE_COLLECTIVE},
        {"ncclSymkDevKernel_AllReduce_LDMC_Sum_bf16(ncclSymkDevWorkArgs4K)", PP_DEVICE_COLLECTIVE},
        {"ncclAllReduceRingLLKernel_sum_f32(ncclColl)", PP_DEVICE_COLLECTIVE},
        {"mscclKernel_Sum_float_Simple_false", PP_DEVICE_COLLECTIVE},
        {"all-reduce.12", PP_DEVICE_COLLECTIVE},
        {"reduce-scatter.3", PP_DEVICE_COLLECTIVE},
        {"MemcpyHToD", PP_DEVICE_HOST_TO_DEVICE},
        {"MemcpyH2D", PP_DEVICE_HOST_TO_DEVICE},
        {"Memcpy HtoD (Pinned -> Device)", PP_DEVICE_HOST_TO_DEVICE},
        {"CopyHostToDevice", PP_DEVICE_HOST_TO_DEVICE},
        {"memcpydtoh", PP_DEVICE_DEVICE_TO_HOST},
        {"Memcpy DtoH (Device -> Pageable)", PP_DEVICE_DEVICE_TO_HOST},
        {"MemcpyDToD (P2P)", PP_DEVICE_DEVICE_TO_DEVICE},
        {"Memcpy PtoP (Device -> Device)", PP_DEVICE_DEVICE_TO_DEVICE},
        {"Memset (Device)", PP_DEVICE_SET},
        /* anonymous namespaces, template arguments, and what a function returns */
        {"void (anonymous namespace)::oneRankReduce<FuncPreMulSum<__half> >(void*, void*, unsigned long)", PP_DEVICE_KERNEL},
        {"void (anonymous namespace)::one_shot_all_reduce_kernel<float, 8, 2>(float**)", PP_DEVICE_COLLECTIVE},
        {"c10d::symmetric_memory::(anonymous namespace)::barrier_kernel(unsigned int**, int)", PP_DEVICE_WAIT},
        {"c10d::symmetric_memory::put_signal_kernel(unsigned int**, int)", PP_DEVICE_WAIT},
        {"void c10d::nccl_extension::lsa_put_kernel<1>(int)", PP_DEVICE_COLLECTIVE},
        {"c10d::cuda::detail::kernel_barrier(int*, unsigned long)", PP_DEVICE_KERNEL},
        {"void vllm::cross_device_reduce_1stage<float, 2>(vllm::RankData*)", PP_DEVICE_COLLECTIVE},
        {"vllm::mnnvl_multimem_barrier_kernel(int)", PP_DEVICE_WAIT},
        {"void sglang::allreduce_LL_2node<float>(float*)", PP_DEVICE_COLLECTIVE},
        {"void aiter::cross_device_reduce_2stage<float, 2>(float*)", PP_DEVICE_COLLECTIVE},
        {"void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<1>(int)", PP_DEVICE_COLLECTIVE},
        {"flashinfer::trtllm_allreduce_fusion::lamport_initialize_kernel(float*)", PP_DEVICE_KERNEL},
        {"void tensorrt_llm::kernels::oneShotAllReduceKernel<float, 2>(float*)", PP_DEVICE_COLLECTIVE},
        {"void tensorrt_llm::kernels::mnnvl::rmsNormLamport<float>(float*)", PP_DEVICE_UNSURE},
        {"void deep_ep::intranode::dispatch<8, 768, 8192>(int4*)", PP_DEVICE_COLLECTIVE},
        {"void deep_ep::legacy::internode_ll::combine<true>(void*)", PP_DEVICE_COLLECTIVE},
        {"void deep_ep::intranode::barrier<8>(int**, int)", PP_DEVICE_WAIT},
        {"void deep_ep::layout::get_dispatch_layout<256, 4, 8>(int)", PP_DEVICE_KERNEL},
        {"void deep_ep::intranode::combine_epilogue_impl<8>(int)", PP_DEVICE_KERNEL},
        {"void deep_ep::hybrid_dispatch_impl<8>(int)", PP_DEVICE_COLLECTIVE},
        {"nvshmemi_signal_wait_until_on_stream_kernel(int)", PP_DEVICE_WAIT},
        {"nvshmemi_init_array_kernel(int)", PP_DEVICE_KERNEL},
        {"void barrier_on_stream_kernel<0>(int)", PP_DEVICE_WAIT},
        {"void rdxn_on_stream_kernel<float>(int)", PP_DEVICE_COLLECTIVE},
        {"void mscclpp::executionKernel<float>(int)", PP_DEVICE_COLLECTIVE},
        {"void allreduce6<float>(float*)", PP_DEVICE_COLLECTIVE},
        {"void allreduce60<float>(float*)", PP_DEVICE_UNSURE},
        {"kuserbuffers_pushrecv(int, int, int*, int*, int, unsigned long)", PP_DEVICE_WAIT},
        {"kuserbuffers_pushsendrecv(int*, int*)", PP_DEVICE_COLLECTIVE},
        {"kuserbuffers_inc(int*)", PP_DEVICE_KERNEL},
        {"consumer_kernel(void*, int)", PP_DEVICE_WAIT},
        {"consumer_kernel(float*)", PP_DEVICE_KERNEL},
        {"mori::moe::EpCombineSyncBarrier(int)", PP_DEVICE_WAIT},
        {"void mori::moe::EpDispatchIntraNodeKernel<float>(int)", PP_DEVICE_COLLECTIVE},
        {"hcom_allReduce__428_0_1", PP_DEVICE_COLLECTIVE},
        /* a word is no evidence */
        {"fused_nccl_like", PP_DEVICE_UNSURE},
        {"void mine::AllReduceKernel<float>(float*)", PP_DEVICE_UNSURE},
        {"void at::native::reduce_scatter_like<float>()", PP_DEVICE_KERNEL},
        {"triton_poi_fused_all_gather_into_tensor_0", PP_DEVICE_KERNEL},
        {"void mine::sum<nccl::all_reduce>(float*)", PP_DEVICE_KERNEL},
        {"mine::sum(ncclDevKernelArgs*)", PP_DEVICE_KERNEL},
        {"consumer::oneRankReduce(int)", PP_DEVICE_KERNEL},
        {"all-reduc", PP_DEVICE_KERNEL},
        {"void at::native::reduce_kernel<512, 1>", PP_DEVICE_KERNEL},
        {"", PP_DEVICE_KERNEL},
};

TEST(activities)
{
	for (size_t i = 0; i < sizeof(activity_of) / sizeof(activity_of[0]); i++)
		CHECK_INT(pp_kernel_activity(activity_of[i].name, strlen(activity_of[i].name)), activity_of[i].activity);
}

/* Names of files have no end of their own, and any length. */
TEST(operators)
{
	static const struct {
		const char *name;
		int communicates;
	} row[] = {{"c10d::allreduce_", 1},
	           {"nccl:all_reduce", 1},
	           {"_c10d_functional::all_gather_into_tensor", 1},
	           {"symm_mem::one_shot_all_reduce", 1},
	           {"record_param_comms", 1},
	           {"_C_custom_ar::all_reduce", 1},
	           {"aten::copy_", 0},
	           {"my c10d::allreduce_", 0},
	           {"c10d:", 0},
	           {"", 0}};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		CHECK_INT(pp_operator_communicates(row[i].name, strlen(row[i].name)), row[i].communicates);
}

TEST(lengths)
{
	char *name = malloc(70000);

	CHECK(name != NULL);
	if (!name)
		return;
	CHECK_INT(pp_kernel_precision("my_half", 6), PP_PRECISION_UNKNOWN);
	CHECK_INT(pp_kernel_precision("my_half", 7), PP_PRECISION_16);
	CHECK_INT(pp_kernel_activity("hccl", 3), PP_DEVICE_KERNEL);
	CHECK_INT(pp_kernel_activity("hccl", 4), PP_DEVICE_COLLECTIVE);
	memset(name, 'x', 70000);
	memcpy(name + 4096 - 4, "half", 4);
	CHECK_INT(pp_kernel_precision(name, 70000), PP_PRECISION_16);
	memcpy(name + 4096 - 4, "xhalf", 5);
	CHECK_INT(pp_kernel_precision(name, 70000), PP_PRECISION_UNKNOWN);
	free(name);
}

/* The answers by id are those by name; a second look does not read the name again. */
TEST(looked_up_once)
{
	static const char *const name[] = {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "Memset (Device)",
	                                   "sm90_xmma_gemm_f16f16_f16f32_f32_tn_n", ""};
	struct pp_kernel_cache cache = {.known = NULL};

	for (uint32_t id = 0; id < 4; id++)
		for (uint32_t far = 0; far < 2; far++) {
			const uint32_t i = id + 100000 * far;
			const size_t length = strlen(name[id]);
			struct pp_kernel_kind kind = pp_kernel_cached(&cache, i, name[id], length);

			CHECK_INT(kind.activity, pp_kernel_activity(name[id], length));
			CHECK_INT(kind.precision, pp_kernel_precision(name[id], length));
			kind = pp_kernel_cached(&cache, i, "half", 4);
			CHECK_INT(kind.activity, pp_kernel_activity(name[id], length));
			CHECK_INT(kind.precision, pp_kernel_precision(name[id], length));
		}
	pp_kernel_cache_release(&cache);
}

int main(void)
{
	precision_and_tensor_cores();
	looked_up_once();
	activities();
	operators();
	lengths();
	return test_end();
}
