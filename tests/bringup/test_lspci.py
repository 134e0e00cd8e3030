# SPDX-License-Identifier: Apache-2.0
"""The configuration space as the decoder of pciutils, which knows nothing of this project, reads it."""

import os
import subprocess
import tempfile
import unittest

BRINGUP = os.path.join(os.environ["SPYRE_BUILD"], "spyre-bringup")


def decoded(*arguments):
    """What lspci says of the card, with the white space of each line made one blank."""
    with tempfile.TemporaryDirectory() as directory:
        dump = os.path.join(directory, "card.lspci")
        subprocess.run(
            [BRINGUP, "--lspci", dump, "--test", "*TheCardIsIdentified*", *arguments],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        text = subprocess.run(
            ["/usr/bin/lspci", "-F", dump, "-n", "-vvv"], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ).stdout
    return [" ".join(line.split()) for line in text.splitlines()]


class Lspci(unittest.TestCase):
    # docs/facts.md: what lspci prints of a card in a machine.
    def test_the_public_description_of_the_card(self):
        lines = decoded("--set", "card.num_vfs=16")
        self.assertEqual(lines[0], "01:00.0 1200: 1014:06a7 (rev 02)")
        for line in (
            "Capabilities: [50] MSI: Enable- Count=1/8 Maskable+ 64bit+",
            "DevCap: MaxPayload 512 bytes, PhantFunc 0, Latency L0s <64ns, L1 <1us",
            "ExtTag+ AttnBtn- AttnInd- PwrInd- RBE+ FLReset+ SlotPowerLimit 0W",
            "MaxPayload 512 bytes, MaxReadReq 4096 bytes",
            "LnkSta: Speed 32GT/s, Width x16",
            "10BitTagComp+ 10BitTagReq+ OBFF Not Supported, ExtFmt- EETLPPrefix-",
            "DevCtl2: Completion Timeout: 260ms to 900ms, TimeoutDis- LTR- 10BitTagReq+ OBFF Disabled,",
            "Initial VFs: 16, Total VFs: 16, Number of VFs: 0, Function Dependency Link: 00",
            "VF offset: 1, stride: 1, Device ID: 06a8",
        ):
            self.assertIn(line, lines)
        self.assertTrue(any(line.startswith("LnkCap: Port #0, Speed 32GT/s, Width x16, ASPM L1") for line in lines))
        self.assertTrue(any("Advanced Error Reporting" in line for line in lines))
        self.assertTrue(any("Alternative Routing-ID" in line for line in lines))
        self.assertFalse(any("MSI-X" in line or "Address Translation" in line for line in lines))
        self.assertFalse(any("unknown" in line.lower() for line in lines))

    def test_the_link_and_the_sizes_of_a_configuration(self):
        lines = decoded(
            "--set", "card.pcie.lanes=8", "--set", "card.pcie.rate_mts=16000", "--set", "card.pcie.max_payload_bytes=256"
        )
        self.assertIn("LnkSta: Speed 16GT/s, Width x8", lines)
        self.assertIn("MaxPayload 256 bytes, MaxReadReq 4096 bytes", lines)
        self.assertTrue(any(line.startswith("LnkCap2: Supported Link Speeds: 2.5-16GT/s") for line in lines))


if __name__ == "__main__":
    unittest.main()
