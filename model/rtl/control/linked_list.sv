// SPDX-License-Identifier: Apache-2.0
// A list of nodes in the order in which they were appended, from which any node may be taken out. Append and remove may
// come in one cycle; a node is in the list at most once.
module linked_list
  import control_pkg::*;
(
    input logic clk,
    input logic rst,
    input logic append,
    input node_t append_node,
    input logic remove,
    input node_t remove_node,
    input node_t cursor,  // a node of the list
    output node_t after_cursor,
    output logic cursor_is_last,
    output node_t head,
    output logic empty
);
  node_t next[NODES];
  node_t previous[NODES];
  node_t tail;

  assign after_cursor = next[cursor];
  assign cursor_is_last = cursor == tail;

  node_t kept_tail;  // after the removal
  logic kept_none;
  always_comb begin
    kept_tail = remove && remove_node == tail ? previous[remove_node] : tail;
    kept_none = empty || (remove && remove_node == head && remove_node == tail);
  end

  always_ff @(posedge clk) begin
    if (remove) begin
      if (remove_node == head) head <= next[remove_node];
      else next[previous[remove_node]] <= next[remove_node];
      if (remove_node != tail) previous[next[remove_node]] <= previous[remove_node];
      tail <= kept_tail;
      empty <= kept_none;
    end
    if (append) begin
      if (kept_none) head <= append_node;
      else next[kept_tail] <= append_node;
      previous[append_node] <= kept_tail;
      tail <= append_node;
      empty <= 1'b0;
    end
    if (rst) begin
      head <= '0;
      tail <= '0;
      empty <= 1'b1;
    end
  end

  assert property (@(posedge clk) disable iff (rst) remove |-> !empty)
  else $error("a node is taken out of an empty list");
  assert property (@(posedge clk) disable iff (rst) append && !empty && !remove |-> append_node != tail)
  else $error("a node is appended to itself");
endmodule
