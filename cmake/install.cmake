# The plugin goes where its HDF5 looks when both share a prefix, and to the same place below ours
# otherwise (then HDF5_PLUGIN_PATH must name it). One file, no symlinks: HDF5 dlopens every name.

set(_dir ${CMAKE_INSTALL_LIBDIR}/hdf5/plugin)
if(REDSET_HDF5_PLUGINDIR AND REDSET_HDF5_PREFIX)
    cmake_path(IS_PREFIX REDSET_HDF5_PREFIX "${REDSET_HDF5_PLUGINDIR}" NORMALIZE _below)
    if(_below)
        cmake_path(RELATIVE_PATH REDSET_HDF5_PLUGINDIR BASE_DIRECTORY "${REDSET_HDF5_PREFIX}" OUTPUT_VARIABLE _dir)
    endif()
endif()
set(REDSET_PLUGIN_DIR "${_dir}" CACHE STRING "Where the plugin is installed, below the prefix or absolute")
set(_package ${CMAKE_INSTALL_LIBDIR}/cmake/hdf5_vfd_redset)

install(TARGETS hdf5_vfd_redset EXPORT hdf5_vfd_redset LIBRARY DESTINATION ${REDSET_PLUGIN_DIR})
install(FILES include/H5FDredset.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT hdf5_vfd_redset NAMESPACE hdf5_vfd_redset:: FILE hdf5_vfd_redsetTargets.cmake
    DESTINATION ${_package})

include(CMakePackageConfigHelpers)
configure_package_config_file(cmake/hdf5_vfd_redsetConfig.cmake.in hdf5_vfd_redsetConfig.cmake
    INSTALL_DESTINATION ${_package} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(hdf5_vfd_redsetConfigVersion.cmake COMPATIBILITY SameMajorVersion)

# The .pc finds its prefix from where it lies, so that cmake --install --prefix works too.
set(_pcdir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
cmake_path(ABSOLUTE_PATH _pcdir BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}" OUTPUT_VARIABLE _full)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY "${_full}" OUTPUT_VARIABLE REDSET_PC_TO_PREFIX)
set(REDSET_PC_PLUGINDIR "${REDSET_PLUGIN_DIR}")
if(NOT IS_ABSOLUTE "${REDSET_PLUGIN_DIR}")
    set(REDSET_PC_PLUGINDIR "\${prefix}/${REDSET_PLUGIN_DIR}")
endif()
configure_file(cmake/hdf5_vfd_redset.pc.in hdf5_vfd_redset.pc @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/hdf5_vfd_redsetConfig.cmake"
    "${PROJECT_BINARY_DIR}/hdf5_vfd_redsetConfigVersion.cmake" DESTINATION ${_package})
install(FILES "${PROJECT_BINARY_DIR}/hdf5_vfd_redset.pc" DESTINATION ${_pcdir})
