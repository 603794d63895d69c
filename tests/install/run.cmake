# cmake -DBUILD=… -DSOURCE=… -DWORK=… -P run.cmake: installs the build into a fresh prefix, then
# configures, builds and runs the outside project against it.
function(step)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "failed (${code}): ${ARGN}\n${out}")
  endif()
  message("${out}")
endfunction()

file(REMOVE_RECURSE ${WORK})
step(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
step(${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/build -DCMAKE_PREFIX_PATH=${WORK}/prefix
  -DCMAKE_BUILD_TYPE=Release ${OPTIONS})
step(${CMAKE_COMMAND} --build ${WORK}/build)
step(${WORK}/build/outside_cpp)
step(${WORK}/build/outside_c)
step(${WORK}/prefix/bin/treadle --version)
file(GLOB_RECURSE notices ${WORK}/prefix/share/doc/*/notices/*.txt)
list(LENGTH notices count)
if(count LESS 7)
  message(FATAL_ERROR "${count} notices installed, expected 7")
endif()
