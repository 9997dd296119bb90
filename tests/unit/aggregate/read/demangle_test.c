/* Texts of mangled names: equal to those of the C++ library where there is one, of bounded size and time, distinct where names
 * are. argv[1]: tests/gpu/nccl_kernels.txt. Others are like those of PyTorch and CUTLASS. */
#include "aggregate/read/demangle.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/read/demangle_parse.h"
#include "core/ring/intern.h"

#include "tests/test.h"

typedef char *(*demangle_function)(const char *name, char *to, size_t *length, int *ret_status);

static const struct {
	const char *name, *text;
} row[] = {
        {"_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE",
         "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"},
        {"_Z34ncclKernel_Reduce_NVLS_LL_Sum_halfP11ncclDevCommmP8ncclWork",
         "ncclKernel_Reduce_NVLS_LL_Sum_half(ncclDevComm*, unsigned long, ncclWork*)"},
        {"_ZN43_GLOBAL__N__b4148644_10_onerank_cu_fdf4799013oneRankReduceI13FuncPreMulSumI6__halfEEEvPvS4_mmb",
         "void (anonymous namespace)::oneRankReduce<FuncPreMulSum<__half> >(void*, void*, unsigned long, unsigned long, bool)"},
        {"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt5arrayIPcLm3EEEEviT0_T1_",
         "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int, "
         "at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)"},
        {"_ZN2at6native29vectorized_elementwise_kernelILi8EZZZNS0_16gelu_kernel_cudaERNS_18TensorIteratorBaseEE"
         "NKUlvE_clEvENKUlvE_clEvEUlfE_St5arrayIPcLm2EEEEviT0_T1_",
         "void at::native::vectorized_elementwise_kernel<8, at::native::gelu_kernel_cuda(at::TensorIteratorBase&)::"
         "{lambda()#1}::operator()() const::{lambda()#1}::operator()() const::{lambda(float)#1}, std::array<char*, 2ul> >(int, "
         "at::native::gelu_kernel_cuda(at::TensorIteratorBase&)::{lambda()#1}::operator()() const::{lambda()#1}::operator()() "
         "const::{lambda(float)#1}, std::array<char*, 2ul>)"},
        {"_ZN7cutlass13device_kernelINS_4gemm6kernel13GemmUniversalIN4cute5tupleIJiiiiEEENS4_1CILi2EEENS6_ILi1EEEEEEEvNT_6ParamsE",
         NULL},
        {"_Z3sumIJidEEvDpPKT_", "void sum<int, double>(int const*, double const*)"},
        {"_Z4callPFviPKcE", "call(void (*)(int, char const*))"},
        {"_Z5tableRA4_A_", NULL},
        {"_Z5tableRA4_Kf", "table(float const (&) [4])"},
        {"_ZL6statici", "static(int)"},
        {"_ZN1A1BIbLb1ELb0EEC1Ev", "A::B<bool, true, false>::B()"},
        {"_ZNK1A3getEv", "A::get() const"},
        {"_Z6scaledDF16b", NULL},
        {"_Z4sizei.cold", "size(int) [clone .cold]"},
        {"_ZSt4copyPcS_", "std::copy(char*, char*)"},
        {"_Z1fILin3ELj7EEvv", "void f<-3, 7u>()"},
        {"_Z1fI1AXadL_Z1gvEEEvv", "void f<A, &(g())>()"},
        {"_Z1fI14queueXadL_ZN5queue4nextEEEEvv", NULL},
};

static const struct { /* cannot be read to the end: what begins it, and a hash */
	const char *name, *text;
} part[] = {
        {"_ZN7cutlass13device_kernelINS_4gemm9UniversalIXeqT_Li1EEEEEEvNT_6ParamsE", "cutlass::device_kernel<...> ["},
        {"_ZN43_GLOBAL__N__b4148644_10_onerank_cu_fdf479903fooIXsrT_E1vEEvv", "(anonymous namespace)::foo<...> ["},
        {"_Z3fooIDTplfp_fp0_EEvv", "foo<...> ["},
        {"_ZNKSt3barIXT_E", "std::bar<...> ["},
};

