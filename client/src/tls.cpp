#include "tls.hpp"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <array>
#include <limits>
#include <new>
#include <system_error>
#include <utility>

#include <fencelock/errors.hpp>

namespace fencelock::detail {

namespace {

// The oldest error of this thread's queue, in words; the queue is empty afterwards.
std::string reason()
{
    auto const code = ERR_get_error();
    ERR_clear_error();
    if (ERR_GET_LIB(code) == ERR_LIB_SYS)
        return std::system_category().message(ERR_GET_REASON(code));
    char const* const words = code != 0 ? ERR_reason_error_string(code) : nullptr;
    return words ? words : "no reason is known";
}

bool is_ip_address(std::string const& host)
{
    std::array<unsigned char, sizeof(in6_addr)> address;
    return ::inet_pton(AF_INET, host.c_str(), address.data()) == 1 ||
           ::inet_pton(AF_INET6, host.c_str(), address.data()) == 1;
}

// Asked for the passphrase of a key. A library has nobody to ask: without this, libssl would read
// from the terminal.
int no_passphrase(char*, int, int, void*)
{
    return 0;
}

[[noreturn]] void unusable(std::string const& what, std::string const& file)
{
    throw configuration_error{"TLS: the " + what + " in \"" + file +
                              "\" cannot be used: " + reason()};
}

int bounded(std::size_t size)
{
    return static_cast<int>(
        std::min(size, static_cast<std::size_t>(std::numeric_limits<int>::max())));
}

} // namespace

struct tls_context::handle {
    struct deleter {
        void operator()(SSL_CTX* c) const noexcept { SSL_CTX_free(c); }
    };
    std::unique_ptr<SSL_CTX, deleter> context{SSL_CTX_new(TLS_client_method())};
};

struct tls_session::handle {
    struct deleter {
        void operator()(SSL* s) const noexcept { SSL_free(s); }
    };
    std::unique_ptr<SSL, deleter> session;
    BIO* incoming; // both belong to the session
    BIO* outgoing;
};

tls_context::tls_context(tls_options const& options)
    : options_{options}, handle_{std::make_unique<handle>()}
{
    auto* const context = handle_->context.get();
    if (!context)
        throw std::bad_alloc{};
    if (options.certificate_file.empty() && !options.key_file.empty())
        throw invalid_argument{"TLS: a key without a certificate"};
    ERR_clear_error();
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_default_passwd_cb(context, no_passphrase);
    SSL_CTX_set_verify(context, options.verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
    auto const& ca = options.ca_file;
    if (ca.empty())
        SSL_CTX_set_default_verify_paths(context);
    else if (SSL_CTX_load_verify_locations(context, ca.c_str(), nullptr) != 1)
        unusable("certificates of authorities", ca);
    if (options.certificate_file.empty())
        return;
    auto const& certificate = options.certificate_file;
    auto const& key = options.key_file.empty() ? certificate : options.key_file;
    if (SSL_CTX_use_certificate_chain_file(context, certificate.c_str()) != 1)
        unusable("certificate", certificate);
    if (SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) != 1)
        unusable("private key", key);
}

tls_context::~tls_context() = default;

tls_session::tls_session(std::shared_ptr<tls_context const> context, stream_socket& socket,
                         std::string const& host, steady::time_point deadline)
    : context_{std::move(context)}, socket_{socket}, handle_{std::make_unique<handle>()}
{
    handle_->session.reset(SSL_new(context_->handle_->context.get()));
    handle_->incoming = BIO_new(BIO_s_mem());
    handle_->outgoing = BIO_new(BIO_s_mem());
    if (!handle_->session || !handle_->incoming || !handle_->outgoing) {
        BIO_free(handle_->incoming);
        BIO_free(handle_->outgoing);
        throw std::bad_alloc{};
    }
    SSL_set_bio(handle_->session.get(), handle_->incoming, handle_->outgoing);
    expect_server(context_->options_.server_name.empty() ? host : context_->options_.server_name);
    shake_hands(deadline);
}

tls_session::~tls_session() = default;

void tls_session::send(std::string_view bytes, steady::time_point deadline)
{
    ERR_clear_error();
    while (!bytes.empty()) {
        auto const n = SSL_write(handle_->session.get(), bytes.data(), bounded(bytes.size()));
        if (n <= 0)
            fail(); // memory takes everything
        bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    try {
        send_pending(deadline);
    } catch (link_failure const& failure) {
        if (answered_)
            throw;
        tell_refusal();
        throw unanswered(failure);
    }
}

std::size_t tls_session::receive(std::span<char> into, steady::time_point deadline)
{
    for (;;) {
        ERR_clear_error();
        auto* const session = handle_->session.get();
        auto const n = SSL_read(session, into.data(), bounded(into.size()));
        if (n > 0) {
            answered_ = true;
            return static_cast<std::size_t>(n);
        }
        auto const error = SSL_get_error(session, n);
        if (error == SSL_ERROR_ZERO_RETURN)
            throw link_failure{"the server closed the connection", true};
        if (error != SSL_ERROR_WANT_READ)
            fail();
        send_pending(deadline); // answers of the protocol's own
        try {
            receive_more(deadline);
        } catch (link_failure const& failure) {
            if (answered_)
                throw;
            throw unanswered(failure);
        }
    }
}

bool tls_session::quiet() const noexcept
{
    return SSL_pending(handle_->session.get()) == 0 && BIO_ctrl_pending(handle_->incoming) == 0;
}

// The certificate has to be for this name or address.
void tls_session::expect_server(std::string const& host)
{
    auto* const session = handle_->session.get();
    auto* const expected = SSL_get0_param(session);
    bool const accepted =
        is_ip_address(host)
            ? X509_VERIFY_PARAM_set1_ip_asc(expected, host.c_str()) == 1
            : SSL_set1_host(session, host.c_str()) == 1 &&
                  SSL_set_tlsext_host_name(session, host.c_str()) == 1; // a macro with a cast
    if (!accepted)
        throw configuration_error{"TLS: \"" + host + "\" cannot be the name of a server"};
}

void tls_session::shake_hands(steady::time_point deadline)
try {
    for (;;) {
        ERR_clear_error();
        auto* const session = handle_->session.get();
        auto const done = SSL_connect(session);
        if (done != 1 && SSL_get_error(session, done) != SSL_ERROR_WANT_READ)
            fail();
        send_pending(deadline);
        if (done == 1)
            return;
        receive_more(deadline);
    }
} catch (link_failure const& failure) {
    throw link_failure{std::string{"TLS handshake (does the server speak TLS on this port?): "} +
                           failure.what(),
                       false};
}

void tls_session::send_pending(steady::time_point deadline)
{
    char* bytes = nullptr;
    auto const size = BIO_get_mem_data(handle_->outgoing, &bytes);
    if (size <= 0)
        return;
    socket_.send({bytes, static_cast<std::size_t>(size)}, deadline);
    (void)BIO_reset(handle_->outgoing);
}

void tls_session::receive_more(steady::time_point deadline)
{
    std::array<char, 4096> bytes;
    auto const n = socket_.receive(bytes, deadline);
    if (BIO_write(handle_->incoming, bytes.data(), static_cast<int>(n)) != static_cast<int>(n))
        throw std::bad_alloc{};
}

// A server that does not accept us says so and closes the connection, so that sending may fail
// before its word is read.
void tls_session::tell_refusal()
{
    std::array<char, 1> unexpected;
    try {
        receive(unexpected, steady::now() + milliseconds{10});
    } catch (link_failure const&) { // no word: the caller's failure is all that is known
    }
}

// With TLS 1.3 our side of the handshake is over before the server has looked at our certificate,
// and the word with which it closes the connection can get lost.
link_failure tls_session::unanswered(link_failure const& failure) const
{
    if (!context_->options_.certificate_file.empty())
        return failure;
    return {std::string{failure.what()} + " (we showed no certificate, which the server may want)",
            failure.sent()};
}

// Before the server has answered anything, TLS was refused by one of us, and will be again. Later
// the connection was damaged on its way.
void tls_session::fail()
{
    auto const verdict = SSL_get_verify_result(handle_->session.get());
    auto what = "TLS: " + reason();
    // Before OpenSSL 3 the first reason is a detail of the signature.
    if (verdict != X509_V_OK && context_->options_.verify)
        what = std::string{"TLS: certificate verify failed ("} +
               X509_verify_cert_error_string(verdict) + ")";
    if (answered_)
        throw link_failure{what, true};
    throw configuration_error{what};
}

} // namespace fencelock::detail
