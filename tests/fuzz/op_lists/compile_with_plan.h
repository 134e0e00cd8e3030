// SPDX-License-Identifier: Apache-2.0
// Compiles a random list with a random plan, of which it drops what is refused, and looks whether
// what is left was kept to.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "base/ranges.h"
#include "runtime/compiler/front_end/front_end.h"
#include "tests/fuzz/op_lists/op_list_oracle.h"

namespace spyre::fuzz {

struct PlanTally {
  int planned = 0, nested = 0, divided = 0, pinned = 0;  // lists
  std::map<std::string, int> refusals;                   // of plans
};

inline void Print(const PlanTally& plans) {
  for (const auto& [what, count] : plans.refusals)
    std::printf("  %5d plans refused: %s\n", count, what.c_str());
  std::printf("  %d with a plan: %d of several inner loops, %d of own splits, %d of pins\n",
              plans.planned, plans.nested, plans.divided, plans.pinned);
}

// Of the key that the message names, else of the groups, else of all.
inline void DropRefused(const compiler::CompileError& error, Json& plan) {
  const std::string what = error.what();
  EXPECT_GT(what.size(), 20u) << what;
  for (const char* key : {"splits", "groups", "lx"}) {
    if (what.rfind(std::string("plan.") + key, 0) != 0) continue;
    EXPECT_EQ(error.type(), "InvalidPlan") << what;
    ASSERT_EQ(plan.count(key), 1u) << what;
    // "plan.groups[1]...": that one alone.
    const std::string beginning = std::string("plan.") + key + "[";
    if (what.rfind(beginning, 0) == 0 && plan[key].size() > 1) {
      plan[key].erase(std::stoul(what.substr(beginning.size())));
    } else {
      plan.erase(key);
    }
    return;
  }
  if (plan.erase("groups") == 0) plan = Json::object();
}

inline void CheckPlan(const compiler::Plan& plan, const compiler::FrontEndResult& result,
                      PlanTally& tally) {
  ++tally.planned;
  const auto& ops = result.graph.ops;
  const bool nested = AnyFits(ops, [](const compiler::GraphOp& op) {
    return op.loop && op.loop->group_id.size() > 1 && op.loop->group_id[1] > 0;
  });
  if (nested) ++tally.nested;
  if (!plan.splits.empty()) ++tally.divided;
  bool pinned = false;
  for (const auto& [name, place] : plan.places) {
    const compiler::LxBufferPlan* const buffer = result.lx.Find(name);
    const bool in_lx = buffer != nullptr && buffer->lx_address;
    EXPECT_EQ(in_lx, place.in_lx) << name << " is not where the plan wants it";
    if (in_lx && place.address) {
      EXPECT_EQ(*buffer->lx_address, *place.address) << name;
    }
    pinned = pinned || in_lx;
  }
  if (pinned) ++tally.pinned;
}

// `plan` becomes what was compiled; throws for a list that is refused without a plan too.
inline compiler::FrontEndResult CompileWithPlan(const compiler::NamedGraph& graph,
                                                compiler::FrontEndOptions options, Json& plan,
                                                PlanTally& tally) {
  while (plan.is_object() && !plan.empty()) {
    try {
      options.plan = compiler::ReadPlan(plan, "plan");
      compiler::FrontEndResult result = compiler::CompileNamedGraph(graph, options);
      CheckPlan(options.plan, result, tally);
      return result;
    } catch (const compiler::CompileError& error) {
      ++tally.refusals[error.type() + " " + error.message_kind()];
      DropRefused(error, plan);
    }
  }
  options.plan = {};
  return compiler::CompileNamedGraph(graph, options);
}

}  // namespace spyre::fuzz
