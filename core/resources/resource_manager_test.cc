#include "core/resources/resource_manager.h"

#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

constexpr int kThreads = 4;

// A resource that counts how many of its kind there are and how often they were dropped.
class Box : public Resource {
 public:
  static constexpr char kType[] = "Box";
  struct Counts {
    std::atomic<int> alive{0};
    std::atomic<int> dropped{0};
  };
  explicit Box(Counts* counts) : Resource(kType), counts_(counts) { ++counts_->alive; }
  ~Box() override { --counts_->alive; }
  void Drop() override { ++counts_->dropped; }

 private:
  Counts* const counts_;
};

class ResourceManagerTest : public ::testing::Test {
 protected:
  ResourceRef<Variable> VariableOf(const std::string& container, const std::string& name) {
    return resources_.LookupOrCreateVariable(container, name, DataType::kFloat, {2}).value();
  }
  ResourceRef<Box> BoxOf(const std::string& container, const std::string& name) {
    return resources_
        .LookupOrCreate<Box>(
            container, name,
            [&]() -> StatusOr<ResourceRef<Box>> { return MakeResource<Box>(&counts_); })
        .value();
  }

  Box::Counts counts_;
  ResourceManager resources_;
};

TEST_F(ResourceManagerTest, NamesAreTheContainersOwn) {
  const ResourceRef<Variable> w = VariableOf("", "w");
  EXPECT_EQ(VariableOf("", "w").get(), w.get());
  EXPECT_EQ(VariableOf("localhost", "w").get(), w.get());  // the default one's other name
  EXPECT_NE(VariableOf("other", "w").get(), w.get());
  EXPECT_EQ(resources_.num_resources(), 2);
}

TEST_F(ResourceManagerTest, TypesHaveNamesOfTheirOwn) {
  const ResourceRef<Variable> w = VariableOf("", "w");
  const ResourceRef<Box> box = BoxOf("", "w");
  EXPECT_EQ(resources_.Lookup<Box>("", "w").value().get(), box.get());
  EXPECT_EQ(resources_.Lookup<Variable>("", "w").value().get(), w.get());
  EXPECT_EQ(ResourceAs<Box>(w.get()), nullptr);
  EXPECT_EQ(ResourceAs<Box>(box.get()), box.get());
  const Status missing = resources_.Lookup<Box>("c", "w").status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.message()), HasSubstr("container 'c' has no Box called 'w'"));
}

TEST_F(ResourceManagerTest, ListsTheResourcesOfAType) {
  const ResourceRef<Box> second = BoxOf("c", "x");
  const ResourceRef<Box> first = BoxOf("localhost", "y");
  VariableOf("", "w");
  const std::vector<PlacedResource> boxes = resources_.AllOf(Box::kType);
  ASSERT_EQ(boxes.size(), 2u);
  EXPECT_EQ(boxes[0].container, "");
  EXPECT_EQ(boxes[0].name, "y");
  EXPECT_EQ(boxes[0].resource.get(), first.get());
  EXPECT_EQ(boxes[1].container, "c");
  EXPECT_EQ(boxes[1].name, "x");
  EXPECT_EQ(boxes[1].resource.get(), second.get());
  EXPECT_TRUE(resources_.AllOf("Shelf").empty());
}

TEST_F(ResourceManagerTest, HandlesThatContradictAreRefused) {
  VariableOf("", "w");
  const Status dtype = resources_.LookupOrCreateVariable("", "w", DataType::kInt32, {2}).status();
  EXPECT_EQ(dtype.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(dtype.message()), HasSubstr("'w' exists as float32[2]"));
  EXPECT_FALSE(resources_.LookupOrCreateVariable("", "w", DataType::kFloat, {3}).ok());
  EXPECT_TRUE(resources_.LookupOrCreateVariable("", "w", DataType::kFloat, {-1}).ok());
}

