/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbwp.hpp - record from C++11 on: calls and sub-items that end with their scope, also
 * by an exception. Each is the inline call of rbwp_record.h, rbwp_queue.h or rbwp_args.h, no more.
 *
 *     static const rbwp::item clean("page cleaner");       once, before or in a session
 *     static const rbwp::sub_item read("read");
 *     static const rbwp::key pages("pages");
 *
 *     rbwp::session session(argc, argv);                   flags: -bgworkprofile 2, or RBWP_FLAGS
 *     if (!session)
 *         std::cerr << session.error() << "; not recording\n";
 *     rbwp::attach("cleaner");                             once in each thread that records
 *     {
 *         rbwp::scope call(clean);                         until the end of the block
 *         call.arg(pages, 64).arg(path, name);
 *         rbwp::scope part(read);                          inside of it
 *     }
 *     job->ticket = clean.queued();                        where work is queued, and where it
 * begins: rbwp::scope call(clean, job->ticket);
 *
 * A scope may be moved, within its thread. Scopes of one thread lie in one another.
 */
#ifndef RBWP_HPP
#define RBWP_HPP

#include "rbwp_args.h"
#include "rbwp_queue.h"
#include "rbwp_session.h"

#include <string>
#include <type_traits>

namespace rbwp
{

/* What calls are recorded under. Where no slot is left its calls are refused and counted. */
class item
{
  public:
    explicit item(const char *name) noexcept : slot_(RBWP_SLOTS_MAX)
    {
        if (rbwp_work_item_register(name, &slot_) != RBWP_OK)
            slot_ = RBWP_SLOTS_MAX;
    }
    unsigned slot() const noexcept { return slot_; }
    /* Work of this kind is queued now: for the scope that it begins with, on any thread. */
    RBWP_HOT_ struct rbwp_ticket queued() const noexcept
    {
        struct rbwp_ticket ticket;
        rbwp_enqueue(slot_, &ticket);
        return ticket;
    }

  private:
    unsigned slot_;
};

/* Likewise of sub-items. flags: RBWP_KIND_WAITS, of a kind in which threads are not busy. */
class sub_item
{
  public:
    explicit sub_item(const char *name, const char *kind = "step", unsigned flags = 0) noexcept
        : id_(RBWP_SUB_ITEMS_MAX)
    {
        enum rbwp_sub_item_type type;
        if (rbwp_sub_item_kind_register(kind, flags, &type) != RBWP_OK ||
            rbwp_sub_item_register(type, name, &id_) != RBWP_OK)
            id_ = RBWP_SUB_ITEMS_MAX;
    }
    unsigned id() const noexcept { return id_; }

  private:
    unsigned id_;
};

/* The name of an argument. */
class key
{
  public:
    explicit key(const char *name) noexcept : number_(rbwp_arg_key(name)) {}
    uint64_t number() const noexcept { return number_; }

  private:
    uint64_t number_;
};

class scope
{
  public:
    RBWP_HOT_ explicit scope(const item &of) noexcept : open_(call) { rbwp_begin(of.slot()); }
    RBWP_HOT_ scope(const item &of, struct rbwp_ticket ticket) noexcept : open_(call)
    {
        rbwp_begin_with(of.slot(), ticket);
    }
    RBWP_HOT_ explicit scope(const sub_item &of) noexcept : open_(part)
    {
        rbwp_fine_begin(of.id());
    }
    RBWP_HOT_ scope(scope &&other) noexcept : open_(other.open_) { other.open_ = nothing; }
    scope(const scope &) = delete;
    scope &operator=(const scope &) = delete;
    scope &operator=(scope &&) = delete;
    RBWP_HOT_ ~scope() { end(); }

    /* Before its time; then it does nothing. */
    RBWP_HOT_ void end() noexcept
    {
        if (open_ == call)
            rbwp_end();
        else if (open_ == part)
            rbwp_fine_end();
        open_ = nothing;
    }

    /* A call that did nothing leaves no record (rbwp_set_worked). */
    void worked(bool did) noexcept { rbwp_set_worked(did); }

    /* Of the open call, at level 2: integers, floating-point numbers, texts. */
    template <class T>
    typename std::enable_if<std::is_integral<T>::value && std::is_unsigned<T>::value, scope &>::type
    arg(const key &of, T value) noexcept
    {
        rbwp_arg_u64(of.number(), value);
        return *this;
    }
    template <class T>
    typename std::enable_if<std::is_integral<T>::value && std::is_signed<T>::value, scope &>::type
    arg(const key &of, T value) noexcept
    {
        rbwp_arg_i64(of.number(), value);
        return *this;
    }
    template <class T>
    typename std::enable_if<std::is_floating_point<T>::value, scope &>::type arg(const key &of,
                                                                                 T value) noexcept
    {
        rbwp_arg_f64(of.number(), static_cast<double>(value));
        return *this;
    }
    scope &arg(const key &of, const char *text) noexcept
    {
        rbwp_arg_text(of.number(), text);
        return *this;
    }
    scope &arg(const key &of, const std::string &text) noexcept { return arg(of, text.c_str()); }

  private:
    enum open { nothing, call, part };
    open open_;
};

/* The calling thread, once in each that records. False: it cannot (rbwp_thread_attach). */
inline bool attach(const char *name) noexcept
{
    return rbwp_thread_attach(name) == RBWP_OK;
}

/* A recording by the flags in argv, which are taken out, and those in RBWP_FLAGS. Without any there
 * is none, which is no error. It stops with its scope. */
class session
{
  public:
    session() noexcept { start(nullptr, nullptr); }
    session(int &argc, char **argv) noexcept { start(&argc, argv); }
    session(const session &) = delete;
    session &operator=(const session &) = delete;
    ~session() { (void)stop(); }

    /* False: it could not start, and why. */
    explicit operator bool() const noexcept { return !error_.text[0]; }
    const char *error() const noexcept { return error_.text; }

    /* Before its time. False if something is missing in the file: error() says what. */
    bool stop() noexcept
    {
        struct rbwp_session_summary summary;
        struct rbwp_session *const running = session_;
        session_ = nullptr;
        if (running && (rbwp_session_stop(running, &summary) != RBWP_OK || summary.error.text[0]))
            error_ = summary.error;
        return !error_.text[0];
    }

  private:
    void start(int *argc, char **argv) noexcept
    {
        struct rbwp_session_config config = {};
        config.size = sizeof config;
        if (rbwp_session_parse(&config, argc, argv, &error_) == RBWP_OK &&
            rbwp_session_start(&config, &session_, &error_) == RBWP_OK)
            error_.text[0] = '\0';
    }

    struct rbwp_session *session_ = nullptr;
    struct rbwp_error error_ = {};
};

} // namespace rbwp

#endif /* RBWP_HPP */
