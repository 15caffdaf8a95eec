# The plugin goes where its HDF5 looks when both share a prefix, and to the same place below ours
# otherwise (then HDF5_PLUGIN_PATH must name it). One file, no symlinks: HDF5 dlopens every name.
#
# What belongs to one flavour of HDF5 is the component "flavour", and has the flavour in its path. So
# plugins of several flavours can share a prefix: cmake --install build/OTHER --component flavour.

set(_dir ${CMAKE_INSTALL_LIBDIR}/hdf5/plugin)
if(REDSET_HDF5_PLUGINDIR AND REDSET_HDF5_PREFIX)
    cmake_path(IS_PREFIX REDSET_HDF5_PREFIX "${REDSET_HDF5_PLUGINDIR}" NORMALIZE _below)
    if(_below)
        cmake_path(RELATIVE_PATH REDSET_HDF5_PLUGINDIR BASE_DIRECTORY "${REDSET_HDF5_PREFIX}" OUTPUT_VARIABLE _dir)
    endif()
endif()
set(REDSET_PLUGIN_DIR "${_dir}" CACHE STRING "Where the plugin is installed, below the prefix or absolute")

install(TARGETS hdf5_vfd_redset EXPORT hdf5_vfd_redset
    LIBRARY DESTINATION ${REDSET_PLUGIN_DIR} COMPONENT flavour)
install(FILES include/H5FDredset.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
# As sources: what a Fortran compiler makes of a module is for that compiler alone.
install(FILES bindings/fortran/h5fd_redset.f90 DESTINATION ${CMAKE_INSTALL_DATADIR}/redset/fortran)
install(FILES bindings/python/h5redset.py DESTINATION ${CMAKE_INSTALL_DATADIR}/redset/python)

# Who installs is told what to set, if anything: HDF5 does not say where it did not look.
install(CODE "
    set(plugins \"${REDSET_PLUGIN_DIR}\")
    cmake_path(ABSOLUTE_PATH plugins BASE_DIRECTORY \"\${CMAKE_INSTALL_PREFIX}\" NORMALIZE)
    if(NOT plugins STREQUAL \"${REDSET_HDF5_PLUGINDIR}\")
        message(STATUS \"${REDSET_HDF5_LIBRARY} does not look there by itself: HDF5_PLUGIN_PATH=\${plugins}\")
    endif()" COMPONENT flavour)

# ---- for programs that are linked with it: CMake, pkg-config ----

include(CMakePackageConfigHelpers)
set(_package ${CMAKE_INSTALL_LIBDIR}/cmake/hdf5_vfd_redset)
install(EXPORT hdf5_vfd_redset NAMESPACE hdf5_vfd_redset:: FILE hdf5_vfd_redsetTargets.cmake
    DESTINATION ${_package}/${REDSET_FLAVOUR} COMPONENT flavour)
configure_file(cmake/hdf5_vfd_redsetFlavour.cmake.in hdf5_vfd_redsetFlavour.cmake @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/hdf5_vfd_redsetFlavour.cmake"
    DESTINATION ${_package}/${REDSET_FLAVOUR} COMPONENT flavour)
write_basic_package_version_file(hdf5_vfd_redsetConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES cmake/hdf5_vfd_redsetConfig.cmake "${PROJECT_BINARY_DIR}/hdf5_vfd_redsetConfigVersion.cmake"
    DESTINATION ${_package})

# Named as that of its HDF5: hdf5-openmpi, hdf5_vfd_redset-openmpi; and finds its prefix from where it lies,
# so that cmake --install --prefix works too.
set(_suffix "")
if(REDSET_HDF5_PKGCONFIG MATCHES "^hdf5(-.+)$")
    set(_suffix "${CMAKE_MATCH_1}")
endif()
set(_pcdir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
cmake_path(ABSOLUTE_PATH _pcdir BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}" OUTPUT_VARIABLE _full)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY "${_full}" OUTPUT_VARIABLE REDSET_PC_TO_PREFIX)
set(REDSET_PC_PLUGINDIR "${REDSET_PLUGIN_DIR}")
if(NOT IS_ABSOLUTE "${REDSET_PLUGIN_DIR}")
    set(REDSET_PC_PLUGINDIR "\${prefix}/${REDSET_PLUGIN_DIR}")
endif()
set(REDSET_PC_HDF5_CFLAGS "")
set(REDSET_PC_HDF5_LIBS "")
if(NOT REDSET_HDF5_PKGCONFIG) # no module to require
    cmake_path(GET REDSET_HDF5_LIBRARY PARENT_PATH _hdf5_lib)
    set(REDSET_PC_HDF5_CFLAGS " -I${REDSET_HDF5_INCLUDE}")
    set(REDSET_PC_HDF5_LIBS " -L${_hdf5_lib} -Wl,-rpath,${_hdf5_lib} -lhdf5")
endif()
configure_file(cmake/hdf5_vfd_redset.pc.in hdf5_vfd_redset${_suffix}.pc @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/hdf5_vfd_redset${_suffix}.pc" DESTINATION ${_pcdir} COMPONENT flavour)
if(_suffix) # that of the flavour that is installed as a whole has the plain name, too, as Debian's hdf5.pc has
    install(FILES "${PROJECT_BINARY_DIR}/hdf5_vfd_redset${_suffix}.pc" DESTINATION ${_pcdir} RENAME hdf5_vfd_redset.pc)
endif()

# ---- for people ----

file(GLOB _pages CONFIGURE_DEPENDS docs/man/*.[1-8])
foreach(_page IN LISTS _pages)
    cmake_path(GET _page EXTENSION LAST_ONLY _section)
    string(REPLACE "." "man" _section "${_section}")
    install(FILES ${_page} DESTINATION ${CMAKE_INSTALL_MANDIR}/${_section})
endforeach()
file(GLOB _completions CONFIGURE_DEPENDS tools/*/*.bash)
foreach(_completion IN LISTS _completions)
    cmake_path(GET _completion STEM _program)
    install(FILES ${_completion} DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
        RENAME ${_program})
endforeach()
# All documents that README.md leads to: a link of an installed document leads to an installed file.
install(FILES README.md CONTRIBUTING.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN docs/man EXCLUDE)
install(FILES examples/README.md examples/heat.c examples/plain_files.c examples/timeseries.c DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
install(DIRECTORY examples/clients examples/slurm DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