TEST_F(ResourceManagerTest, CreateAndDelete) {
  ASSERT_EQ(resources_.Create("c", "b", MakeResource<Box>(&counts_)), absl::OkStatus());
  EXPECT_EQ(resources_.Create("c", "b", MakeResource<Box>(&counts_)).code(),
            absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(counts_.alive, 1);
  EXPECT_EQ(resources_.Delete("c", "b", Box::kType), absl::OkStatus());
  EXPECT_EQ(counts_.alive, 0);
  EXPECT_EQ(counts_.dropped, 1);
  EXPECT_EQ(resources_.Delete("c", "b", Box::kType).code(), absl::StatusCode::kNotFound);
}

TEST_F(ResourceManagerTest, DroppingAContainerLeavesTheOthers) {
  BoxOf("a", "x");
  BoxOf("a", "y");
  const ResourceRef<Box> kept = BoxOf("ab", "x");
  resources_.DropContainer("a");
  EXPECT_EQ(counts_.dropped, 2);
  EXPECT_EQ(counts_.alive, 1);
  EXPECT_EQ(BoxOf("ab", "x").get(), kept.get());
}

TEST_F(ResourceManagerTest, ResetOfSomeOrAll) {
  BoxOf("a", "x");
  BoxOf("b", "x");
  BoxOf("", "x");
  resources_.Reset({"a", "there is none"});
  EXPECT_EQ(counts_.dropped, 1);
  resources_.Reset({"localhost"});
  EXPECT_EQ(counts_.dropped, 2);
  resources_.Reset({});
  EXPECT_EQ(counts_.dropped, 3);
  EXPECT_EQ(resources_.num_resources(), 0);
}

TEST_F(ResourceManagerTest, AResourceThatIsHeldOutlivesItsContainer) {
  const ResourceRef<Box> held = BoxOf("a", "x");
  resources_.DropContainer("a");
  EXPECT_EQ(counts_.alive, 1);
  EXPECT_EQ(counts_.dropped, 1);
  EXPECT_NE(BoxOf("a", "x").get(), held.get());
}

// A plan holds the address: what it writes after the drop must be what others read.
TEST_F(ResourceManagerTest, AVariableThatIsHeldKeepsItsNameWithoutValue) {
  const ResourceRef<Variable> w = VariableOf("a", "w");
  ASSERT_EQ(w->Assign(Tensor::Vector<float>({1, 2})), absl::OkStatus());
  const Tensor read = w->Read().value();
  resources_.DropContainer("a");
  const Status status = w->Read().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("Attempting to use uninitialized value w"));
  EXPECT_EQ(read.data<float>()[1], 2);  // whoever read it before goes on with it
  EXPECT_EQ(VariableOf("a", "w").get(), w.get());
}

TEST_F(ResourceManagerTest, AVariableThatNobodyHoldsIsGone) {
  VariableOf("a", "w");
  resources_.DropContainer("a");
  EXPECT_EQ(resources_.num_resources(), 0);
  // So its name is free for another type.
  EXPECT_TRUE(resources_.LookupOrCreateVariable("a", "w", DataType::kInt32, {3}).ok());
}

TEST_F(ResourceManagerTest, ThreadsThatCreateOneNameGetOneResource) {
  for (int round = 0; round < 50; ++round) {
    std::vector<ResourceRef<Box>> got(kThreads);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] { got[t] = BoxOf("", std::to_string(round)); });
    }
    for (std::thread& thread : threads) thread.join();
    std::set<Box*> different;
    for (const ResourceRef<Box>& box : got) different.insert(box.get());
    EXPECT_EQ(different.size(), 1u);
  }
  EXPECT_EQ(counts_.alive, 50);
}

TEST_F(ResourceManagerTest, LookupsGoOnWhileContainersAreDropped) {
  std::atomic<bool> stop{false};
  std::thread dropper([&] {
    while (!stop) {
      resources_.DropContainer("a");
      resources_.Reset({});
    }
  });
  std::vector<std::thread> users;
  for (int t = 0; t < kThreads; ++t) {
    users.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        BoxOf("a", std::to_string(i % 3));
        const ResourceRef<Variable> w = VariableOf("a", "w");
        ASSERT_EQ(w->Assign(Tensor::Vector<float>({1, 1})), absl::OkStatus());
        const StatusOr<Tensor> value = w->Read();
        ASSERT_TRUE(!value.ok() || value->data<float>()[0] == 1);
      }
    });
  }
  for (std::thread& user : users) user.join();
  stop = true;
  dropper.join();
  resources_.Reset({});
  EXPECT_EQ(counts_.alive, 0);
}

TEST_F(ResourceManagerTest, AStepsContainerGoesWithTheStep) {
  {
    StepContainer first(&resources_, 7);
    StepContainer second(&resources_, 8);
    EXPECT_EQ(first.Name(), "__per_step_7");
    BoxOf(first.Name(), "stack");
    BoxOf(second.Name(), "stack");
    BoxOf("", "stack");
    EXPECT_EQ(counts_.alive, 3);
  }
  EXPECT_EQ(counts_.alive, 1);
  EXPECT_EQ(counts_.dropped, 2);
}

}  // namespace
}  // namespace millstream
