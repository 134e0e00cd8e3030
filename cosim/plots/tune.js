// SPDX-License-Identifier: Apache-2.0
// The page of `tune`. data: {config, objective, unit, keys, start, trials}; a trial has number, stage, plan, expected, value.
"use strict";

function draw(page, data) {
  const value = { name: "value", label: data.objective.replaceAll("_", " "), unit: data.unit };
  const describe = trial => [`trial ${trial.number}, ${trial.stage}`, trial.plan || "as given", format(trial.value, data.unit)].join("\n");
  const ended = data.trials.filter(trial => typeof trial.value === "number");
  const timed = ended.filter(trial => trial.stage !== "fast");
  const steps = [];
  for (const trial of timed) if (!steps.length || trial.value < steps[steps.length - 1].value) steps.push(trial);
  const best = steps[steps.length - 1];
  page.append(html("p", { class: "dim" }, `${data.config}: ${data.trials.length} trials` + (best
    ? `, ${format(data.start, data.unit)} as given, ${format(best.value, data.unit)} at best.` : ".")));
  const row = html("div", { class: "row" });
  const section = (title, text, picture) => row.append(html("section", {}, html("h2", {}, title), html("p", { class: "dim" }, text), picture));
  section("History", "The trials in order; the line joins those that were the best of the timed model so far.",
    scatter(ended, { name: "number", label: "trial" }, value, { colour: { name: "stage", label: "stage" }, describe, line: steps }));
  const known = ended.filter(trial => typeof trial.expected === "number");
  if (known.length) section("Cost model", "What the cost model expected, and what the model of the card found.",
    scatter(known, { name: "expected", label: "expected by the cost model", unit: "ns" }, value, { colour: { name: "stage", label: "stage" }, describe }));
  page.append(row, html("h2", {}, "Trials"), table(data.trials, [{ name: "number", label: "trial" }, { name: "stage", label: "stage", text: true },
    { name: "expected", label: "expected", unit: "ns" }, value, { name: "plan", label: "plan", text: true },
    { name: "status", label: "status", text: true }, { name: "reason", label: "reason", text: true }]));
}
