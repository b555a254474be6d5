/* SPDX-License-Identifier: Apache-2.0 */
/* What stands out, as sentences that lead to their places. What was lost or
 * refused, and what hung, stands above them (page_tables.js). */
"use strict";

const FINDINGS_SHOWN = 6, IDLE = ["idle_at_end", "late_start", "idle", "all_idle"];
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
/* A line with the way there. The address of a place opens it elsewhere, too. */
function addFinding(list, finding, hidden, command) {
  const item = add(list, "li"), timed = finding.from !== undefined;
  item.hidden = hidden;
  if (!data.merged && (timed || data.kinds[finding.row] || data.tracks[finding.track])) {
    const link = add(item, "a", timed ? moment(finding.from, 100000) : "show");
    if (timed) link.href = `#${placeOf(finding)}`;
    pressable(link, event => {
      event.preventDefault();
      goToFinding(finding);
    });
  }
  const text = add(item, "span", finding.text);
  if (command && timed) add(text, "code", commandOf("timeline", finding));
}
/* What is slow, and why: as rbwp why says it, with the command that shows the place of each. */
function fillAnswer(parent, slow) {
  add(parent, "h2", "What is slow, and why");
  const list = add(parent, "ul", undefined, "answer");
  for (const finding of slow) addFinding(list, finding, false, true);
  add(parent, "code", commandOf("why", null));
}
function fillFindings() {
  const parent = document.getElementById("findings"), calls = data.kinds.filter(({category}) => category === "bgwork");
  const slow = findings.filter(({what}) => what === "slow"), others = findings.filter(({what}) => what !== "slow");
  parent.hidden = false;
  if (slow.length) fillAnswer(parent, slow);
  if (others.length || !slow.length) add(parent, "h2", "Findings");
  if (!findings.length || IDLE.includes(findings[0].what))
    add(parent, "p", `Nothing stands out: ${exact(calls.reduce((sum, {count}) => sum + Number(count), 0))} calls of ${calls.length} names, no slow ones that are worth 1 % of the run.`);
  const list = add(parent, "ul");
  others.forEach((finding, i) => addFinding(list, finding, i >= FINDINGS_SHOWN, false));
  if (others.length <= FINDINGS_SHOWN) return;
  const more = add(parent, "button", `${others.length - FINDINGS_SHOWN} more`);
  more.addEventListener("click", () => {
    list.querySelectorAll("li").forEach(item => item.hidden = false);
    more.remove();
  });
}
