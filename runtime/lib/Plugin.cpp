//===- Plugin.cpp - see Plugin.h ------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Plugin.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <map>
#include <mutex>
#include <unistd.h>

namespace shunt::rt {

/// The directory of the library or program that holds this code; "" if unknown.
static std::string ownDirectory() {
  static const char here = 0;
  Dl_info info;
  if (!dladdr(&here, &info) || !info.dli_fname)
    return {};
  // A program's name may be what the user typed; a PATH look-up leaves no
  // slash.
  std::string path = info.dli_fname;
  if (path.find('/') == std::string::npos) {
    char buffer[4096];
    ssize_t length = readlink("/proc/self/exe", buffer, sizeof(buffer));
    path = length > 0 ? std::string(buffer, length) : std::string();
  }
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

static std::vector<std::string> searchDirectories() {
  std::vector<std::string> directories;
  if (const char *given = std::getenv("SHUNT_BACKEND_PATH")) {
    std::string text = given;
    for (size_t begin = 0; begin <= text.size();) {
      size_t end = std::min(text.find(':', begin), text.size());
      if (end > begin)
        directories.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  if (std::string own = ownDirectory(); !own.empty()) {
    directories.push_back(own);
    directories.push_back(own + "/../lib");
  }
  directories.push_back(SHUNT_INSTALL_LIBDIR);
  return directories;
}

static std::string lastProblem() {
  const char *text = dlerror();
  return text ? text : "unknown error";
}

static Error open(const std::string &name, const std::string &remedy,
                  Backend *&backend) {
  const std::string file = "libshunt_" + name + ".so";
  auto unavailable = [&](const std::string &why) {
    return Error(SHUNT_UNAVAILABLE, "backend '" + name +
                                        "' is not available: " + why + "; " +
                                        remedy);
  };
  void *handle = nullptr;
  std::string path, tried;
  for (const std::string &directory : searchDirectories()) {
    path = directory + "/" + file;
    tried += (tried.empty() ? "" : ", ") + directory;
    if (access(path.c_str(), F_OK) != 0)
      continue;
    // It is there, so what keeps it from loading is what to report.
    if (!(handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)))
      return unavailable(lastProblem());
    break;
  }
  if (!handle) {
    path = file;
    handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  if (!handle)
    return unavailable(file + " is in none of " + tried);
  auto plugin =
      static_cast<const BackendPlugin *>(dlsym(handle, "shunt_backend_plugin"));
  if (!plugin)
    return unavailable(path + " is no backend: " + lastProblem());
  if (!(plugin->abi == BackendAbi()))
    return unavailable(path + " belongs to another version of Shunt");
  backend = &plugin->backend();
  return {};
}

Error openPlugin(const std::string &name, const std::string &remedy,
                 Backend *&backend) {
  // Opened for good: threads of the library may outlive its last world.
  static std::mutex mutex;
  static std::map<std::string, Backend *> opened;
  std::lock_guard<std::mutex> lock(mutex);
  backend = nullptr;
  if (auto found = opened.find(name); found != opened.end()) {
    backend = found->second;
    return {};
  }
  if (Error error = open(name, remedy, backend))
    return error;
  opened.emplace(name, backend);
  return {};
}

} // namespace shunt::rt
