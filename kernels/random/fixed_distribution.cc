// The distribution of FixedUnigramCandidateSampler: weights from an attribute or a file, drawn from
// by the alias method (A. J. Walker, "An Efficient Method for Generating Discrete Random Variables
// with General Distributions", 1977).
#include <cmath>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "kernels/common/number_text.h"
#include "kernels/random/class_distribution.h"

namespace millstream::kernels {
namespace {

// A class is drawn by two numbers: the first picks a column, all of which are as likely. Each
// column is shared by two classes, its own and another one; the second number decides.
class AliasTable {
 public:
  // REQUIRES: the weights are finite and not negative, and some weight is not 0.
  explicit AliasTable(const std::vector<float>& weights) : columns_(weights.size()) {
    const std::vector<double> own = FillColumns(Shares(weights));
    for (size_t i = 0; i < own.size(); ++i) columns_[i].own = static_cast<float>(own[i]);
  }

  int64_t Sample(PhiloxWords* words) const {
    const float where = words->NextFloat();
    const uint32_t i = words->Below(static_cast<uint32_t>(columns_.size()));
    return where < columns_[i].own ? int64_t{i} : columns_[i].other;
  }

 private:
  struct Column {
    float own = 1;      // the part of the column's own class
    int32_t other = 0;  // the class that has the rest
  };

  // How many columns' worth each class has.
  static std::vector<double> Shares(const std::vector<float>& weights) {
    double sum = 0;
    for (float weight : weights) sum += static_cast<double>(weight);
    std::vector<double> shares;
    const auto count = static_cast<float>(weights.size());
    for (float weight : weights) shares.push_back(static_cast<double>(weight * count) / sum);
    return shares;
  }

  // Classes with less than a column are filled up from those with more, the last ones of both
  // first. Gives the part of its own class in each column.
  std::vector<double> FillColumns(std::vector<double> shares) {
    std::vector<int32_t> smaller;
    std::vector<int32_t> larger;
    const auto place = [&](int32_t i) {
      (shares[static_cast<size_t>(i)] < 1 ? smaller : larger).push_back(i);
    };
    for (size_t i = 0; i < shares.size(); ++i) place(static_cast<int32_t>(i));
    while (!smaller.empty() && !larger.empty()) {
      const int32_t small = smaller.back();
      const int32_t large = larger.back();
      smaller.pop_back();
      larger.pop_back();
      columns_[static_cast<size_t>(small)].other = large;
      shares[static_cast<size_t>(large)] -= 1 - shares[static_cast<size_t>(small)];
      place(large);
    }
    // What is left has a whole column, but for rounding.
    for (const std::vector<int32_t>* rest : {&smaller, &larger}) {
      for (const int32_t i : *rest) {
        shares[static_cast<size_t>(i)] = 1;
        columns_[static_cast<size_t>(i)].other = i;
      }
    }
    return shares;
  }

  std::vector<Column> columns_;
};

class Fixed final : public ClassDistribution {
 public:
  // REQUIRES: as AliasTable; `total` is the sum of the weights.
  Fixed(std::vector<float> weights, float total)
      : table_(weights), weights_(std::move(weights)), total_(total) {}

  int64_t Sample(PhiloxWords* words) const override { return table_.Sample(words); }
  float Probability(int64_t value) const override {
    if (value < 0 || value >= static_cast<int64_t>(weights_.size())) return 0;
    return weights_[static_cast<size_t>(value)] / total_;
  }
  int64_t CountPossible() const override {
    int64_t count = 0;
    for (float weight : weights_) count += weight > 0 ? 1 : 0;
    return count;
  }

 private:
  const AliasTable table_;
  const std::vector<float> weights_;
  const float total_;
};

// Reads what the attributes say.
class WeightReader {
 public:
  ms::Status Read(const ms::KernelInfo& info, int64_t range) {
    int64_t reserved = 0;
    std::string file;
    std::vector<float> unigrams;
    MS_TRY(info.Attr("num_reserved_ids", &reserved));
    MS_TRY(info.Attr("num_shards", &num_shards_));
    MS_TRY(info.Attr("shard", &shard_));
    MS_TRY(info.Attr("distortion", &distortion_));
    MS_TRY(info.Attr("vocab_file", &file));
    MS_TRY(info.Attr("unigrams", &unigrams));
    range_ = range;
    const int64_t own = reserved > shard_ ? (reserved - shard_ - 1) / num_shards_ + 1 : 0;
    if (own > range) return TooMany();
    weights.assign(static_cast<size_t>(own), 0);
    // The weights after the reserved ids are counted from the number of those of this shard.
    next_ = static_cast<int64_t>(weights.size());
    for (float weight : unigrams) MS_TRY(Add(weight, "unigrams"));
    if (!file.empty()) MS_TRY(ReadFile(file));
    if (static_cast<int64_t>(weights.size()) != range) {
      return ms::InvalidArgument("range_max = ", range, ", but there are ", weights.size(),
                                 " weights");
    }
    if (total > 0 && std::isfinite(total)) return ms::Status();
    return ms::InvalidArgument("the sum of unigrams is ", total, "; it must be above 0 and finite");
  }

  std::vector<float> weights;
  float total = 0;

 private:
  bool IsOurs() const { return next_ % num_shards_ == shard_; }

  ms::Status TooMany() const {
    return ms::InvalidArgument("range_max = ", range_, ", but there are more weights");
  }

  ms::Status Add(float weight, const std::string& where) {
    if (IsOurs()) {
      if (static_cast<int64_t>(weights.size()) == range_) return TooMany();
      const auto distorted = static_cast<float>(std::pow(weight, distortion_));
      if (!(weight >= 0) || !std::isfinite(distorted)) {
        return ms::InvalidArgument(
            "weight ", next_, " of ", where, " is ", weight,
            "; it must not be negative, and finite with distortion = ", distortion_);
      }
      total += distorted;
      weights.push_back(distorted);
    }
    ++next_;
    return ms::Status();
  }

  // A line is the word, perhaps more, and its weight after the last comma.
  ms::Status ReadFile(const std::string& name) {
    std::ifstream file(name);
    if (!file) return ms::Status(MS_NOT_FOUND, ms::StrCat("vocab_file ", name, " cannot be read"));
    std::string line;
    while (std::getline(file, line)) {
      float weight = 0;
      if (!ParseNumber(line.substr(line.rfind(',') + 1), &weight)) {
        return ms::InvalidArgument("Wrong vocabulary format at line: ", line, " of vocab_file ",
                                   name);
      }
      MS_TRY(Add(weight, "vocab_file " + name));
    }
    return ms::Status();
  }

  int64_t range_ = 0;
  int64_t num_shards_ = 1;
  int64_t shard_ = 0;
  float distortion_ = 1;
  int64_t next_ = 0;  // the number of the next weight among those of all shards
};

}  // namespace

ms::Status MakeFixed(const ms::KernelInfo& info, int64_t range,
                     std::unique_ptr<ClassDistribution>* out) {
  WeightReader reader;
  MS_TRY(reader.Read(info, range));
  *out = std::make_unique<Fixed>(std::move(reader.weights), reader.total);
  return ms::Status();
}

}  // namespace millstream::kernels
