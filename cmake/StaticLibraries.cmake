# With ETPROF_STATIC, the libraries of the system's -dev packages are linked statically, so that a wheel or a copied binary
# needs only the C and C++ libraries. The targets defined here replace those of find_package.

set(OPENSSL_USE_STATIC_LIBS ON)
set(ZLIB_USE_STATIC_LIBS ON)
find_package(ZLIB REQUIRED)

# etprof_static(<target> <libx.a> <header>...) adds a target for a static library and its headers.
function(etprof_static target file header)
  find_library(ETPROF_STATIC_${file} ${file} REQUIRED)
  find_path(ETPROF_INCLUDE_OF_${header} ${header} REQUIRED)
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${target} SYSTEM INTERFACE ${ETPROF_INCLUDE_OF_${header}})
  target_link_libraries(${target} INTERFACE ${ETPROF_STATIC_${file}})
endfunction()
etprof_static(pugixml::pugixml libpugixml.a pugixml.hpp)
etprof_static(SQLite3::SQLite3 libsqlite3.a sqlite3.h)
target_link_libraries(SQLite3::SQLite3 INTERFACE Threads::Threads ${CMAKE_DL_LIBS} m)
etprof_static(minizip::minizip libminizip.a minizip/unzip.h)
target_link_libraries(minizip::minizip INTERFACE ZLIB::ZLIB)

# cs_open has a table of all architectures, so all of them are linked: 6.6 MB. etprof uses only x86. Defining the other
# entries as null removes all references to their code, so the linker omits it: 1.6 MB.
etprof_static(capstone::capstone libcapstone.a capstone/capstone.h)
if(NOT APPLE)
  target_link_options(capstone::capstone INTERFACE -Wl,--gc-sections)
  foreach(architecture ARM AArch64 Mips PPC Sparc SystemZ XCore M68K TMS320C64x M680X EVM)
    target_link_options(capstone::capstone INTERFACE -Wl,--defsym=${architecture}_global_init=0
                                                     -Wl,--defsym=${architecture}_option=0)
  endforeach()
endif()
