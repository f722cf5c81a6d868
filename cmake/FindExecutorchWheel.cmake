# Finds the executorch wheel: its CMake package, its libraries, and its FlatBuffers schemas.
# Sets ETPROF_EXECUTORCH_ROOT (the folder site-packages/executorch).

if(NOT ETPROF_EXECUTORCH_ROOT)
  file(GLOB ETPROF_EXECUTORCH_CANDIDATES ${CMAKE_SOURCE_DIR}/.venv/lib/python3*/site-packages/executorch)
  list(LENGTH ETPROF_EXECUTORCH_CANDIDATES count)
  if(count EQUAL 0)
    message(FATAL_ERROR "the executorch wheel is not installed in .venv: run script/bootstrap, or give its folder as "
                        "-DETPROF_EXECUTORCH_ROOT=.../site-packages/executorch")
  endif()
  list(GET ETPROF_EXECUTORCH_CANDIDATES 0 ETPROF_EXECUTORCH_ROOT)
endif()
set(ETPROF_EXECUTORCH_ROOT "${ETPROF_EXECUTORCH_ROOT}" CACHE PATH "site-packages/executorch")
list(APPEND CMAKE_PREFIX_PATH ${ETPROF_EXECUTORCH_ROOT}/share/cmake)

if(NOT CMAKE_SYSTEM_NAME STREQUAL "Linux" AND NOT ETPROF_HOST)
  return() # the runner reads no FlatBuffers; on Linux the tracer of older releases does (runner/runtimes/portable_tracer.cc)
endif()
find_path(ETPROF_FLATBUFFERS_INCLUDE flatbuffers/flatbuffers.h REQUIRED)
# The flatc must match the FlatBuffers headers. The executorch wheel has a flatc of another version, which comes first in
# PATH if .venv is activated.
find_program(ETPROF_FLATC flatc HINTS ${ETPROF_FLATBUFFERS_INCLUDE}/../bin ${ETPROF_INCLUDE_OF_flatbuffers}/../bin REQUIRED)

# etprof_flatbuffers(<target> <schema.fbs>...) adds an interface target with the C++ code that flatc generates from schemas.
function(etprof_flatbuffers target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "INCLUDE" "")
  if(arg_INCLUDE)
    set(arg_INCLUDE -I ${arg_INCLUDE})
  endif()
  set(output_dir ${CMAKE_BINARY_DIR}/generated/${target})  # one folder per target, because two schemas may include files of the same name
  set(headers)
  foreach(schema IN LISTS arg_UNPARSED_ARGUMENTS)
    cmake_path(GET schema STEM name)
    set(header ${output_dir}/${name}_generated.h)
    add_custom_command(
      OUTPUT ${header}
      COMMAND ${ETPROF_FLATC} --cpp --scoped-enums --gen-object-api ${arg_INCLUDE} -o ${output_dir} ${schema}
      DEPENDS ${schema}
      COMMENT "Generating ${name}_generated.h from the wheel's schema")
    list(APPEND headers ${header})
  endforeach()
  add_custom_target(${target}_headers DEPENDS ${headers})
  add_library(${target} INTERFACE)
  add_dependencies(${target} ${target}_headers)
  target_include_directories(${target} SYSTEM INTERFACE ${output_dir} ${ETPROF_FLATBUFFERS_INCLUDE})
endfunction()