static demangle_function of_the_system(void)
{
	demangle_function f = NULL;
	void *library = dlopen("libstdc++.so.6", RTLD_NOW);

	if (library)
		*(void **)&f = dlsym(library, "__cxa_demangle");
	return f;
}

/* Equal to the C++ library, where there is one and it can; 1: our own text is there. */
static int is_equal(demangle_function f, const char *name)
{
	char text[PP_DEMANGLED];
	size_t length = pp_demangle(name, strlen(name), text);
	char *other = f ? f(name, NULL, NULL, &(int){0}) : NULL;
	int is_ok = length && strlen(text) == length && (!other || !strcmp(other, text));

	if (!is_ok)
		fprintf(stderr, "%s\n %s\n %s\n", name, length ? text : "", other ? other : "");
	free(other);
	return is_ok;
}

TEST(texts)
{
	demangle_function f = of_the_system();
	char text[PP_DEMANGLED];

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		if (!row[i].text)
			continue;
		CHECK(is_equal(f, row[i].name));
		pp_demangle(row[i].name, strlen(row[i].name), text);
		CHECK_STR(text, row[i].text);
	}
	CHECK(is_equal(f, row[5].name));
}

TEST(other_names_stay)
{
	static const char *const name[] = {
	        "", "_", "_Z", "_Z1", "sm90_xmma_gemm_f16", "triton_poi_fused_0", "void f<int>(int)", "_Zz", "_Z0f"};
	char text[PP_DEMANGLED];

	for (size_t i = 0; i < sizeof(name) / sizeof(name[0]); i++)
		CHECK_INT(pp_demangle(name[i], strlen(name[i]), text), 0);
	CHECK_INT(pp_demangle("_ZN1A3g\0tEv", 11, text), 0); /* no compiler writes it, and no text can show it */
}

TEST(begin_of_what_cannot_be_read)
{
	char text[PP_DEMANGLED];

	for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++) {
		size_t length = pp_demangle(part[i].name, strlen(part[i].name), text), begin = strlen(part[i].text);

		CHECK_INT(length, begin + 17);
		CHECK_INT(strlen(text), length);
		text[begin] = '\0';
		CHECK_STR(text, part[i].text);
	}
}

/* Every release from 2.18 to 2.32: a name of NCCL, or the work of a communicator of one rank. */
static void kernels_of_nccl(const char *path)
{
	demangle_function f = of_the_system();
	FILE *list = fopen(path, "re");
	char line[512], text[PP_DEMANGLED];
	int names = 0;

	CHECK(list != NULL);
	while (list && fgets(line, sizeof(line), list)) {
		char *name = strchr(line, ' ');

		if (*line == '#' || !name)
			continue;
		name[strcspn(name, "\n")] = '\0';
		CHECK(is_equal(f, ++name));
		pp_demangle(name, strlen(name), text);
		CHECK(!strncmp(text, "nccl", 4) || !strncmp(text, "void (anonymous namespace)::oneRankReduce<", 42));
		names++;
	}
	CHECK(names > 500);
	if (list)
		fclose(list);
}

