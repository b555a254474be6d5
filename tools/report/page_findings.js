/* SPDX-License-Identifier: Apache-2.0 */
/* What stands out, as sentences that lead to their places. What was lost or
 * refused, and what hung, stands above them (page_tables.js). */
"use strict";

const FINDINGS_SHOWN = 6;
const findings = data.findings.filter(({what}) => !["lost", "refused", "hung"].includes(what));

/* There, with as much around, and marked; what an earlier one filtered and marked ends. */
function goToFinding({track, row, from, to}) {
  document.getElementById("timeline").scrollIntoView({block: "nearest"});
  const timed = from !== undefined, around = (to - from) / 2;
  view.only = !timed && data.kinds[row] ? data.kinds[row].name : null;
  searchBox.value = "";
  match();
  if (data.tracks[track] && data.tracks[track].rows.length) bringRow(data.tracks[track].rows[0]);
  if (timed) show(from - around, to + around);
  else fit();
  setRange(timed ? {from, to} : null);
}
function fillFindings() {
  const parent = document.getElementById("findings");
  if (!findings.length) return;
  parent.hidden = false;
  add(parent, "h2", "Findings");
  const list = add(parent, "ul");
  findings.forEach((finding, i) => {
    const item = add(list, "li"), canGo = !data.merged && (finding.from !== undefined || data.kinds[finding.row] || data.tracks[finding.track]);
    item.hidden = i >= FINDINGS_SHOWN;
    if (canGo) go(item, finding.from === undefined ? "show" : moment(finding.from, 100000), () => goToFinding(finding));
    add(item, "span", finding.text);
  });
  if (findings.length <= FINDINGS_SHOWN) return;
  const more = add(parent, "button", `${findings.length - FINDINGS_SHOWN} more`);
  more.addEventListener("click", () => {
    list.querySelectorAll("li").forEach(item => item.hidden = false);
    more.remove();
  });
}
