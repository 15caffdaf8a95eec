# A recipe for Spack. Untested: written after Spack's documentation (1.0), never run. Put it into a package
# repository of your own as packages/hdf5_vfd_redset/package.py; then, in this source tree:
#
#     spack env create --dir . && spack env activate .
#     spack develop --path . hdf5-vfd-redset@main
#     spack add hdf5-vfd-redset@main && spack install

from spack_repo.builtin.build_systems.cmake import CMakePackage
from spack.package import *


class Hdf5VfdRedset(CMakePackage):
    """HDF5 file driver that protects per-rank files on node-local storage across nodes, and brings
    back what is lost or damaged when they are opened again."""

    version("main")  # no source to fetch: `spack develop` says where it lies

    license("BSD-3-Clause")

    depends_on("c", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("mpi")
    depends_on("hdf5@1.14:+shared")  # with MPI or without; programs must use this very one
    depends_on("isa-l")
    depends_on("jansson")
    depends_on("python@3.9:", type="run")  # h5redset-bench-report

    def cmake_args(self):
        return [
            self.define("HDF5_ROOT", self.spec["hdf5"].prefix),
            self.define("REDSET_PLUGIN_DIR", "lib/hdf5/plugin"),
            self.define("REDSET_BUILD_TESTS", False),
            self.define("REDSET_BUILD_EXAMPLES", False),
        ]

    def setup_run_environment(self, env):
        # HDF5 does not look into another package's prefix
        env.prepend_path("HDF5_PLUGIN_PATH", self.prefix.lib.hdf5.plugin)
        env.prepend_path("PYTHONPATH", self.prefix.share.redset.python)
