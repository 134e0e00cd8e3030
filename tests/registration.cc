// SPDX-License-Identifier: Apache-2.0
#include "tests/registration.h"

#include <deque>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

namespace spyre::test {
namespace {

struct Test {
  const char* name;
  const char* file;
  int line;
  MakeTest make;
};
struct Parameters {
  std::string prefix;
  InstancesOfSuite instances;
};
struct Suite {
  std::vector<Test> tests;
  std::vector<Parameters> parameters;
};

// By name and fixture.
using SuiteKey = std::pair<std::string, EnterTest>;
std::map<SuiteKey, Suite>& Suites() {
  static std::map<SuiteKey, Suite> suites;
  return suites;
}

}  // namespace

bool AddParameterizedTest(const char* suite, const char* name, const char* file, int line,
                          EnterTest enter, MakeTest make) {
  Suites()[{suite, enter}].tests.push_back({name, file, line, make});
  return true;
}

bool AddInstances(const char* prefix, const char* suite, EnterTest enter,
                  InstancesOfSuite instances) {
  Suites()[{suite, enter}].parameters.push_back({prefix, instances});
  return true;
}

void EnterParameterizedTests() {
  static auto* const kept = new std::deque<std::vector<Instance>>;  // as long as the program
  for (const auto& [key, suite] : Suites()) {
    const auto& [name, enter] = key;
    if (suite.tests.empty() || suite.parameters.empty()) {
      throw std::logic_error("suite " + name + " has no tests or no parameters");
    }
    for (const Parameters& parameters : suite.parameters) {
      const std::string full = parameters.prefix.empty() ? name : parameters.prefix + "/" + name;
      std::set<std::string> names;
      for (const Instance& instance : kept->emplace_back(parameters.instances())) {
        if (!names.insert(instance.name).second) {
          throw std::logic_error("two parameters of " + full + " have the name " + instance.name);
        }
        for (const Test& test : suite.tests) {
          enter(full, std::string(test.name) + "/" + instance.name, instance.printed.c_str(),
                test.file, test.line, test.make, instance.parameter);
        }
      }
    }
  }
}

}  // namespace spyre::test
