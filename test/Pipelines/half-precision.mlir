// RUN: shunt-opt %s --shunt-llvm-pipeline | FileCheck %s

// 16-bit floats are computed in f32; conversions call no library.
// CHECK-NOT: llvm.func @__
// CHECK-LABEL: llvm.func @brain_float
// CHECK: llvm.intr.exp(%{{.*}}) : (f32) -> f32
// CHECK: llvm.fadd %{{.*}}, %{{.*}} : f32
// CHECK-NOT: llvm.fptrunc {{.*}} to bf16
// CHECK: llvm.return
func.func @brain_float(%x: tensor<?x8xbf16>) -> tensor<?x8xbf16> {
  %e = math.exp %x : tensor<?x8xbf16>
  %y = arith.addf %e, %x : tensor<?x8xbf16>
  return %y : tensor<?x8xbf16>
}

// CHECK-LABEL: llvm.func @half
// CHECK: llvm.intr.sqrt(%{{.*}}) : (f32) -> f32
// CHECK: llvm.fmul %{{.*}}, %{{.*}} : f32
// CHECK: llvm.return
func.func @half(%x: tensor<?x8xf16>) -> tensor<?x8xf16> {
  %e = math.rsqrt %x : tensor<?x8xf16>
  %y = arith.mulf %e, %x : tensor<?x8xf16>
  return %y : tensor<?x8xf16>
}
