//===- Passes.td - Passes over the shunt dialect ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_TRANSFORMS_PASSES_TD
#define SHUNT_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def VerifyLayouts : Pass<"shunt-verify-layouts", "mlir::ModuleOp"> {
  let summary = "Check that compute ops agree with the layouts of their values";
  let description = [{
    Reads each linalg op like an einsum. A loop that is split and parallel
    splits the result; one that is split and summed makes it a partial sum; an
    op that reads a partial sum must be linear in it; an op reads one set of
    rows. Elementwise ops, constants and sizes have rules of the same kind; ops
    that are not known must be marked `shunt.token_wise`. Each op is judged by
    its own types, and all errors are reported.

    ```mlir
    // 'linalg.matmul' op computes partial sums over 'tp', but the type of its
    // result says that they are complete … [X_INCOMPLETE]
    %y = linalg.matmul
      ins(%x, %w : tensor<?x16xf32, #shunt.layout<@attn, tokens = [dp], inner = [[tp]]>>,
                   tensor<16x8xf32, #shunt.shard<@attn, [[tp], []]>>)
      outs(%o : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>>) -> …
    ```

    Runs at the logical and the collective level, at any time; changes nothing.
    `shunt-assign-layouts` and `shunt-plan` run it first.
  }];
}

def AssignLayouts : Pass<"shunt-assign-layouts", "mlir::ModuleOp"> {
  let summary = "Choose a layout for each value that has #shunt.auto";
  let description = [{
    Where the cluster says what its links are and the batch is a literal, mode
    `auto` takes the layouts of least modelled time, for the function as a
    whole: where partial sums are completed (for all that hold the rows, or in
    shares), where each token-wise op runs, what travels before and what after
    it. A row that is brought to a rank once is there for all that read it, and
    a token-wise op costs the memory traffic of the rank with most rows. So an
    all-reduce or a reduce-scatter and a gather, a norm on shares or on all
    rows, a cast before or after the wire are outcomes, not rules.

    Else rules decide. Where a block leaves partial sums, by a redistribute to
    `#shunt.auto`, rows are either completed in full or scattered over the axes
    that were partial: in mode `auto` in full if the next block reads the same
    rows on the same ranks. Complete rows stay. A token-wise op runs where the
    last block among its operands left its rows; other operands are
    redistributed to it. When a value and what token-wise ops make of it are
    both gathered to the same rows, the value is gathered once and the ops run
    on all rows.

    ```mlir
    %1 = shunt.redistribute %0 in %b : tensor<?x8xf32, #partial>, !b
      -> tensor<?x8xf32, #shunt.auto>
    %2 = arith.addf %1, %residual : tensor<?x8xf32, #shunt.auto>
    // becomes, where the next block works on other ranks
    %1 = shunt.redistribute %0 in %b : tensor<?x8xf32, #partial>, !b
      -> tensor<?x8xf32, #scattered>
    %r = shunt.redistribute %residual in %b : tensor<?x8xf32, #rows>, !b
      -> tensor<?x8xf32, #scattered>
    %2 = arith.addf %1, %r : tensor<?x8xf32, #scattered>
    ```

    Runs before `shunt-plan`. Decided layouts are left alone; arguments, results
    and loop-carried values must have one.
  }];
  let options = [
    Option<"mode", "mode", "std::string", /*default=*/"\"auto\"",
           "How rows travel between blocks: `scatter`, `reduce` (an error where "
           "the next block is on other ranks) or `auto`">,
  ];
  let dependentDialects = ["::shunt::ShuntDialect"];
}

def PlanCollectives : Pass<"shunt-plan", "mlir::ModuleOp"> {
  let summary = "Turn each redistribute into collectives";
  let description = [{
    Writes the legal chain of collectives by which each rank receives the fewest
    rows: partial sums are reduce-scattered, all-reduced or both; meshes change,
    by a relabel, at a layout that holds the same rows under both. Counts are
    written down where the batch is a literal. A remark says what was chosen and
    how many cells (rows of one rank when all is scattered) each rank receives.

    Where the cluster has several nodes or a preset and the batch is a literal,
    the chain of least modelled time is taken instead, of all that there are over
    the common digits of both meshes. One through strided layouts adds a mesh of
    these digits (`@attn_moe`). The remark then has the time, the algorithm that
    was priced for each collective, and how far the bytes of the busiest rank are
    above the lower bound.

    ```mlir
    %1 = shunt.redistribute %0 in %b : tensor<?x8xf32, #partial>, !b
      -> tensor<?x8xf32, #experts>
    // becomes
    %2 = shunt.reduce_scatter %0 in %b over [tp] counts [3, 2, 2, 1] : …
    %3 = shunt.relabel %2 in %b : …
    %1 = shunt.all_gather %3 in %b over [ep, tp] counts [3, 2, 2, 1] : …
    ```

    Runs after `shunt-assign-layouts`, since all layouts must be decided. A
    `shunt.route` without an algorithm gets the one of least time. Groups of one
    rank get no collective.
  }];
  let dependentDialects = ["::shunt::ShuntDialect"];
}

