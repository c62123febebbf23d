#include "certificates.hpp"
#include "child_process.hpp"
#include "wait_until.hpp"

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace fencelock::test_support {

certificates::certificates()
{
    openssl("req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=authority -keyout ca.key -out "
            "ca.pem");
}

std::filesystem::path certificates::issue(std::string const& name,
                                          std::string const& alternative_name) const
{
    std::ofstream{directory_.path() / (name + ".ext")} << "subjectAltName=" << alternative_name
                                                       << "\n";
    openssl("req -new -newkey rsa:2048 -nodes -subj /CN=" + name + " -keyout " + name +
            ".key -out " + name + ".csr");
    openssl("x509 -req -days 2 -in " + name + ".csr -CA ca.pem -CAkey ca.key -CAcreateserial " +
            "-extfile " + name + ".ext -out " + name + ".pem");
    return directory_.path() / (name + ".pem");
}

std::filesystem::path certificates::key_of(std::filesystem::path const& certificate)
{
    return std::filesystem::path{certificate}.replace_extension(".key");
}

// Words with a dot are files of the directory, but for subjects.
void certificates::openssl(std::string const& arguments) const
{
    auto const program = find_program("openssl");
    if (!program)
        throw std::runtime_error{"the program openssl is not installed"};
    auto const log = directory_.path() / "openssl.log";
    child_options child;
    child.argv = {program->string()};
    child.output = log;
    std::istringstream words{arguments};
    for (std::string word; words >> word;) {
        bool const is_file = word[0] != '/' && word.find('.') != std::string::npos;
        child.argv.push_back(is_file ? (directory_.path() / word).string() : word);
    }
    child_process process{child};
    if (process.wait(generous_limit) != 0)
        throw std::runtime_error{"openssl " + arguments + " failed:\n" + tail_of(log)};
}

} // namespace fencelock::test_support
