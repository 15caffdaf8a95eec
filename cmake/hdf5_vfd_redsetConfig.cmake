# find_package(hdf5_vfd_redset [COMPONENTS FLAVOUR]): the target hdf5_vfd_redset::hdf5_vfd_redset, for
# programs that call H5Pset_fapl_redset. It brings the HDF5 that it was built for; link MPI beside it. FLAVOUR - serial,
# openmpi, ... - is that of your HDF5 and may be left out where one is installed: two HDF5 in a process crash.
# hdf5_vfd_redset_HDF5_VERSION, _HDF5_LIBRARY and _HDF5_INCLUDE tell which one that is, _PLUGIN_DIR where the plugin is.

file(GLOB _installed RELATIVE "${CMAKE_CURRENT_LIST_DIR}" "${CMAKE_CURRENT_LIST_DIR}/*/hdf5_vfd_redsetFlavour.cmake")
list(TRANSFORM _installed REPLACE "/.*" "")
set(_wanted ${hdf5_vfd_redset_FIND_COMPONENTS})
if(NOT _wanted)
    set(_wanted ${_installed})
endif()
if(NOT _wanted IN_LIST _installed) # nor is a list of two
    set(hdf5_vfd_redset_FOUND FALSE)
    string(REPLACE ";" ", " _installed "${_installed}")
    set(hdf5_vfd_redset_NOT_FOUND_MESSAGE
        "say which HDF5 this program uses, find_package(hdf5_vfd_redset COMPONENTS FLAVOUR); there is: ${_installed}")
    return()
endif()
include("${CMAKE_CURRENT_LIST_DIR}/${_wanted}/hdf5_vfd_redsetTargets.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/${_wanted}/hdf5_vfd_redsetFlavour.cmake")
target_include_directories(hdf5_vfd_redset::hdf5_vfd_redset INTERFACE "${hdf5_vfd_redset_HDF5_INCLUDE}")
target_link_libraries(hdf5_vfd_redset::hdf5_vfd_redset INTERFACE "${hdf5_vfd_redset_HDF5_LIBRARY}")
get_target_property(hdf5_vfd_redset_PLUGIN_DIR hdf5_vfd_redset::hdf5_vfd_redset LOCATION)
cmake_path(GET hdf5_vfd_redset_PLUGIN_DIR PARENT_PATH hdf5_vfd_redset_PLUGIN_DIR)
