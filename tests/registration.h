// SPDX-License-Identifier: Apache-2.0
// TEST, TEST_F, TEST_P and INSTANTIATE_TEST_SUITE_P with GoogleTest's meaning, which compile in a
// tenth to a half of the time. GoogleTest makes a class with a factory of its own for every test,
// instantiates its tables for every suite with parameters, and enters the tests of a translation
// unit in one function that takes longer for each the more they are. Here functions that are the
// same for all give them to testing::RegisterTest. Part of the precompiled headers of tests alone:
// without it a test file has GoogleTest's own macros.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace spyre::test {

// A test without a fixture of its own.
class FunctionTest : public ::testing::Test {
 public:
  explicit FunctionTest(void (*body)()) : body_(body) {}
  void TestBody() override { body_(); }

 private:
  void (*body_)();
};

inline bool Register(const char* suite, const char* name, const char* file, int line,
                     void (*body)()) {
  ::testing::RegisterTest(suite, name, nullptr, nullptr, file, line,
                          [body]() -> ::testing::Test* { return new FunctionTest(body); });
  return true;
}

template <typename Fixture>
bool RegisterWithFixture(const char* suite, const char* name, const char* file, int line,
                         Fixture* (*make)()) {
  ::testing::RegisterTest(suite, name, nullptr, nullptr, file, line, make);
  return true;
}

// A parameter, as its tests are named and as GoogleTest prints it. It lives as long as the program.
struct Instance {
  std::string name;
  std::string printed;
  const void* parameter;
};
using MakeTest = ::testing::Test* (*)();
using InstancesOfSuite = std::vector<Instance> (*)();
// Enters a test for a parameter.
using EnterTest = void (*)(const std::string& suite, const std::string& name, const char* printed,
                           const char* file, int line, MakeTest make, const void* parameter);

// A test of a suite with parameters, and the parameters of one. main() enters each test for each
// parameter.
bool AddParameterizedTest(const char* suite, const char* name, const char* file, int line,
                          EnterTest enter, MakeTest make);
bool AddInstances(const char* prefix, const char* suite, EnterTest enter,
                  InstancesOfSuite instances);
// Throws std::logic_error for a suite without tests or without parameters, and for two parameters
// of a name.
void EnterParameterizedTests();

// testing::Values within INSTANTIATE_TEST_SUITE_P: a list, where GoogleTest makes an iterator with
// a class of its own. All else there is GoogleTest's.
namespace parameters {
using namespace ::testing;  // NOLINT(google-build-using-namespace)
template <typename... Ts>
struct Listed {
  // Within testing::Combine.
  template <typename T>
  operator internal::ParamGenerator<T>() const {  // NOLINT(google-explicit-constructor)
    return std::apply(
        [](const Ts&... each) { return ValuesIn(std::vector<T>{static_cast<T>(each)...}); },
        values);
  }

  std::tuple<Ts...> values;
};
template <typename... Ts>
Listed<Ts...> Values(Ts... values) {
  return {std::tuple<Ts...>(std::move(values)...)};
}
}  // namespace parameters

template <typename T>
struct ParameterOf;

template <typename Fixture>
std::string NumberAsName(const ::testing::TestParamInfo<typename Fixture::ParamType>& instance) {
  return std::to_string(instance.index);
}

template <typename Fixture, typename Name>
void AddInstance(std::vector<Instance>& all, const typename Fixture::ParamType* parameter,
                 const Name& name) {
  all.push_back(
      {name(::testing::TestParamInfo<typename Fixture::ParamType>(*parameter, all.size())),
       ::testing::PrintToString(*parameter), parameter});
}

template <typename Fixture, typename Name = decltype(&NumberAsName<Fixture>)>
std::vector<Instance> MakeInstances(
    const ::testing::internal::ParamGenerator<typename Fixture::ParamType>& parameters,
    const Name& name = NumberAsName<Fixture>) {
  using T = typename Fixture::ParamType;
  std::vector<Instance> instances;
  for (const T& each : parameters) AddInstance<Fixture>(instances, new T(each), name);
  return instances;
}

