// Certificates for servers with TLS and their clients.
#pragma once

#include "temporary_directory.hpp"

#include <filesystem>
#include <string>

namespace fencelock::test_support {

// An authority and what it has signed, made by the program openssl in a directory of their own. All
// files are PEM, keys have no passphrase.
class certificates {
  public:
    certificates(); // throws std::runtime_error where openssl fails

    // A certificate with its key. `alternative_name` as openssl writes it: DNS:redis.example,
    // IP:127.0.0.1. Returns the certificate's file; the key's is key_of() that.
    std::filesystem::path issue(std::string const& name, std::string const& alternative_name) const;
    [[nodiscard]] static std::filesystem::path key_of(std::filesystem::path const& certificate);

    [[nodiscard]] std::filesystem::path authority() const { return directory_.path() / "ca.pem"; }

  private:
    void openssl(std::string const& arguments) const;

    temporary_directory directory_{"fencelock-tls"};
};

} // namespace fencelock::test_support
