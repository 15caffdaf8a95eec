# Finds one HDF5 flavour and makes the target rset_hdf5 of it. In order:
#   -DREDSET_HDF5_PKGCONFIG=NAME   a pkg-config name: hdf5-serial, hdf5-openmpi, ...
#   -DHDF5_ROOT=PREFIX             an installation of its own
#   otherwise                      pkg-config hdf5-serial, then hdf5
# Sets REDSET_FLAVOUR, REDSET_HDF5_VERSION, REDSET_HDF5_PREFIX, REDSET_HDF5_PLUGINDIR (where that HDF5 looks),
# REDSET_HDF5_PARALLEL and REDSET_HDF5_TOOLDIR (of h5dump linked with this very flavour, or empty).

set(REDSET_HDF5_PKGCONFIG "" CACHE STRING "pkg-config name of the HDF5 flavour to build for")
set(HDF5_ROOT "$ENV{HDF5_ROOT}" CACHE PATH "Prefix of the HDF5 to build for")

set(_need "redset needs a shared HDF5 1.14 or newer, the first to load file drivers as plugins")
set(_hint "Choose another with -DHDF5_ROOT=PREFIX or -DREDSET_HDF5_PKGCONFIG=NAME, or let cmake/setup.sh get one.")

# Its headers, then what they say of it, then the library.
if(NOT REDSET_HDF5_PKGCONFIG AND HDF5_ROOT)
    set(_includes "${HDF5_ROOT}/include")
    set(_libdirs "${HDF5_ROOT}/lib" "${HDF5_ROOT}/lib64" "${HDF5_ROOT}/${CMAKE_INSTALL_LIBDIR}")
    set(REDSET_HDF5_PREFIX "${HDF5_ROOT}")
else()
    if(REDSET_HDF5_PKGCONFIG)
        pkg_check_modules(REDSET_PC_HDF5 REQUIRED ${REDSET_HDF5_PKGCONFIG})
    else()
        pkg_search_module(REDSET_PC_HDF5 hdf5-serial hdf5)
        if(NOT REDSET_PC_HDF5_FOUND)
            message(FATAL_ERROR "No HDF5 found. ${_need}. ${_hint}")
        endif()
        set(REDSET_HDF5_PKGCONFIG ${REDSET_PC_HDF5_MODULE_NAME})
    endif()
    pkg_get_variable(_includes ${REDSET_HDF5_PKGCONFIG} includedir)
    list(PREPEND _includes ${REDSET_PC_HDF5_INCLUDE_DIRS})
    set(_libdirs ${REDSET_PC_HDF5_LIBRARY_DIRS} ${REDSET_PC_HDF5_LIBDIR})
    pkg_get_variable(REDSET_HDF5_PREFIX ${REDSET_HDF5_PKGCONFIG} prefix)
    if(NOT REDSET_HDF5_PREFIX) # Debian's name none
        set(REDSET_HDF5_PREFIX /usr)
    endif()
endif()

find_path(REDSET_HDF5_INCLUDE H5public.h PATHS ${_includes} NO_DEFAULT_PATH)
if(NOT REDSET_HDF5_INCLUDE)
    message(FATAL_ERROR "No H5public.h in ${_includes}: no HDF5 to build with. ${_need}. ${_hint}")
endif()
file(STRINGS "${REDSET_HDF5_INCLUDE}/H5public.h" _lines REGEX "^#define H5_VERS_(MAJOR|MINOR|RELEASE)[ \t]+[0-9]+")
string(REGEX REPLACE ".*H5_VERS_MAJOR[ \t]+([0-9]+).*H5_VERS_MINOR[ \t]+([0-9]+).*H5_VERS_RELEASE[ \t]+([0-9]+).*"
    "\\1.\\2.\\3" REDSET_HDF5_VERSION "${_lines}")
