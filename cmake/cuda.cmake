# The CUDA kernels: a fat binary for each family, put into the library as bytes. The host side needs
# nothing of CUDA; without nvcc the library says that it was built without kernels.
set(TREADLE_CUDA AUTO CACHE STRING "CUDA kernels: AUTO (where nvcc is found, without sanitizers), ON or OFF")
set(TREADLE_CUDA_ARCHITECTURES sm_80 sm_90a compute_90 CACHE STRING
  "sm_XY: machine code for that architecture; compute_XY: PTX for it and all later ones")

if(NOT TREADLE_CUDA STREQUAL "OFF")
  file(GLOB wheels ${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/nvidia/cu13/bin)
  find_program(TREADLE_NVCC nvcc PATHS /usr/local/cuda/bin ${wheels})
endif()
if(TREADLE_CUDA STREQUAL "OFF")
  message(STATUS "CUDA kernels: off")
  return()
elseif(NOT TREADLE_NVCC)
  if(TREADLE_CUDA STREQUAL "AUTO")
    message(STATUS "CUDA kernels: off, no nvcc (scripts/setup.sh installs it)")
    return()
  endif()
  message(FATAL_ERROR "TREADLE_CUDA is ON and there is no nvcc: run scripts/setup.sh or set TREADLE_NVCC")
elseif(TREADLE_CUDA STREQUAL "AUTO" AND TREADLE_SANITIZE)
  message(STATUS "CUDA kernels: off in a build with sanitizers (TREADLE_CUDA=ON to have them)")
  return()
endif()
list(JOIN TREADLE_CUDA_ARCHITECTURES " " architectures)
message(STATUS "CUDA kernels: ${architectures}, by ${TREADLE_NVCC}")

set(gencode "")
foreach(architecture IN LISTS TREADLE_CUDA_ARCHITECTURES)
  # The kernels use nothing that only one architecture has, so machine code for sm_90a is made from
  # the text for compute_90, which is compiled once for both.
  if(NOT architecture MATCHES "^(sm_([0-9]+)[af]?|compute_([0-9]+[af]?))$")
    message(FATAL_ERROR "TREADLE_CUDA_ARCHITECTURES: '${architecture}' is neither sm_XY nor compute_XY")
  endif()
  list(APPEND gencode -gencode=arch=compute_${CMAKE_MATCH_2}${CMAKE_MATCH_3},code=${architecture})
endforeach()

set(fatbin_folder ${PROJECT_BINARY_DIR}/generated/gpu)
file(MAKE_DIRECTORY ${fatbin_folder})
# The files that sim compiles: nothing in them is of one device.
file(GLOB families CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/gpu/sim/kernels_*.cpp)
set(fatbins "")
set(logs "")
set(FATBIN_BYTES "")
set(FATBIN_TABLE "")
foreach(source IN LISTS families)
  get_filename_component(family ${source} NAME_WE)
  set(fatbin ${fatbin_folder}/${family}.fatbin)
  add_custom_command(OUTPUT ${fatbin} ${fatbin}.log
    COMMAND ${CMAKE_COMMAND} -DLOG=${fatbin}.log -P ${PROJECT_SOURCE_DIR}/cmake/logged.cmake --
      ${TREADLE_NVCC} -fatbin -x cu -std=c++17 -O3 -fmad=false ${gencode} -compress-mode=size
      -Xptxas -v -Werror all-warnings -ccbin ${CMAKE_CXX_COMPILER} -I ${PROJECT_SOURCE_DIR}/src
      -MMD -MF ${fatbin}.d -MT ${fatbin} -o ${fatbin} ${source}
    DEPENDS ${source} ${PROJECT_SOURCE_DIR}/cmake/logged.cmake
    DEPFILE ${fatbin}.d VERBATIM COMMENT "Compiling ${family} for CUDA")
  list(APPEND fatbins ${fatbin})
  list(APPEND logs ${fatbin}.log)
  string(APPEND FATBIN_BYTES "    .balign 64\n${family}:\n    .incbin \"${fatbin}\"\n")
  string(APPEND FATBIN_TABLE "    .quad ${family}\n")
endforeach()

enable_language(ASM)
configure_file(cmake/fatbin.S.in ${fatbin_folder}/fatbin.S @ONLY)
set_source_files_properties(${fatbin_folder}/fatbin.S PROPERTIES OBJECT_DEPENDS "${fatbins}")
target_sources(treadle_gpu PRIVATE ${fatbin_folder}/fatbin.S)
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/gpu/cuda/fatbin.cpp PROPERTIES
  COMPILE_DEFINITIONS "TREADLE_CUDA_ARCHITECTURES=\"${architectures}\"")

if(TREADLE_TESTS)
  enable_testing()
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  # Every kernel of the list, for every architecture, without spilled registers.
  add_test(NAME gpu_cuda_kernels COMMAND ${Python3_EXECUTABLE}
    ${PROJECT_SOURCE_DIR}/scripts/cuda_kernels.py ${PROJECT_SOURCE_DIR}/src/gpu/kernels/list.inc
    "${architectures}" ${logs})
endif()
