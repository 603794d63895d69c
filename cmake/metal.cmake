# The Metal backend. On macOS it is part of the library. Elsewhere no_metal.cpp is, which says that
# there is no Metal; where GNUstep is found, the backend is an object library of its own, for the
# tests, which link it with software Metal (tests/softmetal).
set(metal_default OFF)
if(APPLE)
  set(metal_default ON)
endif()
option(TREADLE_METAL "Build the Metal backend into the library (macOS)" ${metal_default})
if(TREADLE_METAL AND NOT APPLE)
  message(FATAL_ERROR "TREADLE_METAL is ON: the frameworks it needs are on macOS only")
endif()
file(GLOB metal_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/gpu/metal/*.cpp)
list(APPEND metal_sources ${PROJECT_SOURCE_DIR}/src/gpu/metal/api.mm)

# The kernels as text: the files that CUDA and sim compile.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(metal_text ${PROJECT_BINARY_DIR}/generated/gpu/metal_text.cpp)
file(GLOB metal_text_from CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/gpu/dialect/*.hpp
  ${PROJECT_SOURCE_DIR}/src/gpu/kernels/* ${PROJECT_SOURCE_DIR}/src/gpu/metal/*.hpp
  ${PROJECT_SOURCE_DIR}/src/gpu/metal/own.inc ${PROJECT_SOURCE_DIR}/src/gpu/sim/kernels_*.cpp)
add_custom_command(OUTPUT ${metal_text}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/generated/gpu
  COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/scripts/kernel_text.py --cpp
    ${PROJECT_SOURCE_DIR}/src ${metal_text}
  DEPENDS ${metal_text_from} ${PROJECT_SOURCE_DIR}/scripts/kernel_text.py
  VERBATIM COMMENT "Stringing the kernels together for Metal")

function(treadle_use_metal target)
  target_sources(${target} PRIVATE ${metal_sources} ${metal_text})
  # Objective-C++ as C++20 of the project; see src/gpu/metal/api.hpp.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:OBJCXX>:-std=c++20>)
endfunction()

if(TREADLE_METAL)
  enable_language(OBJCXX)
  find_library(TREADLE_METAL_FRAMEWORK Metal REQUIRED)
  find_library(TREADLE_FOUNDATION_FRAMEWORK Foundation REQUIRED)
  treadle_use_metal(treadle_gpu)
  target_link_libraries(treadle_gpu PUBLIC ${TREADLE_METAL_FRAMEWORK} ${TREADLE_FOUNDATION_FRAMEWORK})
  # fastMathEnabled is what all systems know; macOS 15 has another name for it.
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/gpu/metal/api.mm PROPERTIES
    COMPILE_OPTIONS "-Wno-deprecated-declarations")
  message(STATUS "Metal: ${TREADLE_METAL_FRAMEWORK}")
  return()
endif()
target_sources(treadle_gpu PRIVATE ${PROJECT_SOURCE_DIR}/src/gpu/no_metal.cpp)

# For tests/softmetal.
set(TREADLE_SOFTWARE_METAL OFF)
if(NOT TREADLE_TESTS OR APPLE)
  return()
endif()
find_program(TREADLE_GNUSTEP_CONFIG gnustep-config)
# The compiler of the rest, where it has Objective-C++.
if(NOT DEFINED ENV{OBJCXX})
  set(ENV{OBJCXX} ${CMAKE_CXX_COMPILER})
endif()
include(CheckLanguage)
check_language(OBJCXX)
if(NOT TREADLE_GNUSTEP_CONFIG OR NOT CMAKE_OBJCXX_COMPILER)
  message(STATUS "Software Metal: off, no Objective-C++ or GNUstep (scripts/setup.sh installs them)")
  return()
endif()
enable_language(OBJCXX)
set(TREADLE_SOFTWARE_METAL ON)
# What gnustep-config --objc-flags says that matters here, its headers as the system's.
add_library(treadle_gnustep INTERFACE)
find_path(TREADLE_GNUSTEP_INCLUDE Foundation/Foundation.h PATH_SUFFIXES GNUstep REQUIRED)
target_include_directories(treadle_gnustep SYSTEM INTERFACE ${TREADLE_GNUSTEP_INCLUDE})
target_compile_definitions(treadle_gnustep INTERFACE GNUSTEP GNUSTEP_BASE_LIBRARY=1 GNU_RUNTIME=1)
target_compile_options(treadle_gnustep INTERFACE
  $<$<COMPILE_LANGUAGE:OBJCXX,OBJC>:-fobjc-exceptions -fconstant-string-class=NSConstantString>)
target_link_libraries(treadle_gnustep INTERFACE gnustep-base objc)
# The backend, as tests link it.
add_library(treadle_metal OBJECT EXCLUDE_FROM_ALL)
treadle_use_metal(treadle_metal)
target_link_libraries(treadle_metal PUBLIC treadle_options fmt::fmt treadle_gnustep treadle_softmetal)
target_include_directories(treadle_metal PRIVATE ${PROJECT_SOURCE_DIR}/src)