if(REDSET_HDF5_VERSION VERSION_LESS 1.14)
    message(FATAL_ERROR "${REDSET_HDF5_INCLUDE} is of HDF5 ${REDSET_HDF5_VERSION}. ${_need}. ${_hint}")
endif()

find_file(REDSET_H5PUBCONF NAMES H5pubconf-64.h H5pubconf.h PATHS "${REDSET_HDF5_INCLUDE}" NO_DEFAULT_PATH REQUIRED)
file(STRINGS "${REDSET_H5PUBCONF}" _lines REGEX "^#[ \t]*define H5_(HAVE_PARALLEL|DEFAULT_PLUGINDIR)")
set(REDSET_HDF5_PARALLEL OFF)
if(_lines MATCHES "H5_HAVE_PARALLEL[ \t]+1")
    set(REDSET_HDF5_PARALLEL ON)
endif()
set(REDSET_HDF5_PLUGINDIR "")
if(_lines MATCHES "H5_DEFAULT_PLUGINDIR[ \t]+\"([^\"]*)\"")
    set(REDSET_HDF5_PLUGINDIR "${CMAKE_MATCH_1}")
endif()

# What it is called among others: as its pkg-config name ends, where that tells.
set(_flavour serial)
if(REDSET_HDF5_PKGCONFIG MATCHES "^hdf5-(.+)$")
    set(_flavour "${CMAKE_MATCH_1}")
elseif(REDSET_HDF5_PARALLEL)
    set(_flavour parallel)
endif()
set(REDSET_FLAVOUR "${_flavour}" CACHE STRING "Name of the HDF5 flavour, for tests and installed files")

# The library as pkg-config calls it: Debian's HDF5 2.x has its flavour in the name.
set(_names "")
foreach(_lib IN LISTS REDSET_PC_HDF5_LIBRARIES)
    if(_lib MATCHES "^hdf5")
        list(APPEND _names "lib${_lib}.so")
    endif()
endforeach()
find_library(REDSET_HDF5_LIBRARY NAMES ${_names} libhdf5.so hdf5 PATHS ${_libdirs} NO_DEFAULT_PATH)
if(NOT REDSET_HDF5_LIBRARY MATCHES "\\.so")
    message(FATAL_ERROR "No libhdf5.so in ${_libdirs}; a static library cannot load plugins. ${_need}. ${_hint}")
endif()

# An HDF5 of one MPI and a compiler of another build well, and what they build crashes. What tells them apart is the
# library that each of them needs at run time: libmpi.so.40, libmpich.so.12.
function(rset_mpi_needed out tag) # FILE...: the MPI libraries under that tag (NEEDED, SONAME)
    set(_found "")
    foreach(_file IN LISTS ARGN)
        execute_process(COMMAND "${CMAKE_READELF}" -d "${_file}" OUTPUT_VARIABLE _dynamic ERROR_QUIET)
        string(REGEX MATCHALL "\\(${tag}\\)[^\n]*\\[lib(p?mpi|mpich)[^]]*\\]" _lines "${_dynamic}")
        foreach(_line IN LISTS _lines)
            string(REGEX REPLACE ".*\\[(.*)\\]" "\\1" _name "${_line}")
            list(APPEND _found "${_name}")
        endforeach()
    endforeach()
    list(FILTER _found INCLUDE REGEX "^lib(p?mpi|mpich)[.]so") # not libmpi_cxx, libmpi_mpifh
    list(REMOVE_DUPLICATES _found)
    set(${out} "${_found}" PARENT_SCOPE)
