# One static library per module, in the order of docs/design.md: a module may use those above it.
# Every .cpp below a module's folder is part of it, so that a new file needs no edit here.
find_package(fmt REQUIRED)
find_package(Threads REQUIRED)

set(TREADLE_MODULES base tensor graph ops passes kernels plan cpu gpu formats api)
# Under sanitizers, -O3 costs minutes of compiling and finds nothing more.
set(kernel_options "-O3")
if(TREADLE_SANITIZE)
  set(kernel_options "")
endif()
foreach(module IN LISTS TREADLE_MODULES)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${module}/*.cpp)
  if(NOT sources)
    continue()
  endif()
  # Which of the two: cmake/metal.cmake.
  list(FILTER sources EXCLUDE REGEX "/gpu/(metal/.*|no_metal\\.cpp)$")
  add_library(treadle_${module} OBJECT ${sources})
  target_include_directories(treadle_${module} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(treadle_${module} PUBLIC treadle_options fmt::fmt Threads::Threads)
  list(APPEND TREADLE_OBJECTS $<TARGET_OBJECTS:treadle_${module}>)
  foreach(source IN LISTS sources)
    set(vnni "")
    if(source MATCHES "_avx2\\.cpp$")
      if(source MATCHES "_vnni_avx2")
        set(vnni "-mavxvnni;")
      endif()
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "-mavx2;-mfma;-mf16c;${vnni}${kernel_options}")
    elseif(source MATCHES "_avx512\\.cpp$")
      if(source MATCHES "_vnni_avx512")
        set(vnni "-mavx512vnni;")
      endif()
      set_source_files_properties(${source} PROPERTIES
        COMPILE_OPTIONS "-mavx512f;-mavx512bw;-mavx512dq;-mavx512vl;-mavx2;-mfma;-mf16c;${vnni}${kernel_options}")
    elseif(source MATCHES "/kernels/")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${kernel_options}")
    elseif(source MATCHES "/gpu/sim/(fiber|group)\\.cpp$" AND TREADLE_SANITIZE MATCHES "thread")
      # ThreadSanitizer is to watch what simulated GPU threads do, not what switches between them.
      set_source_files_properties(${source} PROPERTIES SKIP_PRECOMPILE_HEADERS ON
        COMPILE_OPTIONS "-fno-sanitize=thread;-DTREADLE_TSAN_FIBERS")
    endif()
  endforeach()
endforeach()
include(${PROJECT_SOURCE_DIR}/cmake/cuda.cmake)
include(${PROJECT_SOURCE_DIR}/cmake/metal.cmake)

# The standard library and fmt are most of what a small file costs. Not for kernels, whose files have
# flags of their own.
if(TREADLE_PCH)
  target_precompile_headers(treadle_base PRIVATE <algorithm> <functional> <map> <memory> <optional>
    <set> <span> <string> <string_view> <unordered_map> <utility> <vector> <fmt/format.h>)
  foreach(module IN LISTS TREADLE_MODULES)
    if(TARGET treadle_${module} AND NOT module MATCHES "^(base|kernels)$")
      target_precompile_headers(treadle_${module} REUSE_FROM treadle_base)
    endif()
  endforeach()
endif()

# Everything, for tests and the command, which reach inside.
add_library(treadle_internal STATIC ${TREADLE_OBJECTS})
target_include_directories(treadle_internal PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(treadle_internal PUBLIC treadle_options fmt::fmt Threads::Threads)

file(GLOB_RECURSE cli_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/cli/*.cpp)
if(cli_sources)
  include(${PROJECT_SOURCE_DIR}/cmake/cli.cmake)
endif()
