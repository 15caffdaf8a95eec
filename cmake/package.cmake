# What `cpack` makes of a build tree: a Debian package. cmake/deb.sh makes the trees it takes, one for each
# flavour of HDF5, and calls it. All flavours are in one package, so that HDF5_DRIVER=redset works whatever
# HDF5 a program has. Its Depends are what dpkg-shlibdeps finds, the libraries of every flavour among them,
# also that of Open MPI for who needs the serial one alone: it is a driver for MPI programs, the tools are
# linked with Open MPI anyhow, and what that adds is one library. Processes get nothing of it: each
# flavour's plugin is linked with its own HDF5, and no plugin with MPI.

set(REDSET_PACKAGE_FLAVOURS "" CACHE STRING "Build trees of other flavours that go into the package as well")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME hdf5-vfd-redset)
set(CPACK_PACKAGE_CONTACT "the redset authors <redset@redset.invalid>") # or as Debian's own tools are told
if(DEFINED ENV{DEBEMAIL})
    set(CPACK_PACKAGE_CONTACT "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
endif()
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "When the ranks of an MPI program close the HDF5 files that each of them keeps
on node-local storage, this HDF5 file driver spreads redundancy over the other
nodes; when the files are opened again, what is lost or damaged comes back. The
program needs no change: HDF5_DRIVER=redset in its environment.
.
The plugins for the serial and the Open MPI flavour of HDF5, tools, and what
programs need that are linked with the driver; modules for Fortran and Python.")
set(CPACK_DEBIAN_PACKAGE_DEPENDS python3:any) # h5redset-bench-report; what libraries need is added
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS openmpi-bin)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "hdf5-tools, gnuplot-nox | gnuplot, libhdf5-dev | libhdf5-openmpi-dev, pkgconf, gfortran, python3-h5py")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA "${PROJECT_SOURCE_DIR}/cmake/prerm")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_INSTALL_CMAKE_PROJECTS "${PROJECT_BINARY_DIR};${PROJECT_NAME};ALL;/")
foreach(_tree IN LISTS REDSET_PACKAGE_FLAVOURS)
    list(APPEND CPACK_INSTALL_CMAKE_PROJECTS "${_tree};${PROJECT_NAME};flavour;/")
endforeach()
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE
    GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE) # whatever the umask
set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/cmake/package_debian.cmake")
set(CPACK_VERBATIM_VARIABLES ON)
include(CPack)