template <typename Fixture, typename Name = decltype(&NumberAsName<Fixture>), typename... Ts>
std::vector<Instance> MakeInstances(const parameters::Listed<Ts...>& parameters,
                                    const Name& name = NumberAsName<Fixture>) {
  using T = typename Fixture::ParamType;
  std::vector<Instance> instances;
  std::apply(
      [&](const Ts&... each) {
        for (const T* parameter : {new T(each)...}) {
          AddInstance<Fixture>(instances, parameter, name);
        }
      },
      parameters.values);
  return instances;
}

}  // namespace spyre::test

// Who may set the parameter of a test: GoogleTest lets this template only.
template <typename T>
class testing::internal::ParameterizedTestFactory<spyre::test::ParameterOf<T>> {
 public:
  static void Set(const void* parameter) {
    WithParamInterface<T>::SetParam(static_cast<const T*>(parameter));
  }
};

namespace spyre::test {

template <typename Fixture>
void EnterTestOf(const std::string& suite, const std::string& name, const char* printed,
                 const char* file, int line, MakeTest make, const void* parameter) {
  ::testing::RegisterTest(suite.c_str(), name.c_str(), nullptr, printed, file, line,
                          [make, parameter]() -> Fixture* {
                            ::testing::internal::ParameterizedTestFactory<
                                ParameterOf<typename Fixture::ParamType>>::Set(parameter);
                            return static_cast<Fixture*>(make());
                          });
}

}  // namespace spyre::test

// The body is a member of a class that no object is made of, for the static functions of
// testing::Test that bodies call.
#undef TEST
#define TEST(suite, name)                                                         \
  struct suite##_##name##_Test : ::testing::Test {                                \
    static void StaticTestBody();                                                 \
    static const bool kTestIsRegistered;                                          \
  };                                                                              \
  const bool suite##_##name##_Test::kTestIsRegistered = ::spyre::test::Register(  \
      #suite, #name, __FILE__, __LINE__, &suite##_##name##_Test::StaticTestBody); \
  void suite##_##name##_Test::StaticTestBody()

#undef TEST_F
#define TEST_F(fixture, name)                                        \
  struct fixture##_##name##_Test final : fixture {                   \
    void TestBody() override;                                        \
    static const bool kTestIsRegistered;                             \
  };                                                                 \
  const bool fixture##_##name##_Test::kTestIsRegistered =            \
      ::spyre::test::RegisterWithFixture<fixture>(                   \
          #fixture, #name, __FILE__, __LINE__,                       \
          []() -> fixture* { return new fixture##_##name##_Test; }); \
  void fixture##_##name##_Test::TestBody()

#undef TEST_P
#define TEST_P(fixture, name)                                                                  \
  struct fixture##_##name##_Test final : fixture {                                             \
    void TestBody() override;                                                                  \
    static const bool kTestIsRegistered;                                                       \
  };                                                                                           \
  const bool fixture##_##name##_Test::kTestIsRegistered = ::spyre::test::AddParameterizedTest( \
      #fixture, #name, __FILE__, __LINE__, ::spyre::test::EnterTestOf<fixture>,                \
      []() -> ::testing::Test* { return new fixture##_##name##_Test; });                       \
  void fixture##_##name##_Test::TestBody()

// The parameters are made when main() has begun, as in GoogleTest.
#undef INSTANTIATE_TEST_SUITE_P
#define INSTANTIATE_TEST_SUITE_P(prefix, fixture, ...)                                         \
  [[maybe_unused]] static const bool prefix##_##fixture##_is_instantiated =                    \
      ::spyre::test::AddInstances(#prefix, #fixture, ::spyre::test::EnterTestOf<fixture>, [] { \
        namespace testing = ::spyre::test::parameters;                                         \
        return ::spyre::test::MakeInstances<fixture>(__VA_ARGS__);                             \
      })
