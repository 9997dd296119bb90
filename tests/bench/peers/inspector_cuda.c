/* The few functions of CUDA that NCCL's Inspector calls when a communicator begins, for machines without a device: one device, its
 * UUID all zero. Nothing of them is called while bench_nccl measures. Loaded by bench_nccl under libcuda's name. */
#include <string.h>

#define EXPORTED(result, name, ...)                                                                                                \
	__attribute__((visibility("default"))) result name(__VA_ARGS__);                                                           \
	result name(__VA_ARGS__)

EXPORTED(int, cudaGetDevice, int *ret_device)
{
	*ret_device = 0;
	return 0;
}

EXPORTED(const char *, cudaGetErrorString, int error)
{
	(void)error;
	return "stand-in";
}

EXPORTED(int, cuGetErrorString, int error, const char **ret_text)
{
	(void)error;
	*ret_text = "stand-in";
	return 0;
}

EXPORTED(int, cuDeviceGet, int *ret_device, int number)
{
	*ret_device = number;
	return 0;
}

EXPORTED(int, cuDeviceGetUuid, void *ret_uuid, int device)
{
	(void)device;
	memset(ret_uuid, 0, 16);
	return 0;
}
