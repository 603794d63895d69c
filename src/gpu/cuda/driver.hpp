// The CUDA driver library, loaded while the program runs: the same binary starts where there is
// none. Types and functions are declared here after the driver's stable binary interface (CUDA 11.8
// and later), so that building the host side needs no CUDA.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace treadle::gpu::cuda {

// What the driver calls CUresult, CUdevice, CUdeviceptr and so on.
using Result = int;
using DeviceHandle = int;
using Pointer = unsigned long long;
using Context = struct ContextHandle*;
using Module = struct ModuleHandle*;
using Function = struct FunctionHandle*;
using Stream = struct StreamHandle*;
using Event = struct EventHandle*;
using Graph = struct GraphHandle*;
using GraphExec = struct GraphExecHandle*;

inline constexpr Result kSuccess = 0;
inline constexpr Result kOutOfMemory = 2;
inline constexpr Result kNotFound = 500;
inline constexpr Result kNotReady = 600;

inline constexpr int kComputeCapabilityMajor = 75, kComputeCapabilityMinor = 76;  // attributes
inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventBlockingSync = 1, kEventDisableTiming = 2;
inline constexpr unsigned kHostAllocDeviceMap = 2;
inline constexpr int kCaptureRelaxed = 2;
inline constexpr int kFunctionPtxVersion = 5;               // of cuFuncGetAttribute
inline constexpr int kProgrammaticStreamSerialization = 6;  // of LaunchAttribute

// CUlaunchAttribute: an identifier and a union of 64 bytes, of which the first int is used here.
struct alignas(8) LaunchAttribute {
  int id = 0;
  int padding = 0;
  int value[16] = {};
};
static_assert(sizeof(LaunchAttribute) == 72 && alignof(LaunchAttribute) == 8);

// CUlaunchConfig.
struct LaunchConfig {
  unsigned grid_x = 1, grid_y = 1, grid_z = 1;
  unsigned block_x = 1, block_y = 1, block_z = 1;
  unsigned shared_bytes = 0;
  Stream stream = nullptr;
  const LaunchAttribute* attributes = nullptr;
  unsigned attribute_count = 0;
};
static_assert(sizeof(void*) != 8 ||
              (sizeof(LaunchConfig) == 56 && offsetof(LaunchConfig, stream) == 32));

