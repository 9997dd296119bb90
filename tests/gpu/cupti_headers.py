#!/usr/bin/python3
"""podprof's own declarations of CUPTI (core/source/cupti) against NVIDIA's headers of both majors: offsets and sizes of members, values
of kinds and results, and the numbers of calls. Nothing runs; the compiler decides. Run by ctest unit.gpu.cupti_headers."""
import argparse
import os
import re
import subprocess
import sys
import tempfile

# podprof's struct: NVIDIA's in CUDA 12.9 and 13.5, and podprof's members that are NVIDIA's by another name
VIEWS = {
    "kernel": (("Kernel9", "Kernel13"), "registers=registersPerThread start end completed device=deviceId context=contextId stream=streamId grid[0]=gridX "
               "grid[1]=gridY grid[2]=gridZ block[0]=blockX block[1]=blockY block[2]=blockZ static_shared=staticSharedMemory "
               "dynamic_shared=dynamicSharedMemory correlation=correlationId name graph_node=graphNodeId graph=graphId"),
    "memcpy": (("Memcpy6", "Memcpy7"), "copy=copyKind from=srcKind to=dstKind flags bytes start end device=deviceId context=contextId stream=streamId "
               "correlation=correlationId runtime_correlation=runtimeCorrelationId graph=graphId"),
    "memcpy2": (("MemcpyPtoP4", "MemcpyPtoP4"), "copy=copyKind from=srcKind to=dstKind bytes start end device=deviceId context=contextId stream=streamId "
                "from_device=srcDeviceId from_context=srcContextId to_device=dstDeviceId to_context=dstContextId correlation=correlationId graph=graphId"),
    "memset": (("Memset4", "Memset5"), "value bytes start end device=deviceId context=contextId stream=streamId correlation=correlationId graph=graphId"),
    "call": (("API", "API"), "number=cbid start end pid=processId tid=threadId correlation=correlationId result=returnValue"),
    "sync": (("Synchronization2", "Synchronization2"), "type start end correlation=correlationId context=contextId stream=streamId event=cudaEventId"),
    "overhead": (("Overhead3", "Overhead3"), "overhead=overheadKind object=objectKind pid=objectId.pt.processId tid=objectId.pt.threadId start end "
                 "correlation=correlationId data=overheadData"),
    "memory": (("Memory4", "Memory4"), "operation=memoryOperationType memory=memoryKind correlation=correlationId address bytes timestamp pid=processId "
               "device=deviceId context=contextId stream=streamId name is_async=isAsync pool_type=memoryPoolConfig.memoryPoolType "
               "pool=memoryPoolConfig.address threshold=memoryPoolConfig.releaseThreshold pool_size=memoryPoolConfig.pool.size "
               "pool_used=memoryPoolConfig.utilizedSize"),
    "memory_pool": (("MemoryPool2", "MemoryPool3"), "action=memoryPoolOperationType type=memoryPoolType correlation=correlationId pid=processId "
                    "device=deviceId trimmed_to=minBytesToKeep address size threshold=releaseThreshold timestamp used=utilizedSize"),
    "jit": (("Jit2", "Jit2"), "entry=jitEntryType operation=jitOperationType device=deviceId start end correlation=correlationId "
            "operation_correlation=jitOperationCorrelationId cache_bytes=cacheSize path=cachePath pid=processId tid=threadId"),
    "device": (("Device5", "Device6"), "bandwidth=globalMemoryBandwidth memory=globalMemorySize warp_threads=numThreadsPerWarp clock_khz=coreClockRate "
               "multiprocessors=numMultiprocessors warps=maxWarpsPerMultiprocessor blocks=maxBlocksPerMultiprocessor "
               "shared=maxSharedMemoryPerMultiprocessor registers=maxRegistersPerMultiprocessor block_registers=maxRegistersPerBlock "
               "block_shared=maxSharedMemoryPerBlock block_threads=maxThreadsPerBlock major_number=computeCapabilityMajor "
               "minor_number=computeCapabilityMinor id uuid name is_visible=isCudaVisible is_mig=isMigEnabled gpu_instance=gpuInstanceId "
               "compute_instance=computeInstanceId mig_uuid=migUuid"),
}
VALUES = {
    "PP_CUPTI_MEMCPY": "ACTIVITY_KIND_MEMCPY", "PP_CUPTI_MEMSET": "ACTIVITY_KIND_MEMSET", "PP_CUPTI_DRIVER": "ACTIVITY_KIND_DRIVER",
    "PP_CUPTI_RUNTIME": "ACTIVITY_KIND_RUNTIME", "PP_CUPTI_DEVICE": "ACTIVITY_KIND_DEVICE", "PP_CUPTI_KERNEL": "ACTIVITY_KIND_CONCURRENT_KERNEL",
    "PP_CUPTI_OVERHEAD": "ACTIVITY_KIND_OVERHEAD", "PP_CUPTI_MEMCPY2": "ACTIVITY_KIND_MEMCPY2", "PP_CUPTI_SYNC": "ACTIVITY_KIND_SYNCHRONIZATION",
    "PP_CUPTI_MEMORY2": "ACTIVITY_KIND_MEMORY2", "PP_CUPTI_POOL": "ACTIVITY_KIND_MEMORY_POOL",
    "PP_CUPTI_POOL_LOCAL": "ACTIVITY_MEMORY_POOL_TYPE_LOCAL", "PP_CUPTI_POOL_IMPORTED": "ACTIVITY_MEMORY_POOL_TYPE_IMPORTED",
    "PP_CUPTI_POOL_CREATED": "ACTIVITY_MEMORY_POOL_OPERATION_TYPE_CREATED", "PP_CUPTI_POOL_DESTROYED": "ACTIVITY_MEMORY_POOL_OPERATION_TYPE_DESTROYED",
    "PP_CUPTI_POOL_TRIMMED": "ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED", "PP_CUPTI_JIT": "ACTIVITY_KIND_JIT", "PP_CUPTI_FORCED": "ACTIVITY_FLAG_FLUSH_FORCED",
    "PP_CUPTI_TID_SYSTEM": "ACTIVITY_THREAD_ID_TYPE_SYSTEM", "PP_CUPTI_OBJECT_THREAD": "ACTIVITY_OBJECT_THREAD",
    "PP_CUPTI_SYNC_STREAM_WAIT": "ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT", "PP_CUPTI_NOT_COMPATIBLE": "ERROR_NOT_COMPATIBLE",
    "PP_CUPTI_NOT_INITIALIZED": "ERROR_NOT_INITIALIZED", "PP_CUPTI_NOT_SUPPORTED": "ERROR_NOT_SUPPORTED",
    "PP_CUPTI_VIRTUALIZED": "ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED", "PP_CUPTI_PRIVILEGES": "ERROR_INSUFFICIENT_PRIVILEGES",
    "PP_CUPTI_OLD_PROFILER": "ERROR_OLD_PROFILER_API_INITIALIZED", "PP_CUPTI_LEGACY": "ERROR_LEGACY_PROFILER_NOT_SUPPORTED",
    "PP_CUPTI_SUBSCRIBERS": "ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED",
    "PP_CUPTI_VIRTUALIZED_PRIVILEGES": "ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES",
    "PP_CUPTI_CONFIDENTIAL": "ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED", "PP_CUPTI_CMP": "ERROR_CMP_DEVICE_NOT_SUPPORTED",
    "PP_CUPTI_MIG": "ERROR_MIG_DEVICE_NOT_SUPPORTED", "PP_CUPTI_SLI": "ERROR_SLI_DEVICE_NOT_SUPPORTED",
    "PP_CUPTI_WSL": "ERROR_WSL_DEVICE_NOT_SUPPORTED", "PP_CUPTI_UNKNOWN": "ERROR_UNKNOWN",
}


