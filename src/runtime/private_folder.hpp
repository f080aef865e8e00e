// Folders of the cache that this user alone may use. What lies in them is run or believed, so a folder or a file of
// another user is as good as none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gpuopt {

// Where the user's cached binaries, native loops, tuned records and profiles live: GPUOPT_CACHE_DIR, else
// XDG_CACHE_HOME/gpuopt, else ~/.cache/gpuopt, else a folder of this user's own among the temporary files.
std::string cache_dir();

// A number that is another one once `file`, a path within cache_dir(), was changed by anybody, is looked for elsewhere,
// or counts for another host (GPUOPT_HOST). The file is looked at when that was last done a millisecond ago, or now.
std::uint64_t cache_stamp(const std::string& file, bool now);

// One folder of the cache, held open, so that nothing done through it can be led elsewhere.
class PrivateFolder {
public:
    // `name` in cache_dir(); with `make` it is made where it is missing, of mode 0700.
    PrivateFolder(const std::string& name, bool make);
    ~PrivateFolder();
    PrivateFolder(const PrivateFolder&) = delete;
    PrivateFolder& operator=(const PrivateFolder&) = delete;

    bool usable() const { return descriptor_ >= 0; }
    const std::string& path() const { return path_; }
    const std::string& refusal() const { return refusal_; }  // why it is not used; "" where it is, or is missing

    // A whole file, if it is a regular one of this user's that nobody else may write.
    std::optional<std::string> read(const std::string& file) const;
    // Written beside and renamed; false where that failed, and nothing is left then.
    bool replace(const std::string& file, std::string_view content) const;

private:
    int open_root(bool make);
    int open_checked(int root, const std::string& name, bool make);

    int descriptor_ = -1;
    std::string path_, refusal_;
};

}  // namespace gpuopt