/* f(A<int, int>, A<that, that>, ...): each argument is twice as long as the one before. */
static void doubling(char *name, size_t size, int times)
{
	static const char digit[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char before[8] = "S0_";

	size_t n = (size_t)snprintf(name, size, "_Z1f1AIiiE");

	for (int i = 1; i <= times; i++) {
		n += (size_t)snprintf(name + n, size - n, "S_I%s%sE", before, before);
		snprintf(before, sizeof(before), i < 36 ? "S%c_" : "S%c%c_", i < 36 ? digit[i] : digit[i / 36], digit[i % 36]);
	}
}

TEST(a_name_that_repeats_itself)
{
	char name[16000], text[PP_DEMANGLED];

	doubling(name, sizeof(name), 3);
	CHECK(is_equal(of_the_system(), name));
	for (int times = 20; times <= 1000; times += 490) {
		doubling(name, sizeof(name), times);
		CHECK_INT(pp_demangle(name, strlen(name), text), 1 + 19);
		CHECK(!strncmp(text, "f [", 3));
	}
}

/* Two kernels that differ deep inside a name that is too long. */
TEST(long_names_stay_distinct)
{
	char name[2][PP_DEMANGLED * 4], text[2][PP_DEMANGLED];

	for (int i = 0; i < 2; i++) {
		size_t n = (size_t)snprintf(name[i], sizeof(name[i]), "_ZN7cutlass13device_kernelIN4gemm9UniversalI");
		for (int k = 0; k < 60; k++)
			n += (size_t)snprintf(name[i] + n, sizeof(name[i]) - n, "N3aaa20bbbbbbbbbbbbbbbbbbbbILi%dEEE",
			                      k + (k == 59 ? i : 0));
		snprintf(name[i] + n, sizeof(name[i]) - n, "EEEEviPf");
		CHECK_INT(pp_demangle(name[i], strlen(name[i]), text[i]), strlen(text[i]));
		CHECK(strlen(text[i]) < PP_DEMANGLED);
		CHECK(strstr(text[i], "void cutlass::device_kernel<gemm::Universal<...>>(int, float*) [") ||
		      strstr(text[i], "void cutlass::device_kernel<gemm::Universal<...> >(int, float*) ["));
	}
	CHECK(strcmp(text[0], text[1]) != 0);
}

/* Every beginning of a name, and names with another byte somewhere. */
TEST(broken_names)
{
	unsigned seed = 1;
	char text[PP_DEMANGLED];

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		size_t length = strlen(row[i].name);
		char *copy = malloc(length);

		CHECK(copy != NULL);
		for (size_t n = 0; copy && n < length; n++) {
			char *begin = malloc(n + !n);

			CHECK(begin != NULL);
			if (begin && n)
				memcpy(begin, row[i].name, n);
			CHECK(!begin || pp_demangle(begin, n, text) < PP_DEMANGLED);
			free(begin);
			for (int k = 0; k < 20; k++) {
				memcpy(copy, row[i].name, length);
				seed = seed * 1664525 + 1013904223;
				copy[n] = "0123456789_ZNSTIEJLXKPRODACFUlv\xff\0"[seed >> 16 & 31];
				CHECK(pp_demangle(copy, length, text) < PP_DEMANGLED);
			}
		}
		free(copy);
	}
}

TEST(ids_are_looked_up_once)
{
	struct pp_intern *names = pp_intern_new();
	struct pp_kernel_texts texts = {.text = NULL};
	uint32_t raw = pp_intern_put(names, row[0].name, strlen(row[0].name)), plain = pp_intern_put(names, "gemm", 4);
	uint32_t id = pp_kernel_text(&texts, names, raw), count;

	CHECK_STR(pp_intern_text(names, id, NULL), row[0].text);
	count = pp_intern_count(names);
	CHECK_INT(pp_kernel_text(&texts, names, raw), id);
	CHECK_INT(pp_kernel_text(&texts, names, plain), plain);
	CHECK_INT(pp_kernel_text(&texts, names, id), id);
	CHECK_INT(pp_kernel_text(&texts, names, 0), 0);
	CHECK_INT(pp_intern_count(names), count);
	pp_kernel_texts_release(&texts);
	pp_intern_free(names);
}

int main(int argc, char **argv)
{
	texts();
	other_names_stay();
	begin_of_what_cannot_be_read();
	a_name_that_repeats_itself();
	long_names_stay_distinct();
	broken_names();
	ids_are_looked_up_once();
	if (argc > 1)
		kernels_of_nccl(argv[1]);
	return test_end();
}
