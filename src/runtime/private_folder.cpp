#include "runtime/private_folder.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "runtime/fork.hpp"

namespace gpuopt {
namespace {

namespace fs = std::filesystem;
constexpr int folder_flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

struct Place {
    fs::path path;
    bool among_temporaries = false;  // where anybody may have made a folder of this name
};

Place place() {
    if (const char* own = std::getenv("GPUOPT_CACHE_DIR"); own && *own) return {own};
    if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg && *xdg) return {fs::path(xdg) / "gpuopt"};
    if (const char* home = std::getenv("HOME"); home && *home) return {fs::path(home) / ".cache" / "gpuopt"};
    std::error_code none;
    const auto temporary = fs::temp_directory_path(none);
    return {(none ? fs::path("/tmp") : temporary) / ("gpuopt-cache-" + std::to_string(geteuid())), true};
}

struct Closed {
    int descriptor;
    ~Closed() {
        if (descriptor >= 0) ::close(descriptor);
    }
};

bool write_all(int descriptor, std::string_view text) {
    while (!text.empty()) {
        const auto wrote = ::write(descriptor, text.data(), text.size());
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) return false;
        text.remove_prefix(static_cast<std::size_t>(wrote));
    }
    return true;
}

// mkstemp in a folder that is held open: a name nobody can foresee, and never one that is there.
int make_temporary(int folder, const std::string& file, std::string& name) {
    for (int attempt = 0; attempt < 100; ++attempt) {
        unsigned char bytes[8];
        if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) return -1;
        name = file + ".";
        for (const auto byte : bytes) name += "0123456789abcdef"[byte / 16], name += "0123456789abcdef"[byte % 16];
        const int made = openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (made >= 0 || errno != EEXIST) return made;
    }
    return -1;
}

}  // namespace

std::string cache_dir() { return place().path.string(); }

std::uint64_t cache_stamp(const std::string& file, bool now) {
    using Clock = std::chrono::steady_clock;
    struct Seen {
        std::string place, host, state;
        Clock::time_point at;
        std::uint64_t stamp = 0;
    };
    static auto& mutex = *new ForkSafeMutex;
    static auto& all = *new std::map<std::string, Seen>;
    auto where = place().path.string();
    const char* const named = std::getenv("GPUOPT_HOST");
    const std::string host = named ? named : "";
    const std::lock_guard lock(mutex);
    auto& seen = all[file];
    const auto time = Clock::now();
    if (!now && seen.stamp && seen.place == where && seen.host == host && time - seen.at < std::chrono::milliseconds(1))
        return seen.stamp;
    std::string state;
    struct stat facts = {};
    if (::stat((where + '/' + file).c_str(), &facts) == 0) {
        const auto add = [&](auto number) { state += std::to_string(number) + ' '; };
        for (const auto& changed : {facts.st_mtim, facts.st_ctim}) add(changed.tv_sec), add(changed.tv_nsec);
        add(facts.st_ino), add(facts.st_size), add(facts.st_uid), add(facts.st_mode);
    }
    const bool other = seen.place != where || seen.host != host || seen.state != state;
    seen = {std::move(where), host, std::move(state), time, seen.stamp + (other || !seen.stamp)};
    return seen.stamp;
}

PrivateFolder::PrivateFolder(const std::string& name, bool make) {
    const Closed root{open_root(make)};
    if (root.descriptor < 0) return;
    path_ = (fs::path(path_) / name).string();
    descriptor_ = open_checked(root.descriptor, name, make);
}

PrivateFolder::~PrivateFolder() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

// The cache's own folder. Who named it may have made it a link, and it may be the system's; among the temporary files
// it has to be this user's alone.
int PrivateFolder::open_root(bool make) {
    const auto [path, among_temporaries] = place();
    path_ = path.string();
    if (make) {
        std::error_code failed;
        if (path.has_parent_path() && !among_temporaries) fs::create_directories(path.parent_path(), failed);
        ::mkdir(path_.c_str(), 0700);  // where that fails, opening says why
    }
    const int root = ::open(path_.c_str(), folder_flags | (among_temporaries ? O_NOFOLLOW : 0));
    struct stat facts = {};
    if (root < 0) {
        if (errno != ENOENT || make) refusal_ = path_ + " cannot be used: " + std::strerror(errno);
    } else if (fstat(root, &facts) != 0 || (facts.st_uid != geteuid() && (among_temporaries || facts.st_uid != 0))) {
        refusal_ = path_ + " belongs to another user";
    } else if (among_temporaries && (facts.st_mode & 077) != 0) {
        refusal_ = path_ + " is open to other users";
    }
    if (refusal_.empty()) return root;
    if (root >= 0) ::close(root);
    return -1;
}

int PrivateFolder::open_checked(int root, const std::string& name, bool make) {
    if (make) mkdirat(root, name.c_str(), 0700);
    const int folder = openat(root, name.c_str(), folder_flags | O_NOFOLLOW);
    struct stat facts = {};
    if (folder < 0) {
        const int error = errno;
        if (error == ENOTDIR || error == ELOOP) refusal_ = path_ + " is a link, or no folder";
        else if (error != ENOENT || make) refusal_ = path_ + " cannot be used: " + std::strerror(error);
        return -1;
    }
    if (fstat(folder, &facts) != 0 || facts.st_uid != geteuid()) {
        refusal_ = path_ + " belongs to another user";
    } else if ((facts.st_mode & 077) != 0 && fchmod(folder, 0700) != 0 && (facts.st_mode & 022) != 0) {
        refusal_ = path_ + " can be written by other users";
    }
    if (refusal_.empty()) return folder;
    ::close(folder);
    return -1;
}

std::optional<std::string> PrivateFolder::read(const std::string& file) const {
    if (!usable()) return std::nullopt;
    // A pipe would keep a reader waiting for ever.
    const Closed in{openat(descriptor_, file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)};
    struct stat facts = {};
    if (in.descriptor < 0 || fstat(in.descriptor, &facts) != 0) return std::nullopt;
    if (!S_ISREG(facts.st_mode) || facts.st_uid != geteuid() || (facts.st_mode & 022) != 0) return std::nullopt;
    std::string content;
    char piece[1 << 16];
    for (;;) {
        const auto count = ::read(in.descriptor, piece, sizeof piece);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return std::nullopt;
        if (count == 0) return content;
        content.append(piece, static_cast<std::size_t>(count));
    }
}

bool PrivateFolder::replace(const std::string& file, std::string_view content) const {
    if (!usable()) return false;
    std::string temporary;
    const int descriptor = make_temporary(descriptor_, file, temporary);
    if (descriptor < 0) return false;
    const bool written = write_all(descriptor, content);
    const bool whole = ::close(descriptor) == 0 && written;
    if (whole && renameat(descriptor_, temporary.c_str(), descriptor_, file.c_str()) == 0) return true;
    unlinkat(descriptor_, temporary.c_str(), 0);
    return false;
}

}  // namespace gpuopt
