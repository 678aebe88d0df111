import FutureTree

extension TreePage {
  static let style = """
    :root { color-scheme: light dark; }
    body { margin: 1.5rem auto; max-width: 84rem; padding: 0 1rem; overflow-wrap: anywhere;
      font: 15px/1.45 system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; }
    [hidden], .scripted #futures > li:not(.shown), .scripted #events > li:not(.shown) { display: none !important; }
    h1 { font-size: 1.4rem; margin: 0; } h2 { font-size: 1.1rem; margin: 1.2rem 0 0.4rem; } p { margin: 0.3rem 0; }
    button, input, select { font: inherit; } button { padding: 0.2rem 0.8rem; } input[type=search] { width: 12rem; }
    ul, ol { list-style: none; margin: 0; padding: 0; }
    .events a, .number { font-variant-numeric: tabular-nums; }
    figure { margin: 0.6rem 0; overflow-x: auto; } figure > .tree { max-width: 100%; height: auto; }
    .controls { display: flex; flex-wrap: wrap; gap: 0.4rem 0.9rem; align-items: center; margin: 0.6rem 0; }
    label { white-space: nowrap; } .timeline { flex: 1 1 16rem; min-width: 0; } .timeline input { width: 100%; margin: 0; display: block; }
    .ticks { display: block; width: 100%; height: 12px; } .ticks path { stroke-width: 2; fill: none; }
    #moment { display: block; min-height: 2.9em; }
    .legend { display: flex; flex-wrap: wrap; gap: 0.2rem 1.2rem; font-size: 0.85rem; }
    .legend svg { vertical-align: middle; margin-right: 0.4rem; }
    .columns, li.future { display: grid; gap: 0.1rem 0.8rem;
      grid-template-columns: minmax(8rem, 3fr) minmax(8rem, 3fr) minmax(6rem, 3fr) minmax(6rem, 3fr) minmax(8rem, 6fr); }
    .columns { font-weight: 600; }
    li.future { padding: 0.25rem 0; border-top: 1px solid; content-visibility: auto; contain-intrinsic-size: auto 1.9rem; }
    li.future .name { font-weight: 600; } .state { font-weight: 600; } .number { font-weight: 400; font-size: 0.85em; }
    .events li { padding: 0.1rem 0.3rem; content-visibility: auto; contain-intrinsic-size: auto 1.5rem; }
    .tree { font: 13px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; }
    .tree .future > rect { stroke-width: 1.5; } .tree .marked > rect { stroke-width: 3; }
    .tree .cancelled > rect { stroke-dasharray: 5 4; } .tree .withheld > rect { stroke-width: 3.5; }
    .tree .name { font-weight: 600; } .tree .state { font-weight: 600; font-size: 12px; } .tree .detail { font-size: 12px; }
    .tree .sign, .tree .cross, .tree .absent { display: none; } .tree .sign path { stroke-linecap: round; }
    .tree .pending > g > .pending, .tree .succeeded > g > .succeeded, .tree .failed > g > .failed,
    .tree .cancelled > g > .cancelled, .tree .cut > .cross { display: inline; }
    .tree .edge { fill: none; stroke-width: 1.5; } .tree .edge .arrow { stroke: none; } .tree .wanted { stroke-width: 2.2; }
    .tree .cut > path:first-child { stroke-dasharray: 3 4; } .tree .cross { stroke-width: 2.4; stroke-linecap: round; }
    .tree a:focus-visible > g > rect { stroke-width: 5; }
    @media (max-width: 48rem) {
      .columns, .hint { display: none; } .timeline { order: -1; flex-basis: 100%; }
      li.future { display: block; padding: 0.4rem 0; contain-intrinsic-size: auto 4rem; }
      li.future > span { display: block; } li.future > span:empty { display: none; }
      .consumers::before { content: "consumers: "; } .inputs::before { content: "inputs: "; }
    }
    @media print {
      body { margin: 0; max-width: none; font-size: 10px; } #controls, .hint { display: none; }
      figure { overflow: visible; }
      li.future, .events li { content-visibility: visible; break-inside: avoid; }
    }
    \(PagePalette.light.rules)
    @media (prefers-color-scheme: dark) {
    \(PagePalette.dark.rules)
    }
    @media print {
    \(PagePalette.light.rules)
    }
    """
}
