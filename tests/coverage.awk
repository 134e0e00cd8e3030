# Verilator's coverage points to a table of files and blocks. A point: its file (f), line (l), column (n), kind (page),
# name (o), the source lines it stands for (S), and how often it was reached. A line or a bit is covered if any instance
# of its module reached it. Fails if a block has less than 95 % of its lines.
BEGIN { FS = "\001"; target = 95 }

function percent(part, whole) { return whole == 0 ? 100 : 100 * part / whole }

function row(name, lines_hit, lines, bits_hit, bits) {
  printf "%-44s %5d / %5d  %5.1f %%   %6d / %6d  %5.1f %%\n", name, lines_hit, lines, percent(lines_hit, lines),
      bits_hit, bits, percent(bits_hit, bits)
}

/^C / {
  delete value
  for (i = 2; i <= NF; ++i) {
    split($i, pair, "\002")
    value[pair[1]] = pair[2]
  }
  count = $NF
  sub(/.*' /, "", count)
  sub(/' [0-9]+$/, "", value["h"])
  file = value["f"]
  sub(/^.*model\/rtl\//, "", file)
  if (file ~ /spyre_pkg/) next
  files[file] = 1
  if (value["page"] ~ /^v_toggle/) {
    bit = value["l"] ":" value["n"] ":" value["o"]
    if (!((file, bit) in toggles)) ++bits[file]
    if (count > 0 && !toggles[file, bit]) ++bits_hit[file]
    toggles[file, bit] += count
    next
  }
  n = split(value["S"], ranges, ",")
  for (i = 1; i <= n; ++i) {
    ends = split(ranges[i], range, "-")
    for (line = range[1] + 0; line <= range[ends] + 0; ++line) {
      if (!((file, line) in reached)) { ++lines[file]; if (line > last[file]) last[file] = line }
      if (count > 0 && !reached[file, line]) ++lines_hit[file]
      reached[file, line] += count
    }
  }
}

END {
  printf "%-44s %21s   %24s\n", "", "lines", "toggled bits"
  names = 0
  for (file in files) name[++names] = file
  for (i = 2; i <= names; ++i)  # insertion sort: awk has no other
    for (j = i; j > 1 && name[j - 1] > name[j]; --j) { swap = name[j]; name[j] = name[j - 1]; name[j - 1] = swap }
  for (i = 1; i <= names; ++i) {
    file = name[i]
    block = file
    sub(/\/.*/, "", block)
    row(file, lines_hit[file], lines[file], bits_hit[file], bits[file])
    blocks[block] = 1
    block_lines[block] += lines[file]
    block_lines_hit[block] += lines_hit[file]
    block_bits[block] += bits[file]
    block_bits_hit[block] += bits_hit[file]
    missed = ""
    for (line = 1; line <= last[file]; ++line)
      if ((file, line) in reached && !reached[file, line]) missed = missed " " line
    if (missed != "") print "    not reached: lines" missed
  }
  print ""
  for (i = 1; i <= names; ++i) {
    block = name[i]
    sub(/\/.*/, "", block)
    if (!(block in blocks)) continue
    delete blocks[block]
    row("total " block, block_lines_hit[block], block_lines[block], block_bits_hit[block], block_bits[block])
    if (percent(block_lines_hit[block], block_lines[block]) < target) below = below " " block
  }
  if (below != "") {
    print "below " target " % of lines:" below
    exit 1
  }
}
