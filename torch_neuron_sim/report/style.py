"""The style sheet of the report's HTML: light, and dark where the reader prefers that."""

STYLE = """\
.neuron-report {
  --paper: #ffffff; --ink: #1f2328; --faint: #59636e; --line: #d1d9e0; --head: #f2f4f7;
  --bad: #b42318; --good: #136c39; --warn: #8a4b00;
  --c0: #0b62c4; --c1: #b8480b; --c2: #1a7f37; --c3: #8250df; --c4: #b3297c; --c5: #0e7490;
  --c6: #7a5c00; --c7: #57606a;
  color-scheme: light dark; background: var(--paper); color: var(--ink);
  font: 14px/1.5 system-ui, sans-serif; padding: 1rem;
}
@media (prefers-color-scheme: dark) {
  .neuron-report {
    --paper: #0f1318; --ink: #e6e9ed; --faint: #9aa5b1; --line: #333b45; --head: #1a2028;
    --bad: #ff8f85; --good: #6fd68f; --warn: #f0b45c;
    --c0: #6cb0ff; --c1: #ff9d5c; --c2: #63d283; --c3: #c3a1ff; --c4: #ff8ccb; --c5: #5fd0e6;
    --c6: #e0c04f; --c7: #aab4bf;
  }
}
.neuron-report h1 { font-size: 1.35rem; margin: 0 0 .5rem; }
.neuron-report h2 { font-size: 1.05rem; margin: 1.75rem 0 .5rem; }
.neuron-report dl {
  display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: 0; max-width: 75rem;
}
.neuron-report dt { color: var(--faint); }
.neuron-report dd { margin: 0; text-align: left; overflow-wrap: anywhere; }
.neuron-report .runs { color: var(--good); font-weight: 600; }
.neuron-report .falls-back, .neuron-report .incomplete, .neuron-report .unknown {
  color: var(--warn); font-weight: 600;
}
.neuron-report .raises { color: var(--bad); font-weight: 600; }
.neuron-report .scroll { overflow-x: auto; }
.neuron-report table { border-collapse: collapse; font-size: 13px; background: none; color: inherit; margin: 0; }
.neuron-report caption { text-align: left; color: var(--faint); padding: 0 0 .4rem; }
.neuron-report th, .neuron-report td {
  text-align: left; vertical-align: top; padding: .25rem .75rem; border-bottom: 1px solid var(--line);
  background: none; color: inherit; max-width: 45rem; white-space: normal;
}
.neuron-report thead th { background: var(--head); white-space: nowrap; }
.neuron-report .number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.neuron-report code {
  font: 12.5px/1.5 ui-monospace, monospace; background: none; color: inherit; overflow-wrap: anywhere;
}
.neuron-report .source, .neuron-report .note { color: var(--faint); }
.neuron-report figure { margin: 0 0 1rem; max-width: 52rem; }
.neuron-report figcaption { font-weight: 600; }
.neuron-report svg { display: block; width: 100%; height: auto; }
.neuron-report svg text { fill: var(--faint); font: 11px system-ui, sans-serif; }
.neuron-report svg .grid { stroke: var(--line); stroke-width: 1; }
.neuron-report svg .mark { stroke: var(--faint); stroke-dasharray: 4 3; }
.neuron-report svg .series { fill: none; stroke-width: 1.75; stroke-linejoin: round; }
.neuron-report .legend { margin: .1rem 0; padding: 0; list-style: none; display: flex; flex-wrap: wrap; gap: 0 1rem; }
.neuron-report .legend i {
  display: inline-block; width: 1em; height: .25em; vertical-align: middle; margin-right: .4em;
}
"""
