//===- Fiber.cpp - see Fiber.h --------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fiber.h"

#include <cstdint>
#include <ucontext.h>

// Sanitizers must know of every change of stack.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SHUNT_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#if __has_feature(thread_sanitizer)
#define SHUNT_TSAN
#include <sanitizer/tsan_interface.h>
#endif
#endif

namespace shunt::rt::cuda::simt {

static constexpr size_t stackBytes = size_t(64) << 10;

#if defined(__x86_64__)

// swapcontext asks the kernel for the signal mask each time, which takes longer
// than most that a thread of a kernel does between two barriers.
struct Stack {
  void *top = nullptr;
};
extern "C" void shuntSwitchStack(Stack *from, const Stack *to);
asm(R"(
.text
.type shuntSwitchStack, @function
shuntSwitchStack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq (%rsi), %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size shuntSwitchStack, .-shuntSwitchStack
)");

static void prepare(Stack &stack, char *memory, void (*entry)()) {
  auto top = reinterpret_cast<uintptr_t>(memory + stackBytes) & ~uintptr_t(15);
  // As after a call: the entry finds its return address off by 8.
  auto words = reinterpret_cast<uintptr_t *>(top) - 8;
  for (int i = 0; i < 8; ++i)
    words[i] = 0;
  words[6] = reinterpret_cast<uintptr_t>(entry);
  stack.top = words;
}
static void switchStack(Stack &from, Stack &to) {
  shuntSwitchStack(&from, &to);
}

#else

using Stack = ucontext_t;
static void prepare(Stack &stack, char *memory, void (*entry)()) {
  getcontext(&stack);
  stack.uc_stack.ss_sp = memory;
  stack.uc_stack.ss_size = stackBytes;
  stack.uc_link = nullptr;
  makecontext(&stack, entry, 0);
}
static void switchStack(Stack &from, Stack &to) { swapcontext(&from, &to); }

#endif

struct Fiber::Context {
  std::unique_ptr<char[]> memory{new char[stackBytes]};
  Stack inside, outside;
  const std::function<void()> *function = nullptr;
  bool started = false, ended = true;
#ifdef SHUNT_ASAN
  void *fakeInside = nullptr, *fakeOutside = nullptr;
  const void *outsideBottom = nullptr;
  size_t outsideBytes = 0;
#endif
#ifdef SHUNT_TSAN
  void *threadInside = __tsan_create_fiber(0), *threadOutside = nullptr;
  ~Context() { __tsan_destroy_fiber(threadInside); }
#endif

  void enter() {
#ifdef SHUNT_ASAN
    __sanitizer_start_switch_fiber(&fakeOutside, memory.get(), stackBytes);
#endif
#ifdef SHUNT_TSAN
    threadOutside = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(threadInside, 0);
#endif
    switchStack(outside, inside);
#ifdef SHUNT_ASAN
    __sanitizer_finish_switch_fiber(fakeOutside, nullptr, nullptr);
#endif
  }

  void leave() {
#ifdef SHUNT_ASAN
    __sanitizer_start_switch_fiber(&fakeInside, outsideBottom, outsideBytes);
#endif
#ifdef SHUNT_TSAN
    __tsan_switch_to_fiber(threadOutside, 0);
#endif
    switchStack(inside, outside);
    entered(fakeStack());
  }

  void *fakeStack() {
#ifdef SHUNT_ASAN
    return fakeInside;
#else
    return nullptr;
#endif
  }
  void entered(void *fake) {
#ifdef SHUNT_ASAN
    __sanitizer_finish_switch_fiber(fake, &outsideBottom, &outsideBytes);
#endif
  }

  static thread_local Context *current;
  static void entry() {
    Context *self = current;
    self->entered(nullptr);
    // Stays for the next function: a new start takes longer than most of them.
    for (;;) {
      (*self->function)();
      self->ended = true;
      self->leave();
    }
  }
};

thread_local Fiber::Context *Fiber::Context::current = nullptr;

Fiber::Fiber() : context(std::make_unique<Context>()) {}
Fiber::~Fiber() = default;

void Fiber::start(const std::function<void()> &function) {
  context->function = &function;
  if (!context->started || !context->ended)
    prepare(context->inside, context->memory.get(), Context::entry);
  context->started = true;
  context->ended = false;
}

bool Fiber::resume() {
  Context::current = context.get();
  context->enter();
  Context::current = nullptr;
  return !context->ended;
}

void Fiber::wait() { Context::current->leave(); }

} // namespace shunt::rt::cuda::simt
