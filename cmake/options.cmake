# Compiler flags shared by every target of the project.
add_library(treadle_options INTERFACE)
target_compile_options(treadle_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor -Werror
  -ffunction-sections -fdata-sections -fno-math-errno -ffp-contract=off)
if(APPLE)
  target_link_options(treadle_options INTERFACE -Wl,-dead_strip)
else()
  target_link_options(treadle_options INTERFACE -Wl,--gc-sections)
endif()
if(TREADLE_SANITIZE)
  target_compile_options(treadle_options INTERFACE
    -fsanitize=${TREADLE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all
    # GCC takes what the sanitizers insert for reads of unset variables.
    -Wno-maybe-uninitialized)
  target_link_options(treadle_options INTERFACE -fsanitize=${TREADLE_SANITIZE})
  if(TREADLE_SANITIZE MATCHES "undefined")
    # A bad cast from floating point gives another integer on each machine: not in "undefined" by default.
    # The checks left out are of addresses: AddressSanitizer or the machine itself stops at most of what
    # they find, and they are half of the time that a file takes to compile. Vptr needs RTTI of all parts.
    target_compile_options(treadle_options INTERFACE -fsanitize=float-cast-overflow
      -fno-sanitize=vptr,null,object-size,alignment,nonnull-attribute,returns-nonnull-attribute,pointer-overflow)
  endif()
endif()
find_program(TREADLE_CCACHE ccache)
if(TREADLE_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${TREADLE_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${TREADLE_CCACHE})
endif()
