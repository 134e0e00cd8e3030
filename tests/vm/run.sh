#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Boots Debian's cloud kernel in QEMU (TCG, no KVM) with an IOMMU and two devices, runs one test program as all its
# work, and fails if the program does. Needs the packages of `setup.sh --vm`; writes only below DIR.
#   run.sh PROGRAM DIR
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
program="$1"
work="$2"

kernel="$(ls /boot/vmlinuz-*-cloud-amd64 | sort -V | tail -n 1)"
modules="/lib/modules/${kernel#/boot/vmlinuz-}/kernel"
rm -rf "$work"
mkdir -p "$work/root/"{bin,dev,proc,sys,lib}
cp "$(command -v busybox)" "$work/root/bin/busybox"
cp "$program" "$work/root/bin/tests"
# With the libraries that it loads.
ldd "$program" | grep -o '/[^ ]*' | sort -u | while read -r library; do
  mkdir -p "$work/root$(dirname "$library")"
  cp --dereference "$library" "$work/root$library"
done
# In the order in which they are loaded.
for module in virt/lib/irqbypass drivers/vfio/vfio drivers/vfio/vfio_virqfd drivers/vfio/vfio_iommu_type1 \
  drivers/vfio/pci/vfio-pci-core drivers/vfio/pci/vfio-pci; do
  if [ -f "$modules/$module.ko" ]; then
    cp "$modules/$module.ko" "$work/root/lib/"
    echo "$(basename "$module").ko" >>"$work/root/lib/order"
  fi
done
cp "$here/init" "$work/root/init"
chmod +x "$work/root/init"
(cd "$work/root" && find . -print0 | sort -z | cpio --null --create --format=newc --quiet) >"$work/initramfs"
truncate -s 16M "$work/disk"

# The serial line is the only way out.
timeout 300 qemu-system-x86_64 -machine q35 -accel tcg -cpu max -m 512M -smp 1 -nodefaults -display none -no-reboot \
  -device intel-iommu,intremap=on -device edu \
  -device pcie-root-port,id=root0,slot=1 -device nvme-subsys,id=subsystem \
  -device nvme,bus=root0,serial=spyre,subsys=subsystem,sriov_max_vfs=2,max_ioqpairs=6,msix_qsize=7,sriov_vq_flexible=4,sriov_vi_flexible=2 \
  -serial stdio \
  -kernel "$kernel" -initrd "$work/initramfs" \
  -append "console=ttyS0 quiet loglevel=4 intel_iommu=on vfio_pci.enable_sriov=1 vfio_pci.disable_idle_d3=1" \
  </dev/null | tee "$work/console"
grep -q '^tests/vm: the tests ended with status 0' "$work/console"