endfunction()
if(REDSET_HDF5_PARALLEL AND CMAKE_READELF)
    rset_mpi_needed(_hdf5_mpi NEEDED "${REDSET_HDF5_LIBRARY}")
    rset_mpi_needed(_our_mpi SONAME ${MPI_C_LIBRARIES})
    set(_same OFF)
    foreach(_lib IN LISTS _hdf5_mpi)
        if(_lib IN_LIST _our_mpi)
            set(_same ON)
        endif()
    endforeach()
    if(_hdf5_mpi AND _our_mpi AND NOT _same) # a static MPI, or a compiler that hides it, tells nothing
        message(FATAL_ERROR "HDF5 and the MPI compiler belong to different MPIs, and programs would crash: "
            "${REDSET_HDF5_LIBRARY} needs ${_hdf5_mpi}, ${MPI_C_COMPILER} links ${_our_mpi}. Either choose the compiler "
            "of that HDF5's MPI with -DMPI_C_COMPILER=NAME (on Debian mpicc.mpich or mpicc.openmpi), or the HDF5 of this "
            "MPI with -DREDSET_HDF5_PKGCONFIG=NAME (on Debian hdf5-mpich or hdf5-openmpi) or -DHDF5_ROOT=PREFIX. "
            "Use a new build directory.")
    endif()
endif()

add_library(rset_hdf5 INTERFACE)
target_include_directories(rset_hdf5 SYSTEM INTERFACE "${REDSET_HDF5_INCLUDE}")
target_link_libraries(rset_hdf5 INTERFACE "${REDSET_HDF5_LIBRARY}")
if(REDSET_HDF5_PARALLEL) # its hdf5.h includes mpi.h
    target_link_libraries(rset_hdf5 INTERFACE rset_mpi_headers)
endif()

# One call that only an HDF5 able to load drivers by name has. (H5PL is always part of libhdf5.)
include(CheckSymbolExists)
set(CMAKE_REQUIRED_INCLUDES "${REDSET_HDF5_INCLUDE}" ${MPI_C_INCLUDE_DIRS})
set(CMAKE_REQUIRED_LIBRARIES "${REDSET_HDF5_LIBRARY}")
if(REDSET_HDF5_PARALLEL)
    list(APPEND CMAKE_REQUIRED_LIBRARIES ${MPI_C_LIBRARIES})
endif()
check_symbol_exists(H5Pset_driver_by_name hdf5.h REDSET_HDF5_LOADS_DRIVERS)
unset(CMAKE_REQUIRED_INCLUDES)
unset(CMAKE_REQUIRED_LIBRARIES)
if(NOT REDSET_HDF5_LOADS_DRIVERS)
    message(FATAL_ERROR "A program using H5Pset_driver_by_name cannot be built with ${REDSET_HDF5_LIBRARY} "
        "(HDF5 ${REDSET_HDF5_VERSION}): it was built without plugin support, or its headers belong to "
        "another version. ${_need}. ${_hint}")
endif()

# Tools of another flavour would load two HDF5 libraries with our plugin: use only matching ones.
find_program(REDSET_H5DUMP h5dump HINTS "${REDSET_HDF5_PREFIX}/bin")
set(REDSET_HDF5_TOOLDIR "")
if(REDSET_H5DUMP)
    execute_process(COMMAND ldd "${REDSET_H5DUMP}" OUTPUT_VARIABLE _ldd ERROR_QUIET)
    file(REAL_PATH "${REDSET_HDF5_LIBRARY}" _ours)
    string(REGEX MATCHALL "=> [^ \n]*libhdf5[^ \n]*" _libs "${_ldd}")
    foreach(_lib IN LISTS _libs)
        string(REPLACE "=> " "" _lib "${_lib}")
        file(REAL_PATH "${_lib}" _lib)
        if(_lib STREQUAL _ours)
            cmake_path(GET REDSET_H5DUMP PARENT_PATH REDSET_HDF5_TOOLDIR)
        endif()
    endforeach()
endif()

message(STATUS "HDF5 ${REDSET_HDF5_VERSION}: ${REDSET_HDF5_LIBRARY}, parallel ${REDSET_HDF5_PARALLEL}, "
    "plugins in ${REDSET_HDF5_PLUGINDIR}, tools in ${REDSET_HDF5_TOOLDIR}")
