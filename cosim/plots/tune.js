// SPDX-License-Identifier: Apache-2.0
// The page of `tune`. data: {config, objective, unit, more_is_better, plans, best, trials}; a trial has number, stage, plan, expected, value,
// status and reason.
"use strict";

function draw(page, data) {
  const value = { name: "value", label: data.objective.replaceAll("_", " "), unit: data.unit };
  const stage = { name: "stage", label: "stage" };
  const describe = trial => [`trial ${trial.number}, ${trial.stage}`, trial.plan, format(trial.value, data.unit)].join("\n");
  const ended = data.trials.filter(trial => typeof trial.value === "number");
  const better = (a, b) => data.more_is_better ? a.value > b.value : a.value < b.value;
  const steps = [];  // each the best of the timed model when it was found
  for (const trial of ended) if (trial.stage !== "fast" && (!steps.length || better(trial, steps[steps.length - 1]))) steps.push(trial);
  const given = data.trials[0], best = data.trials[data.best];
  page.append(html("p", { class: "dim" }, `${data.config}: ${data.trials.length} trials of ${data.plans} plans; ${value.label} ` +
    `${format(given.value, data.unit)} as given, ${format(best.value, data.unit)} at best: ${best.plan}.`));
  const row = html("div", { class: "row" });
  const section = (title, text, picture) => row.append(html("section", {}, html("h2", {}, title), html("p", { class: "dim" }, text), picture));
  section("History", "The trials in order; the line joins those that were the best so far. Point at a mark to see its plan.",
    scatter(ended, { name: "number", label: "trial" }, value, { colour: stage, describe, line: steps }));
  const known = ended.filter(trial => typeof trial.expected === "number");
  if (known.length) section("Cost model", "What the cost model expected, and what the model of the card found.",
    scatter(known, { name: "expected", label: "expected by the cost model", unit: "ns" }, value, { colour: stage, describe }));
  page.append(row, html("h2", {}, "Trials"), html("p", { class: "dim" }, "A click on a heading sorts by it."),
    table(data.trials, [{ name: "number", label: "trial" }, { ...stage, text: true }, { name: "expected", label: "expected", unit: "ns" }, value,
      { name: "plan", label: "plan", text: true }, { name: "status", label: "status", text: true }, { name: "reason", label: "reason", text: true }]));
}
