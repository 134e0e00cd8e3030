// SPDX-License-Identifier: Apache-2.0
// The page of a sweep. data: {config, points, counts, keys, figures, objectives, rows}.
"use strict";

function draw(page, data) {
  const keys = data.keys.map(name => ({ name, label: name }));
  const done = data.rows.filter(row => row.status === "done");
  // Not those that no point has.
  const isThere = ({ name }) => !done.length || data.objectives.includes(name) || done.some(row => name in row);
  const figures = data.figures.filter(isThere).map(figure => ({ ...figure, label: figure.name.replaceAll("_", " ") }));
  const columns = [...keys, ...figures];
  const column = name => columns.find(other => other.name === name);
  const better = figure => figure.more_is_better ? (a, b) => a > b : (a, b) => a < b;
  const describe = row => [`point ${row.point}`, ...keys.map(key => `${key.name} = ${row[key.name]}`),
    ...data.objectives.map(name => `${name} ${format(row[name], column(name).unit)}`), row.division, row.bound_by].filter(Boolean).join("\n");

  page.append(html("p", { class: "dim" }, `${data.config || "the default configuration"}: ` +
    `${data.rows.length} of ${data.points} points, ` + Object.entries(data.counts).map(([status, count]) => `${count} ${status}`).join(", ") + "."));
  if (!done.length) page.append(html("p", {}, "No point came to its end; the table says why."));

  const section = (title, text, controls, picture) => {
    const box = html("div");
    const update = () => box.replaceChildren(picture());
    page.lastElementChild.append(html("section", {}, html("h2", {}, title), html("p", { class: "dim" }, text), controls(update), box));
    update();
  };
  if (done.length) {
    page.append(html("div", { class: "row" }));
    const plot = { x: keys[0], y: column(data.objectives[0]), colour: keys[1] || figures[0] };
    section("Scatter", "Each point of the sweep. Point at a mark to see its keys.", update => html("div", {},
      chooser("x", columns, plot.x, chosen => { plot.x = chosen; update(); }),
      chooser("y", columns, plot.y, chosen => { plot.y = chosen; update(); }),
      chooser("colour", columns, plot.colour, chosen => { plot.colour = chosen; update(); })),
      () => scatter(done, plot.x, plot.y, { colour: plot.colour, describe }));
    const front = { x: column(data.objectives[1] || data.keys[0]), y: column(data.objectives[0]) };
    section("Pareto front", `No other point is better in one of ${data.objectives.join(", ")} and as good in the others.`,
      () => html("div"), () => scatter(done, front.x, front.y, { describe,
        line: done.filter(row => row.pareto).sort((a, b) => a[front.x.name] - b[front.x.name]) }));
    if (keys.length > 1) {
      const map = { x: keys[0], y: keys[1], figure: column(data.objectives.find(name => figures.includes(column(name)))) || figures[0] };
      section("Heat map", "The best point of each cell, over the keys that are not shown.", update => html("div", {},
        chooser("x", keys, map.x, chosen => { map.x = chosen; update(); }),
        chooser("y", keys, map.y, chosen => { map.y = chosen; update(); }),
        chooser("figure", figures, map.figure, chosen => { map.figure = chosen; update(); })),
        () => heatMap(done, map.x, map.y, map.figure, better(map.figure), describe));
    }
    page.append(html("div", { class: "row" }));
    section("Parallel coordinates", "A line for each point; thick lines are on the Pareto front.", () => html("div"),
      () => parallel(done, [...keys, ...data.objectives.filter(name => !data.keys.includes(name)).map(column)], describe));
  }
  page.append(html("h2", {}, "Points"), html("p", { class: "dim" }, "A click on a heading sorts by it."),
    table(data.rows, [{ name: "point", label: "point" }, ...keys, { name: "status", label: "status", text: true }, ...figures,
      { name: "bound_by", label: "bound by", text: true }, { name: "division", label: "division", text: true },
      { name: "reason", label: "reason", text: true }]));
}
