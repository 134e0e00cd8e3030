// SPDX-License-Identifier: Apache-2.0
// Which cores a program gets on a card whose cores are divided into partitions of equal size
// (card.concurrency = "concurrent"). A program gets whole partitions that lie side by side, as many
// as its highest core needs, at the lowest place that is free and within the cores that the PF has
// left to its function (SET_CORES); core 0 of the program is then the first core of the place.
//
// Functions take turns by weight (fair_share.h), for the time that they have partitions. A program
// whose turn it is and that does not fit yet keeps the places that it could have, and no other
// passes it on those, so a program of many cores is not kept out by small ones. Others may be
// started beside it.
//
// SystemC threads of dispatchers; kernel thread only.
#pragma once

#include <cstdint>
#include <systemc>
#include <vector>

#include "model/common/fair_share.h"
#include "model/core/job.h"
#include "model/mmu/mmu.h"

namespace spyre::model {

class CorePlacement {
 public:
  // partitions divides cores.
  CorePlacement(uint64_t cores, uint64_t partitions, size_t functions, const Mmu& mmu);

  // Partitions that programs of the function may use.
  unsigned PartitionsOf(unsigned function) const;
  // Whether there is a place for a program with these cores at all.
  bool Fits(unsigned function, uint32_t core_mask) const;
  // Waits until the program has its place, and fills in job.first_core and job.cores. False: the
  // job has been aborted meanwhile. cost: of its function (FairShare).
  bool Take(Job& job, uint32_t core_mask, uint32_t cost);
  // Gives back what the job has, if it has anything.
  void Free(const Job& job);
  // The PF has changed the cores of a function: who waits for those that it has lost ends with
  // PERMISSION.
  void CoresChanged() { Grant(); }

 private:
  struct Place {
    unsigned first_core;
    uint32_t partitions;  // one bit each
  };
  struct Waiting {
    Job* job = nullptr;
    uint32_t core_mask = 0;
    uint32_t cost = 0;
    bool granted = false;
    sc_core::sc_event event;
  };
  struct Taken {
    const Job* job;
    uint32_t partitions;
    uint64_t since_ps;
    uint32_t cost;
  };

  std::vector<Place> Places(unsigned function, uint32_t core_mask) const;
  uint32_t PartitionsUnder(uint64_t cores) const;
  void Grant();  // to those who can have what they wait for

  const unsigned cores_, partition_cores_;
  const Mmu& mmu_;
  FairShare shares_;
  uint32_t busy_ = 0;              // partitions
  std::vector<Waiting*> waiting_;  // in the order in which they came
  std::vector<Taken> taken_;
};

}  // namespace spyre::model
