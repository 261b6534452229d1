// RegexReplace, RegexFullMatch and their static kinds.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "framework/plugin/plugin.hpp"
#include "kernels/regex/regex.h"

namespace millstream::kernels {
namespace {

ms::Status ReadScalar(const ms::View& view, const char* name, std::string_view* text) {
  if (view.rank() == 0) return view.GetString(0, text);
  return ms::InvalidArgument(name, " must be a scalar, but has shape ", view.shape().ToString());
}

// Strings between two questions whether the step goes on.
constexpr int64_t kStringsAQuestion = 1 << 10;

struct Row {
  bool is_static;  // the pattern and the rewrite are attributes
};

// A pattern, from an attribute or from an input.
class Pattern {
 public:
  ms::Status Init(const ms::KernelInfo& info, bool is_static) {
    if (!is_static) return ms::Status();
    std::string pattern;
    MS_TRY(info.Attr("pattern", &pattern));
    return Regex::Compile(pattern, "attribute 'pattern'", &fixed_);
  }
  // The pattern of an execution: the fixed one, or that of input 1, which *own then holds.
  ms::Status Read(const ms::Frame& frame, std::unique_ptr<Regex>* own, const Regex** regex) const {
    *regex = fixed_.get();
    if (fixed_ != nullptr) return ms::Status();
    std::string_view pattern;
    MS_TRY(ReadScalar(frame.input(1), "pattern", &pattern));
    MS_TRY(Regex::Compile(pattern, "pattern", own));
    *regex = own->get();
    return ms::Status();
  }

 private:
  std::unique_ptr<Regex> fixed_;
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
    std::unique_ptr<Regex> own;
    const Regex* regex = nullptr;
    MS_TRY(pattern_.Read(frame, &own, &regex));
    std::string rewrite = rewrite_;
    if (!row_.is_static) {
      std::string_view text;
      MS_TRY(ReadScalar(frame.input(2), "rewrite", &text));
      rewrite = text;
    }
    MS_TRY(regex->CheckRewrite(rewrite, row_.is_static ? "attribute 'rewrite'" : "rewrite"));
    ms::View output;
    MS_TRY(frame.Output(0, input.shape(), &output));
    for (int64_t i = 0; i < input.size(); ++i) {
      if (i % kStringsAQuestion == 0) MS_TRY(frame.CheckCancelled());
      std::string_view text;
      MS_TRY(input.GetString(i, &text));
      MS_TRY(output.SetString(i, regex->Replace(text, rewrite, replaces_all_)));
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
    std::unique_ptr<Regex> own;
    const Regex* regex = nullptr;
    MS_TRY(pattern_.Read(frame, &own, &regex));
    ms::View output;
    MS_TRY(frame.Output(0, input.shape(), &output));
    for (int64_t i = 0; i < input.size(); ++i) {
      if (i % kStringsAQuestion == 0) MS_TRY(frame.CheckCancelled());
      std::string_view text;
      MS_TRY(input.GetString(i, &text));
      output.data<bool>()[i] = regex->MatchesAll(text);
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
