// The host's tables, and the status that what fails gives: what the rest of the C++ comfort over
// plugin.h is made of.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_PLUGIN_STATUS_HPP_
#define MILLSTREAM_FRAMEWORK_PLUGIN_PLUGIN_STATUS_HPP_

#include <cstddef>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "framework/plugin/plugin.h"

// For inline functions that fail, or that many callers share: there is one of each in a plugin, not
// a copy in every caller, nor a clone of GCC's in every file. Those that fail are kept apart from
// those that run in every step.
#if defined(__clang__)
#define MS_SHARED __attribute__((noinline))
#define MS_SHARED_COLD __attribute__((noinline, cold))
#elif defined(__GNUC__)
#define MS_SHARED __attribute__((noinline, noclone))
#define MS_SHARED_COLD __attribute__((noinline, noclone, cold))
#else
#define MS_SHARED
#define MS_SHARED_COLD
#endif

namespace ms {
inline namespace v1 {

// ---- Host tables -------------------------------------------------------------------------------

// The host's function tables, filled by BindHost (plugin_bind.hpp) before anything else runs.
struct HostTables {
  const MS_HostBase* base = nullptr;
  const MS_CoreApi* core = nullptr;
  const MS_RegistryApi* registry = nullptr;
  const MS_KernelApi* kernel = nullptr;
  const MS_CtxApi* ctx = nullptr;
  const MS_TensorApi* tensor = nullptr;
  const MS_ResourceApi* resource = nullptr;
  const MS_ThreadsApi* threads = nullptr;
  const MS_ShapeApi* shape = nullptr;
  const MS_GradApi* grad = nullptr;
  const MS_TraceApi* trace = nullptr;
};

inline HostTables host_tables;

inline std::string_view ToView(MS_Str text) {
  return std::string_view(text.data, static_cast<size_t>(text.size));
}
inline MS_Str ToAbi(std::string_view text) { return MS_Str{text.data(), text.size()}; }

// ---- Status ------------------------------------------------------------------------------------

// Success, or a code (MS_INVALID_ARGUMENT, ...) with a message. Success costs a null pointer.
class [[nodiscard]] Status {
 public:
  Status() = default;
  MS_SHARED_COLD Status(MS_Code code, std::string message)
      : rep_(new Rep{code, std::move(message)}) {}

  // Takes over what a host function returned.
  static Status FromAbi(MS_Status* status) {
    return status == nullptr ? Status() : TakeFromAbi(status);
  }
  MS_Status* ToAbi() const { return ok() ? nullptr : FailureToAbi(); }

  bool ok() const { return rep_ == nullptr; }
  MS_Code code() const { return ok() ? MS_OK : rep_->code; }
  std::string_view message() const { return ok() ? std::string_view() : rep_->message; }

 private:
  struct Rep {
    MS_Code code;
    std::string message;
  };
  struct DeleteRep {
    MS_SHARED_COLD void operator()(Rep* rep) const { delete rep; }
  };

  MS_SHARED_COLD static Status TakeFromAbi(MS_Status* status) {
    Status result(host_tables.core->status_code(status),
                  std::string(ToView(host_tables.core->status_message(status))));
    host_tables.core->status_free(status);
    return result;
  }

  MS_SHARED_COLD MS_Status* FailureToAbi() const {
    return host_tables.base->status_make(rep_->code, ms::ToAbi(rep_->message));
  }

  std::unique_ptr<Rep, DeleteRep> rep_;
};

// One part of a text: what is written, and how. It borrows the value.
struct TextPart {
  const void* value;
  void (*write)(std::ostream& out, const void* value);
};
template <typename T>
void WritePart(std::ostream& out, const void* value) {
  out << *static_cast<const T*>(value);
}
template <typename T>
TextPart PartOf(const T& value) {
  return {&value, &WritePart<T>};
}
inline void WriteLiteral(std::ostream& out, const void* value) {
  out << static_cast<const char*>(value);
}
template <size_t kSize>
TextPart PartOf(const char (&literal)[kSize]) {
  return {literal, &WriteLiteral};
}

MS_SHARED_COLD inline std::string JoinParts(std::initializer_list<TextPart> parts) {
  std::ostringstream out;
  for (const TextPart& part : parts) part.write(out, part.value);
  return out.str();
}
MS_SHARED_COLD inline Status StatusOfParts(MS_Code code, std::initializer_list<TextPart> parts) {
  return Status(code, JoinParts(parts));
}

// "[2,3]"
MS_SHARED_COLD inline std::string TextOfDims(const int64_t* dims, uint32_t rank) {
  std::ostringstream out;
  for (uint32_t i = 0; i < rank; ++i) out << (i > 0 ? "," : "[") << dims[i];
  out << (rank > 0 ? "]" : "[]");
  return out.str();
}

template <typename... Parts>
std::string StrCat(const Parts&... parts) {
  return JoinParts({PartOf(parts)...});
}
template <typename... Parts>
Status InvalidArgument(const Parts&... parts) {
  return StatusOfParts(MS_INVALID_ARGUMENT, {PartOf(parts)...});
}
template <typename... Parts>
Status Unimplemented(const Parts&... parts) {
  return StatusOfParts(MS_UNIMPLEMENTED, {PartOf(parts)...});
}
template <typename... Parts>
Status Internal(const Parts&... parts) {
  return StatusOfParts(MS_INTERNAL, {PartOf(parts)...});
}
template <typename... Parts>
Status OutOfRange(const Parts&... parts) {
  return StatusOfParts(MS_OUT_OF_RANGE, {PartOf(parts)...});
}

#define MS_TRY(expression)                         \
  do {                                             \
    ::ms::Status ms_try_status = (expression);     \
    if (!ms_try_status.ok()) return ms_try_status; \
  } while (false)

// The status of the exception that is being handled.
MS_SHARED_COLD inline MS_Status* StatusOfException() noexcept {
  try {
    throw;
  } catch (const std::exception& error) {
    return host_tables.base->status_make(MS_INTERNAL, ToAbi(std::string_view(error.what())));
  } catch (...) {
    return host_tables.base->status_make(
        MS_INTERNAL,
        ToAbi(std::string_view("an exception of unknown type left a plugin function")));
  }
}

// For functions that cannot give a status: logs the exception that is being handled.
MS_SHARED_COLD inline void LogDroppedException() noexcept {
  MS_Status* const status = StatusOfException();
  host_tables.core->log(MS_LOG_ERROR, host_tables.core->status_message(status));
  host_tables.core->status_free(status);
}

// Runs `body` (which returns Status) and turns whatever it throws into a status.
template <typename Body>
MS_Status* Guarded(Body&& body) noexcept {
  try {
    const Status status = body();
    return status.ToAbi();
  } catch (...) {
    return StatusOfException();
  }
}

}  // namespace v1
}  // namespace ms

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_PLUGIN_STATUS_HPP_
