# h5redset-bench: an MPI program with the engine inside, which it measures alone as well, linked with the
# plugin as a program is that uses H5FDredset.h. Included after install.cmake, which says where that goes.

file(GLOB bench_sources CONFIGURE_DEPENDS tools/bench/*.c)
add_executable(h5redset-bench ${bench_sources})
cmake_path(ABSOLUTE_PATH REDSET_PLUGIN_DIR BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}" OUTPUT_VARIABLE _plugins)
cmake_path(RELATIVE_PATH _plugins BASE_DIRECTORY "${CMAKE_INSTALL_FULL_BINDIR}" OUTPUT_VARIABLE _from_bin)
set_target_properties(h5redset-bench PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tools"
    INSTALL_RPATH "\$ORIGIN/${_from_bin}")
target_compile_options(h5redset-bench PRIVATE ${rset_warnings})
target_link_libraries(h5redset-bench PRIVATE rset_engine hdf5_vfd_redset rset_hdf5 PkgConfig::ISAL
    PkgConfig::JANSSON Threads::Threads MPI::MPI_C)
install(TARGETS h5redset-bench RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

# What makes tables and drawings of its JSON: Python, beside it here and where it is installed.
configure_file(tools/bench/h5redset-bench-report.py tools/h5redset-bench-report COPYONLY)
install(PROGRAMS tools/bench/h5redset-bench-report.py DESTINATION ${CMAKE_INSTALL_BINDIR}
    RENAME h5redset-bench-report)
