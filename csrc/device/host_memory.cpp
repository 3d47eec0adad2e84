#include "host_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

namespace neuron::device {
namespace {

// Where a memory cgroup hierarchy is mounted, and which files and keys it uses.
struct Hierarchy {
  std::string mount;  // directory
  std::string group;  // the process's group within `mount`: "" or "/a/b"
  const char* limit_file;
  const char* usage_file;
  const char* reclaimable_key;  // in memory.stat; summed over the group's children in both versions
};

std::optional<size_t> parse(std::string_view text) {
  size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return number;
}

// The number a file consists of; nothing when it cannot be read, or says "max".
std::optional<size_t> read_number(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  if (!(file >> word)) return std::nullopt;
  return parse(word);
}

// The number behind `key` in a file of lines "key number ...".
std::optional<size_t> read_key(const std::string& path, std::string_view key) {
  std::ifstream file(path);
  std::string line, name, value;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    if (words >> name >> value && name == key) return parse(value);
  }
  return std::nullopt;
}

bool has_item(const std::string& list, std::string_view item) {
  std::istringstream items(list);
  for (std::string each; std::getline(items, each, ',');) {
    if (each == item) return true;
  }
  return false;
}

// Path of the process's group in a hierarchy, from /proc/self/cgroup ("id:controllers:path"). The second version has no
// controllers in its line.
std::optional<std::string> group_path(const std::string& root, bool version2) {
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (version2 ? controllers.empty() : has_item(controllers, "memory")) return line.substr(second + 1);
  }
  return std::nullopt;
}

// The group's path below the mount. A container often mounts only its own group (`mount_root`) while the path is told
// from the host's root; a path outside what is mounted leaves the mount itself as the nearest known group.
std::string below_mount(const std::string& path, const std::string& mount_root) {
  std::string rest = path;
  if (mount_root != "/") {
    const bool inside = path.compare(0, mount_root.size(), mount_root) == 0 &&
                        (path.size() == mount_root.size() || path[mount_root.size()] == '/');
    rest = inside ? path.substr(mount_root.size()) : "";
  }
  return rest == "/" || rest.find("/..") != std::string::npos ? "" : rest;
}

// Every hierarchy that may limit memory; a host that runs both versions has two.
std::vector<Hierarchy> memory_hierarchies(const std::string& root) {
  std::vector<Hierarchy> found;
  std::ifstream file(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t separator = line.find(" - ");
    if (separator == std::string::npos) continue;
    std::istringstream before(line.substr(0, separator)), after(line.substr(separator + 3));
    std::string skipped, mount_root, mount, type, source, options;
    before >> skipped >> skipped >> skipped >> mount_root >> mount;
    after >> type >> source >> options;
    const bool version2 = type == "cgroup2";
    if (!version2 && !(type == "cgroup" && has_item(options, "memory"))) continue;
    const auto path = group_path(root, version2);
    if (!path) continue;
    const std::string group = below_mount(*path, mount_root);
    if (version2) {
      found.push_back({root + mount, group, "memory.max", "memory.current", "inactive_file"});
    } else {
      found.push_back({root + mount, group, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"});
    }
  }
  return found;
}

// What the group and the groups above it leave; SIZE_MAX without a limit.
size_t available_in(const Hierarchy& hierarchy) {
  size_t available = SIZE_MAX;
  std::string group = hierarchy.group;
  while (true) {
    const std::string directory = hierarchy.mount + group + "/";
    const auto limit = read_number(directory + hierarchy.limit_file);
    const auto usage = limit ? read_number(directory + hierarchy.usage_file) : std::nullopt;
    if (usage) {
      const size_t reclaimable = read_key(directory + "memory.stat", hierarchy.reclaimable_key).value_or(0);
      const size_t needed = *usage - std::min(*usage, reclaimable);
      available = std::min(available, *limit - std::min(*limit, needed));
    }
    if (group.empty()) return available;
    group.erase(group.rfind('/'));
  }
}

}  // namespace

size_t host_available_bytes(const std::string& root) {
  size_t available = SIZE_MAX;
  if (const auto kib = read_key(root + "/proc/meminfo", "MemAvailable:")) available = *kib * 1024;
  for (const Hierarchy& hierarchy : memory_hierarchies(root)) available = std::min(available, available_in(hierarchy));
  return available;
}

size_t resident_bytes(const void* address, size_t nbytes) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(address) / page * page;
  const size_t pages = (reinterpret_cast<uintptr_t>(address) + nbytes - begin + page - 1) / page;
  std::vector<unsigned char> resident(pages);
  if (mincore(reinterpret_cast<void*>(begin), pages * page, resident.data()) != 0) return 0;
  const auto count = std::count_if(resident.begin(), resident.end(), [](unsigned char flags) { return flags & 1; });
  return std::min(nbytes, static_cast<size_t>(count) * page);
}

}  // namespace neuron::device
