/* Sentences for errors of CUPTI. Called by cupti_session.c. */
#include "core/source/cupti/cupti_why.h"

#include <stddef.h>
#include <stdio.h>

#include "core/source/cupti/cupti_abi.h"

static const struct {
	int result;
	const char *why, *fix;
} row[] = {
        {PP_CUPTI_NOT_COMPATIBLE, "it does not fit this driver or another profiler",
         "Give --cupti a libcupti of the driver's CUDA version"},
        {PP_CUPTI_NOT_INITIALIZED, "the driver does not answer it", "Run nvidia-smi, update the driver"},
        {PP_CUPTI_NOT_SUPPORTED, "this device or driver cannot be traced", "Update the driver"},
        {PP_CUPTI_VIRTUALIZED, "virtual GPU", "Let the host allow profiling of the vGPU"},
        {PP_CUPTI_PRIVILEGES, "not enough privileges", "As root: NVreg_RestrictProfilingToAdminUsers=0 for module nvidia, reboot"},
        {PP_CUPTI_OLD_PROFILER, "an old profiler is active", "Unset CUDA_PROFILE and COMPUTE_PROFILE"},
        {PP_CUPTI_LEGACY, "the device is too new for this CUPTI", "Give --cupti a newer libcupti"},
        {PP_CUPTI_SUBSCRIBERS, "another profiler uses it", "Run without that profiler"},
        {PP_CUPTI_VIRTUALIZED_PRIVILEGES, "virtual GPU without the right to profile", "Let the host allow profiling of the vGPU"},
        {PP_CUPTI_CONFIDENTIAL, "confidential computing is on", "Put the GPU into devtools mode"},
        {PP_CUPTI_CMP, "mining GPU", "Use another GPU"},
        {PP_CUPTI_MIG, "MIG slice", "Update the driver, or switch MIG off: nvidia-smi -mig 0"},
        {PP_CUPTI_SLI, "SLI is on", "Switch SLI off"},
        {PP_CUPTI_WSL, "WSL without profiling", "Allow access to GPU counters in the driver's settings on Windows"},
        {PP_CUPTI_UNKNOWN, "the driver is missing, or older than libcupti", "Update the driver, or give --cupti an older libcupti"},
};

enum { ROWS = sizeof(row) / sizeof(row[0]) };

const char *pp_cupti_why(int result, char *buffer)
{
	for (size_t i = 0; i < ROWS; i++)
		if (row[i].result == result)
			return row[i].why;
	snprintf(buffer, 16, "error %d", result);
	return buffer;
}

const char *pp_cupti_fix(int result)
{
	for (size_t i = 0; i < ROWS; i++)
		if (row[i].result == result)
			return row[i].fix;
	return "Run podprof doctor";
}
