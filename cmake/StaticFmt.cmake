# Debian has no libfmt.a, and compiling fmt header-only in every file takes twice as long. So one file compiles fmt
# header-only, and exports all functions that other files use.
find_path(ETPROF_INCLUDE_OF_fmt fmt/format.h REQUIRED)
add_library(etprof_fmt STATIC ${CMAKE_SOURCE_DIR}/cmake/fmt.cc)
target_include_directories(etprof_fmt SYSTEM PUBLIC ${ETPROF_INCLUDE_OF_fmt})
target_compile_definitions(etprof_fmt PRIVATE FMT_HEADER_ONLY=1)
target_compile_options(etprof_fmt PRIVATE -fkeep-inline-functions -ffunction-sections)
target_link_options(etprof_fmt INTERFACE -Wl,--gc-sections)
add_library(fmt::fmt ALIAS etprof_fmt)
