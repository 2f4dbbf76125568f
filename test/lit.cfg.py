# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How lit runs the tests under test/; paths come from lit.site.cfg.py."""

import os
import sys

import lit.formats

config.name = "Shunt"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["consumer", "data", "oracle", "unit"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = config.shunt_test_exec_root
config.environment["PATH"] = os.pathsep.join(
    [config.shunt_tools_dir, config.llvm_tools_dir, config.environment["PATH"]]
)
config.substitutions.append(("%shunt_libs", config.shunt_libs_dir))
config.substitutions.append(("%python", sys.executable))
if config.nvcc:
    config.available_features.add("nvcc")
    config.substitutions.append(("%nvcc", config.nvcc))
