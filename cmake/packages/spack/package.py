# Spack's recipe: a repository of your own needs it as packages/podprof/package.py. Not built by podprof's own tests.
from spack.package import CMakePackage, depends_on, license, variant, version


class Podprof(CMakePackage):
    """Profiler for whole training jobs: records every rank over the same steps, and names the bottleneck in one sentence."""

    license("Apache-2.0")

    # From a source tree: spack dev-build podprof@0.2.0
    version("0.2.0")

    variant("mpi", default=True, description="Record MPI calls")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("protobuf-c")
    depends_on("hdf5+hl~mpi")
    depends_on("zlib-api")
    depends_on("libzmq")
    depends_on("libsodium")
    depends_on("yajl")
    depends_on("libarchive", type="run")
    depends_on("mpi", when="+mpi")

    def cmake_args(self):
        return [
            self.define("BUILD_TESTING", False),
            self.define("PODPROF_STATIC", False),
            self.define_from_variant("PODPROF_MPI", "mpi"),
        ]
