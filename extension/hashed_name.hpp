// A name with its hash, which is made once: claims, hints and queues all find a resource by it.
#pragma once

#include "pg.hpp"

namespace fencelock {

struct hashed_name {
    std::string_view text;
    uint32 hash;

    hashed_name(std::string_view name)
        : text(name), hash(hash_bytes(reinterpret_cast<const unsigned char*>(name.data()),
                                      static_cast<int>(name.size())))
    {
    }

    operator std::string_view() const { return text; }
};

} // namespace fencelock