def RewriteTokenCounts : Pass<"shunt-rewrite-token-counts", "mlir::ModuleOp"> {
  let summary = "Replace hand-written count tables by derived ones";
  let description = [{
    Drops the `given` table of each collective, so that its counts follow from
    layout and batch. A table that is wrong, whose rows differ within a group, or
    that cannot be compared gets a remark with rank, wrong and right count. Where
    the batch is a literal the derived counts are written down.

    ```mlir
    %1 = shunt.all_gather %0 in %b over [tp] given(%t : tensor<4xi64>) : …
    // becomes, with "rank 0: hand-written count 5 replaced by 3 …"
    %1 = shunt.all_gather %0 in %b over [tp] counts [3, 2, 2, 1] : …
    ```

    Run it first, on IR that came with counts. Collectives without a `given`
    table are left alone. A table of the wrong length is an error.
  }];
  let dependentDialects = ["::shunt::ShuntDialect"];
}

def Localize : Pass<"shunt-localize", "mlir::ModuleOp"> {
  let summary = "Rewrite to what one rank executes, with explicit counts";
  let description = [{
    Encodings go: the token dimension becomes dynamic, split dimensions are
    divided, and each collective becomes its local form with a count table and
    the groups as rank lists. Tables of a literal batch are constants; a batch
    that is an argument becomes the tensor of its part counts. Where the rows of
    a group, one member after the other, are not the rows of the layout in its
    order, a shunt.local.permute is put after the gather or before the scatter.

    ```mlir
    %1 = shunt.all_gather %0 in %b over [tp]
      : tensor<?x64xf32, #shunt.layout<@moe, tokens = [tp]>>, !b
      -> tensor<?x64xf32, #shunt.layout<@moe, tokens = []>>
    // becomes
    %1 = shunt.local.all_gather ins(%0 : tensor<?x64xf32>)
      outs(%init : tensor<?x64xf32>) counts(%c : tensor<4xi64>)
      groups dense<[[0, 1, 2, 3]]> : tensor<1x4xi64> -> tensor<?x64xf32>
    ```

    For the proof of the result and for what runs it, it keeps notes: the
    layouts of arguments and results (`shunt.layout` on each), the literal
    batches of a function (`shunt.batch`: type, rows, valid), the groups over
    which the result of a compute op is still to be summed (`shunt.partial`),
    and the number of ranks (`shunt.world` on the module). Tensor arguments of
    public functions become `bufferization.writable = false`.

    Run shunt-verify-layouts before it: rows of different layouts are no longer
    told apart after it. Refuses undecided layouts, `shunt.redistribute`, a wrong
    `given` table, and ops whose meaning for one rank it does not know. Meshes
    and clusters stay.
  }];
  let dependentDialects = ["::shunt::ShuntDialect", "mlir::arith::ArithDialect",
                           "mlir::bufferization::BufferizationDialect",
                           "mlir::linalg::LinalgDialect",
                           "mlir::tensor::TensorDialect"];
}

def VerifyPlan : Pass<"shunt-verify-plan", "mlir::ModuleOp"> {
  let summary = "Prove a local program right by interpreting token ownership";
  let description = [{
    Runs each function that no other calls on *ownership* instead of numbers,
    for all ranks at once: which rows of which tokens each rank holds, which
    computation made them, and whether they are complete or summands over a
    group. Reports the first op that is wrong, with the rank, the row, the tokens
    and the op that made them; a program without a report is proved, and a
    remark says for how many ranks, tokens and collectives. What a proof needs
    is kept by `shunt-localize` or written by hand:

    - of the function, `shunt.batch`: its literal batch, or a `shunt.batch [...]`
      in it;
    - of arguments and results, `shunt.layout`: what rows they are. Results must
      be these; without it they must be complete;
    - of an op, or of the function it calls: `shunt.token_wise`, rows in, the
      same rows out; `shunt.attention = #shunt.layout<...>`, the same, and the
      rows must be exactly those; `shunt.partial = dense<[[0, 1], [2, 3]]>`: the
      rows made are summands over these groups. linalg and elementwise ops are
      understood without; other ops need complete rows, and make none;
    - of an argument that is no tensor, `shunt.uniform`: it is the same on all
      ranks, and may decide whether a collective is entered.

    Conditions and bounds that follow from `shunt.rank`, constants and numbers
    of rows are followed for each rank.

    ```mlir
    // 'shunt.local.all_gather' op is passed [5, 5, 3, 3] by ranks {0, 1, 2, 3},
    // which hold [3, 2, 2, 1] rows: rank 0 holds 3, not 5; … [X_AG_ROWS]
    %c = arith.constant dense<[5, 5, 3, 3]> : tensor<4xi64>
    %1 = shunt.local.all_gather ins(%0 : tensor<?x8xf32>)
      outs(%o : tensor<?x8xf32>) counts(%c : tensor<4xi64>)
      groups dense<[[0, 1, 2, 3]]> : tensor<1x4xi64> -> tensor<?x8xf32>
    ```

    Runs after `shunt-localize` and before bufferization; changes nothing. Not
    judged are the numbers of weights and scalars, and how inner dimensions are
    split: `shunt-verify-layouts` does that.
  }];
}

def ReportCounts : Pass<"shunt-report-counts", "mlir::ModuleOp"> {
  let summary = "Say at each collective how many rows each rank passes";
  let description = [{
    Emits a remark at each all_gather, reduce_scatter, all_reduce and slice:

    ```mlir
    // remark: ranks pass [3, 2, 2, 1] rows
    %1 = shunt.all_gather %0 in %b over [tp] : …
    ```

    Changes nothing. Runs on the collective level; local programs have their
    counts written out.
  }];
}

#endif // SHUNT_TRANSFORMS_PASSES_TD
