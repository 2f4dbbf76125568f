//===- JitSupport.h - Compiles and runs programs in tests ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_TEST_UNIT_EXECUTION_JITSUPPORT_H
#define SHUNT_TEST_UNIT_EXECUTION_JITSUPPORT_H

#include "Shunt/Execution/Jit.h"
#include "Shunt/Pipelines/Pipelines.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include "gtest/gtest.h"

#include <cstring>
#include <functional>
#include <numeric>

namespace shunt::test {

inline Buffer floats(std::vector<int64_t> shape,
                     const std::vector<float> &values) {
  Buffer buffer;
  buffer.shape = std::move(shape);
  buffer.data.resize(values.size() * sizeof(float));
  if (!values.empty())
    std::memcpy(buffer.data.data(), values.data(), buffer.data.size());
  return buffer;
}

inline std::vector<float> values(const Buffer &buffer) {
  std::vector<float> result(buffer.data.size() / sizeof(float));
  if (!result.empty())
    std::memcpy(result.data(), buffer.data.data(), buffer.data.size());
  return result;
}

inline Buffer integers(const std::vector<int64_t> &values) {
  Buffer buffer;
  buffer.shape = {static_cast<int64_t>(values.size())};
  buffer.type = ElementType::I64;
  buffer.data.resize(values.size() * sizeof(int64_t));
  std::memcpy(buffer.data.data(), values.data(), buffer.data.size());
  return buffer;
}

/// A scalar argument.
inline Buffer integer(int64_t value) {
  Buffer buffer = integers({value});
  buffer.shape.clear();
  return buffer;
}

/// `first`, `first + 1`, … as one column.
inline Buffer column(float first, int64_t rows) {
  std::vector<float> numbers(rows);
  std::iota(numbers.begin(), numbers.end(), first);
  return floats({rows, 1}, numbers);
}

class JitTest : public ::testing::Test {
protected:
  JitTest() {
    mlir::DialectRegistry registry;
    registerPipelineDialects(registry);
    context = std::make_unique<mlir::MLIRContext>(
        registry, mlir::MLIRContext::Threading::DISABLED);
  }

  std::unique_ptr<Jit> compile(const std::string &text) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
    if (!module) {
      ADD_FAILURE() << "the program does not parse";
      return nullptr;
    }
    mlir::PassManager passes(context.get());
    buildLLVMPipeline(passes, PipelineOptions());
    if (mlir::failed(passes.run(*module))) {
      ADD_FAILURE() << "the pipeline failed";
      return nullptr;
    }
    auto jit = Jit::compile(*module);
    if (!jit) {
      ADD_FAILURE() << llvm::toString(jit.takeError());
      return nullptr;
    }
    return std::move(*jit);
  }

  using Inputs = std::function<std::vector<Buffer>(int64_t rank)>;
  struct Run {
    std::vector<std::vector<Buffer>> outputs;
    std::vector<std::string> errors;
  };

  /// Runs the program on `size` ranks.
  Run run(const Jit &jit, int64_t size, Inputs inputs) {
    struct Shared {
      const Jit &jit;
      Inputs inputs;
      Run result;
    } shared{jit, std::move(inputs), {}};
    shared.result.outputs.resize(size);
    shared.result.errors.resize(size);
    shunt_world *world = nullptr;
    char message[256];
    EXPECT_EQ(shunt_world_create("host", size, nullptr, &world, message,
                                 sizeof message),
              SHUNT_OK)
        << message;
    shunt_world_run(
        world,
        [](shunt_comm *comm, void *user) -> int32_t {
          Shared &shared = *static_cast<Shared *>(user);
          int64_t rank = shunt_comm_rank(comm);
          llvm::Error error = shared.jit.invoke(comm, shared.inputs(rank),
                                                shared.result.outputs[rank]);
          if (error)
            shared.result.errors[rank] = llvm::toString(std::move(error));
          return SHUNT_OK;
        },
        &shared);
    shunt_world_destroy(world);
    return std::move(shared.result);
  }

  std::unique_ptr<mlir::MLIRContext> context;
};

} // namespace shunt::test

#endif // SHUNT_TEST_UNIT_EXECUTION_JITSUPPORT_H
