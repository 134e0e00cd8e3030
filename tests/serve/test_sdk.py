# SPDX-License-Identifier: Apache-2.0
"""Programs of the SDK on a card that another process serves: they are told where it is by SPYRE_COSIM_CARD."""

import os
import subprocess
import unittest

import served_card


class ProgramsOfTheSdk(served_card.ServedCard):
    def run_on_the_served_card(self, test):
        environment = dict(os.environ, SPYRE_COSIM_CARD="vfio-user:" + os.path.join(self.directory, "s"))
        done = subprocess.run([os.environ["SPYRE_SDK_TESTS"], "--gtest_filter=" + test], env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("[  PASSED  ] 1 test", done.stdout)

    def test_a_bundle_that_dxp_standalone_has_compiled_runs_on_a_served_card(self):
        self.serve()
        self.run_on_the_served_card("SdkLaunch.ABundleThatWasCompiledAloneAddsItsArguments")

    def test_copies_with_conversion_go_to_a_served_card_and_back(self):
        self.serve()
        self.run_on_the_served_card("SdkStreams.AFillWritesItsNumberInEveryElement")

    def test_the_next_program_gets_the_card_that_the_one_before_has_left(self):
        self.serve()
        for _ in range(2):
            self.run_on_the_served_card("SdkLaunch.ABundleThatWasCompiledAloneAddsItsArguments")


if __name__ == "__main__":
    unittest.main()
