# A build for another machine uses the headers of the build machine's packages, because the target machine has none. It links
# only the runner, which needs none of their libraries. Each header folder is linked into a separate folder, so that the
# compiler never searches the system's include folder, which has the C library of the build machine.

# etprof_headers(<target> <folder> <header>) adds an interface target for #include <folder/...>.
set(ETPROF_HOST_HEADERS ${CMAKE_BINARY_DIR}/host-headers)
function(etprof_headers target folder header)
  find_path(ETPROF_INCLUDE_OF_${folder} ${folder}/${header}
            PATHS /usr/include /usr/local/include /opt/homebrew/include NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)
  if(NOT ETPROF_INCLUDE_OF_${folder})
    message(FATAL_ERROR "${folder}/${header} is not installed: run script/bootstrap")
  endif()
  file(MAKE_DIRECTORY ${ETPROF_HOST_HEADERS})
  file(CREATE_LINK ${ETPROF_INCLUDE_OF_${folder}}/${folder} ${ETPROF_HOST_HEADERS}/${folder} SYMBOLIC)
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${target} SYSTEM INTERFACE ${ETPROF_HOST_HEADERS})
endfunction()

etprof_headers(fmt::fmt fmt format.h)
target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY)
etprof_headers(nlohmann_json::nlohmann_json nlohmann json.hpp)
etprof_headers(CLI11::CLI11 CLI CLI.hpp)
if(ETPROF_HOST) # the tests compile etprof itself, but do not link it
  etprof_headers(boost boost version.hpp)
  etprof_headers(flatbuffers flatbuffers flatbuffers.h)
  set(ETPROF_BOOST_INCLUDE ${ETPROF_HOST_HEADERS} CACHE PATH "")
  set(ETPROF_FLATBUFFERS_INCLUDE ${ETPROF_HOST_HEADERS} CACHE PATH "")
  # The headers of pugixml, SQLite, and zlib are directly in the include folder.
  foreach(header IN ITEMS pugixml.hpp pugiconfig.hpp sqlite3.h zlib.h zconf.h)
    find_path(ETPROF_INCLUDE_OF_${header} ${header}
              PATHS /usr/include /usr/local/include /opt/homebrew/include NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH REQUIRED)
    file(CREATE_LINK ${ETPROF_INCLUDE_OF_${header}}/${header} ${ETPROF_HOST_HEADERS}/${header} SYMBOLIC)
  endforeach()
  add_library(pugixml::pugixml INTERFACE IMPORTED GLOBAL)
  target_include_directories(pugixml::pugixml SYSTEM INTERFACE ${ETPROF_HOST_HEADERS})
  add_library(SQLite3::SQLite3 INTERFACE IMPORTED GLOBAL)
  target_include_directories(SQLite3::SQLite3 SYSTEM INTERFACE ${ETPROF_HOST_HEADERS})
  add_library(ZLIB::ZLIB INTERFACE IMPORTED GLOBAL)
  target_include_directories(ZLIB::ZLIB SYSTEM INTERFACE ${ETPROF_HOST_HEADERS})
  etprof_headers(minizip::minizip minizip unzip.h)
  etprof_headers(protozero::protozero protozero pbf_writer.hpp)
endif()
