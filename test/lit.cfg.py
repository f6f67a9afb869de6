# Tests of single passes: IR in, FileCheck out. Run through the build's lit.site.cfg.py (`ctest -R lit`).
import os

import lit.formats

config.name = "headrace"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.test_source_root = os.path.dirname(__file__)
config.environment["PATH"] = os.pathsep.join(
    [config.hr_opt_dir, config.llvm_tools_dir, os.environ.get("PATH", "")]
)