def program(major):
    """C that compiles only where all agree."""
    lines = ["#include <stddef.h>", "#include <stdint.h>", "#include <cuda.h>", "#include <cupti.h>", '#include "core/source/cupti/cupti_abi.h"']
    for ours, (theirs, members) in VIEWS.items():
        for member in members.split():
            mine, its = (member + "=" + member).split("=")[:2]
            one, two = f"struct pp_cupti_{ours}", f"CUpti_Activity{theirs[major]}"
            lines.append(f'_Static_assert(offsetof({one}, {mine}) == offsetof({two}, {its}), "place of {ours}.{mine}");')
            lines.append(f'_Static_assert(sizeof((({one} *)0)->{mine}) == sizeof((({two} *)0)->{its}), "size of {ours}.{mine}");')
    lines += [f'_Static_assert((int){ours} == (int)CUPTI_{theirs}, "{ours}");' for ours, theirs in VALUES.items()]
    return "\n".join(lines) + "\n"


def wrong_calls(source, include):
    """Rows of cupti_call.def whose number is another call's in NVIDIA's lists. A version may lack a number."""
    wrong, seen = [], 0
    names = {}
    for domain, short in (("DRIVER", "driver"), ("RUNTIME", "runtime")):
        with open(os.path.join(include, f"cupti_{short}_cbid.h"), encoding="utf-8") as f:
            names[domain] = {int(n): name for name, n in re.findall(r"CBID_(\w+)\s*=\s*(\d+)", f.read())}
    with open(os.path.join(source, "core/source/cupti/cupti_call.def"), encoding="utf-8") as f:
        rows = re.findall(r'^PP_CUPTI_CALL\((\w+), (\d+), "(\w+)"', f.read(), re.M)
    for domain, number, text in rows:
        real = names[domain].get(int(number))
        seen += real is not None
        if real is not None and not re.fullmatch("(__)?" + re.escape(text) + r"(_v\d+)?(_ptds|_ptsz)?(_v\d+)?", real):
            wrong.append(f"{domain} {number} is {real}, not {text}")
    return wrong + ([] if seen >= 100 else [f"only {seen} of {len(rows)} calls are in {include}"])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cc", required=True)
    parser.add_argument("--source", required=True, help="podprof's tree")
    parser.add_argument("--wheels", required=True, help="directory nvidia of the wheels")
    args = parser.parse_args()
    includes = [[os.path.join(args.wheels, d, "include") for d in dirs] for dirs in (("cuda_cupti", "cuda_runtime", "cu13"), ("cu13",))]
    if not all(os.path.isdir(d) for dirs in includes for d in dirs):
        print("no headers of CUPTI: they come with pip")
        return 77
    failed = 0
    for major, dirs in enumerate(includes):
        with tempfile.NamedTemporaryFile("w", suffix=".c") as f:
            f.write(program(major))
            f.flush()
            flags = [f"-I{args.source}"] + [word for d in dirs for word in ("-isystem", d)]
            failed += subprocess.run([args.cc, "-std=c11", "-fsyntax-only", *flags, f.name], check=False).returncode
        for line in wrong_calls(args.source, dirs[0]):
            failed += 1
            print(line)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
