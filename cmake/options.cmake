# Compiler flags shared by every target of the project.
add_library(treadle_options INTERFACE)
target_compile_options(treadle_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor -Werror
  -ffunction-sections -fdata-sections -fno-math-errno -ffp-contract=off)
target_link_options(treadle_options INTERFACE -Wl,--gc-sections)
if(TREADLE_SANITIZE)
  target_compile_options(treadle_options INTERFACE
    -fsanitize=${TREADLE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(treadle_options INTERFACE -fsanitize=${TREADLE_SANITIZE})
endif()
find_program(TREADLE_CCACHE ccache)
if(TREADLE_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${TREADLE_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${TREADLE_CCACHE})
endif()