// TREADLE_CUDA_API(member, exported name, parameters): each returns a Result.
#define TREADLE_CUDA_FUNCTIONS                                                                  \
  TREADLE_CUDA_API(init, cuInit, (unsigned flags))                                              \
  TREADLE_CUDA_API(driver_version, cuDriverGetVersion, (int*))                                  \
  TREADLE_CUDA_API(error_name, cuGetErrorName, (Result, const char**))                          \
  TREADLE_CUDA_API(error_string, cuGetErrorString, (Result, const char**))                      \
  TREADLE_CUDA_API(device_count, cuDeviceGetCount, (int*))                                      \
  TREADLE_CUDA_API(device_get, cuDeviceGet, (DeviceHandle*, int ordinal))                       \
  TREADLE_CUDA_API(device_name, cuDeviceGetName, (char*, int bytes, DeviceHandle))              \
  TREADLE_CUDA_API(device_attribute, cuDeviceGetAttribute, (int*, int attribute, DeviceHandle)) \
  TREADLE_CUDA_API(device_memory, cuDeviceTotalMem_v2, (std::size_t*, DeviceHandle))            \
  TREADLE_CUDA_API(context_retain, cuDevicePrimaryCtxRetain, (Context*, DeviceHandle))          \
  TREADLE_CUDA_API(context_release, cuDevicePrimaryCtxRelease_v2, (DeviceHandle))               \
  TREADLE_CUDA_API(context_current, cuCtxGetCurrent, (Context*))                                \
  TREADLE_CUDA_API(context_push, cuCtxPushCurrent_v2, (Context))                                \
  TREADLE_CUDA_API(context_pop, cuCtxPopCurrent_v2, (Context*))                                 \
  TREADLE_CUDA_API(memory_info, cuMemGetInfo_v2, (std::size_t * free, std::size_t * total))     \
  TREADLE_CUDA_API(memory_allocate, cuMemAlloc_v2, (Pointer*, std::size_t))                     \
  TREADLE_CUDA_API(memory_free, cuMemFree_v2, (Pointer))                                        \
  TREADLE_CUDA_API(host_allocate, cuMemHostAlloc, (void**, std::size_t, unsigned flags))        \
  TREADLE_CUDA_API(host_free, cuMemFreeHost, (void*))                                           \
  TREADLE_CUDA_API(host_device_pointer, cuMemHostGetDevicePointer_v2,                           \
                   (Pointer*, void*, unsigned flags))                                           \
  TREADLE_CUDA_API(copy_to_device, cuMemcpyHtoDAsync_v2,                                        \
                   (Pointer, const void*, std::size_t, Stream))                                 \
  TREADLE_CUDA_API(copy_to_host, cuMemcpyDtoHAsync_v2, (void*, Pointer, std::size_t, Stream))   \
  TREADLE_CUDA_API(module_load, cuModuleLoadData, (Module*, const void*))                       \
  TREADLE_CUDA_API(module_unload, cuModuleUnload, (Module))                                     \
  TREADLE_CUDA_API(module_function, cuModuleGetFunction, (Function*, Module, const char*))      \
  TREADLE_CUDA_API(stream_create, cuStreamCreate, (Stream*, unsigned flags))                    \
  TREADLE_CUDA_API(stream_destroy, cuStreamDestroy_v2, (Stream))                                \
  TREADLE_CUDA_API(stream_synchronize, cuStreamSynchronize, (Stream))                           \
  TREADLE_CUDA_API(event_create, cuEventCreate, (Event*, unsigned flags))                       \
  TREADLE_CUDA_API(event_destroy, cuEventDestroy_v2, (Event))                                   \
  TREADLE_CUDA_API(event_record, cuEventRecord, (Event, Stream))                                \
  TREADLE_CUDA_API(event_query, cuEventQuery, (Event))                                          \
  TREADLE_CUDA_API(event_synchronize, cuEventSynchronize, (Event))                              \
  TREADLE_CUDA_API(capture_begin, cuStreamBeginCapture_v2, (Stream, int mode))                  \
  TREADLE_CUDA_API(capture_end, cuStreamEndCapture, (Stream, Graph*))                           \
  TREADLE_CUDA_API(graph_instantiate, cuGraphInstantiateWithFlags,                              \
                   (GraphExec*, Graph, unsigned long long flags))                               \
  TREADLE_CUDA_API(graph_destroy, cuGraphDestroy, (Graph))                                      \
  TREADLE_CUDA_API(graph_exec_destroy, cuGraphExecDestroy, (GraphExec))                         \
  TREADLE_CUDA_API(graph_launch, cuGraphLaunch, (GraphExec, Stream))                            \
  TREADLE_CUDA_API(function_attribute, cuFuncGetAttribute, (int*, int attribute, Function))     \
  TREADLE_CUDA_API(launch, cuLaunchKernelEx,                                                    \
                   (const LaunchConfig*, Function, void** arguments, void** extra))

struct Driver {
#define TREADLE_CUDA_API(member, symbol, parameters) Result(*member) parameters = nullptr;
  TREADLE_CUDA_FUNCTIONS
#undef TREADLE_CUDA_API

  // "CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected".
  std::string text_of(Result result) const;
};

// Either `driver`, loaded and initialised with at least one device, or `why_not`.
struct DriverOrReason {
  std::unique_ptr<const Driver> driver;
  std::string why_not;
  int devices = 0;
};

// Loads `library`; for tests of the reasons.
DriverOrReason load_driver(const char* library);

// The driver of this machine (libcuda.so.1), loaded by the first call of any thread, never
// unloaded.
const DriverOrReason& driver_or_reason();

}  // namespace treadle::gpu::cuda
