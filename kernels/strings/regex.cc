// RegexReplace, RegexFullMatch and their static kinds, by RE2.
#include <re2/re2.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "framework/plugin/plugin.hpp"

namespace millstream::kernels {
namespace {

re2::StringPiece PieceOf(std::string_view text) { return {text.data(), text.size()}; }

// INVALID_ARGUMENT, naming the argument or attribute, for what is no regular expression.
ms::Status Compile(std::string_view pattern, const char* name, std::unique_ptr<re2::RE2>* regex) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  *regex = std::make_unique<re2::RE2>(PieceOf(pattern), options);
  if ((*regex)->ok()) return ms::Status();
  return ms::InvalidArgument("Invalid pattern: ", pattern, ", error: ", (*regex)->error(), " (",
                             name, ")");
}

ms::Status CheckRewrite(const re2::RE2& regex, const std::string& rewrite, const char* name) {
  std::string error;
  if (regex.CheckRewriteString(PieceOf(rewrite), &error)) return ms::Status();
  return ms::InvalidArgument("Invalid rewrite: ", rewrite, ", error: ", error, " (", name, ")");
}

ms::Status ReadScalar(const ms::View& view, const char* name, std::string_view* text) {
  if (view.rank() == 0) return view.GetString(0, text);
  return ms::InvalidArgument(name, " must be a scalar, but has shape ", view.shape().ToString());
}

// A pattern, from an attribute or from an input.
struct Row {
  bool is_static;
};

class Pattern {
 public:
  ms::Status Init(const ms::KernelInfo& info, bool is_static) {
    if (!is_static) return ms::Status();
    std::string pattern;
    MS_TRY(info.Attr("pattern", &pattern));
    return Compile(pattern, "attribute 'pattern'", &fixed_);
  }
  // The pattern of an execution: the fixed one, or that of input 1, which *own then holds.
  ms::Status Read(const ms::Frame& frame, std::unique_ptr<re2::RE2>* own,
                  const re2::RE2** regex) const {
    *regex = fixed_.get();
    if (fixed_ != nullptr) return ms::Status();
    std::string_view pattern;
    MS_TRY(ReadScalar(frame.input(1), "pattern", &pattern));
    MS_TRY(Compile(pattern, "pattern", own));
    *regex = own->get();
    return ms::Status();
  }

 private:
  std::unique_ptr<re2::RE2> fixed_;
};

class RegexReplace {
 public:
  using Row = kernels::Row;

  explicit RegexReplace(const Row& row) : row_(row) {}

  ms::Status Init(const ms::KernelInfo& info) {
    MS_TRY(pattern_.Init(info, row_.is_static));
    if (row_.is_static) MS_TRY(info.Attr("rewrite", &rewrite_));
    return info.Attr("replace_global", &replaces_all_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View input = frame.input(0);
    std::unique_ptr<re2::RE2> own;
    const re2::RE2* regex = nullptr;
    MS_TRY(pattern_.Read(frame, &own, &regex));
    std::string rewrite = rewrite_;
    if (!row_.is_static) {
      std::string_view text;
      MS_TRY(ReadScalar(frame.input(2), "rewrite", &text));
      rewrite = text;
    }
    MS_TRY(CheckRewrite(*regex, rewrite, row_.is_static ? "attribute 'rewrite'" : "rewrite"));
    ms::View output;
    MS_TRY(frame.Output(0, input.shape(), &output));
    for (int64_t i = 0; i < input.size(); ++i) {
      std::string_view text;
      MS_TRY(input.GetString(i, &text));
      std::string result(text);
      if (replaces_all_) {
        re2::RE2::GlobalReplace(&result, *regex, PieceOf(rewrite));
      } else {
        re2::RE2::Replace(&result, *regex, PieceOf(rewrite));
      }
      MS_TRY(output.SetString(i, result));
    }
    return ms::Status();
  }

 private:
  const Row& row_;
  Pattern pattern_;
  std::string rewrite_;
  bool replaces_all_ = true;
};

class RegexFullMatch {
 public:
  using Row = kernels::Row;

  explicit RegexFullMatch(const Row& row) : row_(row) {}

  ms::Status Init(const ms::KernelInfo& info) { return pattern_.Init(info, row_.is_static); }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View input = frame.input(0);
    std::unique_ptr<re2::RE2> own;
    const re2::RE2* regex = nullptr;
    MS_TRY(pattern_.Read(frame, &own, &regex));
    ms::View output;
    MS_TRY(frame.Output(0, input.shape(), &output));
    for (int64_t i = 0; i < input.size(); ++i) {
      std::string_view text;
      MS_TRY(input.GetString(i, &text));
      output.data<bool>()[i] = re2::RE2::FullMatch(PieceOf(text), *regex);
    }
    return ms::Status();
  }

 private:
  const Row& row_;
  Pattern pattern_;
};

constexpr Row kStatic = {true};
constexpr Row kDynamic = {false};

const ms::Registered replace = ms::RegisterRow<RegexReplace>("RegexReplace", kDynamic);
const ms::Registered static_replace = ms::RegisterRow<RegexReplace>("StaticRegexReplace", kStatic);
const ms::Registered full_match = ms::RegisterRow<RegexFullMatch>("RegexFullMatch", kDynamic);
const ms::Registered static_full_match =
    ms::RegisterRow<RegexFullMatch>("StaticRegexFullMatch", kStatic);

}  // namespace
}  // namespace millstream::kernels
