/// The page of an inspector.
enum InspectorPage {
  static func html(nonce: String, allowsCancellation: Bool) -> String {
    """
    <!DOCTYPE html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>Futures</title>
    <style nonce="\(nonce)">
    \(style)
    </style>
    </head>
    <body>
    <h1>Futures</h1>
    <p id="summary" aria-live="polite">Connecting</p>
    <div class="controls">
    <label>Name <input type="search" id="filter" autocomplete="off"></label>
    <label>Order <select id="order"><option value="age">oldest</option><option value="consumers">most consumers</option>
    <option value="number">newest</option></select></label>
    <label><input type="checkbox" id="withheld"> only withheld requests</label>
    <label><input type="checkbox" id="paused"> pause</label>
    </div>
    <ul id="throttles" aria-label="Throttles"></ul>
    <div class="split">
    <div><div class="row head"><span>future</span><span>state</span><span>age</span><span>consumers</span><span>requests</span></div>
    <ul id="futures"></ul><p id="more" class="dim"></p></div>
    <section id="detail" aria-label="Selected future" hidden>
    <h2 id="name"></h2>
    <p id="facts"></p>
    <p>Consumers: <span id="waiters"></span></p>
    <p>Inputs: <span id="inputs"></span></p>
    <p><a id="tree" target="_blank" rel="noreferrer">The page of its tree</a></p>
    <h3>If it is cancelled now</h3>
    <ul id="previews"></ul>
    <form id="form" data-allowed="\(allowsCancellation)" hidden>
    <label>Reason <input id="reason" autocomplete="off"></label>
    <label>Options <select id="options"><option value="">none</option><option>doNotForwardIfOthersWaiting</option>
    <option>doNotForwardRequest</option><option>forceImmediately</option></select></label>
    <button>Cancel the future</button>
    </form>
    <p id="receipt" aria-live="polite"></p>
    </section>
    </div>
    <script nonce="\(nonce)">
    \(script)
    </script>
    </body>
    </html>

    """
  }

  private static let style = """
    :root { color-scheme: light dark; --text: #1f2328; --ground: #f6f8fa; --paper: #ffffff; --line: #d0d7de; --dim: #57606a;
      --strong: #0550ae; --request: #7d4e00; }
    @media (prefers-color-scheme: dark) { :root { --text: #f0f6fc; --ground: #151b23; --paper: #0d1117; --line: #3d444d;
      --dim: #9da7b3; --strong: #58a6ff; --request: #d29922; } }
    body { margin: 1.5rem auto; max-width: 84rem; padding: 0 1rem; color: var(--text); background: var(--ground);
      font: 15px/1.45 system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; overflow-wrap: anywhere; }
    h1 { font-size: 1.4rem; margin: 0; } h2 { font-size: 1.1rem; margin: 0; } h3 { font-size: 1rem; margin: 0.8rem 0 0.2rem; }
    p { margin: 0.3rem 0; } ul { list-style: none; margin: 0; padding: 0; } a { color: var(--strong); }
    button, input, select { font: inherit; max-width: 100%; } [hidden] { display: none !important; }
    .controls { display: flex; flex-wrap: wrap; gap: 0.4rem 1rem; margin: 0.6rem 0; } label { white-space: nowrap; }
    .dim { color: var(--dim); } .split { display: flex; gap: 1.5rem; align-items: flex-start; } .split > div { flex: 1; min-width: 0; }
    #throttles li { margin: 0.3rem 0; }
    #detail { flex: 0 0 24rem; background: var(--paper); border: 1px solid var(--line); border-radius: 8px; padding: 0.8rem;
      position: sticky; top: 1rem; max-height: calc(100vh - 4rem); overflow-y: auto; } #form label { display: block; margin: 0.3rem 0; }
    .row { display: grid; gap: 0 0.8rem; grid-template-columns: 4fr 3fr 4rem 6rem 5fr; padding: 0.15rem 0.4rem; width: 100%;
      border: 0; border-top: 1px solid var(--line); background: none; color: inherit; text-align: left; box-sizing: border-box; }
    .head { font-weight: 600; border: 0; } .row .name { font-weight: 600; } .row.withheld .request { color: var(--request); }
    .row:hover, .row[aria-pressed=true] { background: var(--paper); } .row[aria-pressed=true] { outline: 2px solid var(--strong); }
    @media (max-width: 48rem) {
      .split { flex-direction: column-reverse; } .split > div { width: 100%; } #detail { position: static; flex: none; width: 100%;
        box-sizing: border-box; max-height: none; }
      .head { display: none; } .row { grid-template-columns: 1fr 1fr 1fr; } .row .name, .row .request { grid-column: 1 / -1; }
    }
    """

  private static let script = """
    (function () {
      'use strict';
      var byId = function (id) { return document.getElementById(id); };
      var futures = new Map(), pool = [], selected = null, now = 0, isScheduled = false;
      // The maximum number of rows. A page with more elements than this is slow.
      var limit = 200;

      // Escapes characters that break a line or change the direction, and shortens long texts.
      function label(text) {
        var escaped = text.replace(/[\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff]/g,
          function (mark) { return '\\\\u{' + mark.charCodeAt(0).toString(16).toUpperCase() + '}'; })
          .replace(/(\\p{M}{4})\\p{M}+/gu, '$1…');
        var characters = Array.from(escaped);
        return characters.length > 300 ? characters.slice(0, 300).join('') + '…' : escaped;
      }
      function setText(element, text) { if (element.textContent !== text) { element.textContent = text; } }
      function future(row) {
        return { number: row[0], name: label(row[1]), search: row[1].toLowerCase(), state: row[2], consumers: row[3], since: row[4],
          asked: row[5], withheld: row[6], waiters: row[7], inputs: row[8] };
      }
      function age(one) {
        var seconds = Math.max(0, now - one.since) / 1000;
        return seconds < 100 ? seconds.toFixed(1) + ' s' : Math.round(seconds) + ' s';
      }
      function requests(one) {
        return [one.withheld === null ? '' : 'withheld: ' + label(one.withheld), one.asked === null ? '' : 'asked to cancel: ' + label(one.asked)]
          .filter(Boolean).join('; ');
      }
      var orders = {
        age: function (first, second) { return first.since - second.since || first.number - second.number; },
        consumers: function (first, second) { return second.consumers - first.consumers || first.number - second.number; },
        number: function (first, second) { return second.number - first.number; }
      };

      function schedule() {
        if (isScheduled) { return; }
        isScheduled = true;
        requestAnimationFrame(function () { isScheduled = false; show(); });
      }
      function show() {
        var search = byId('filter').value.toLowerCase(), onlyWithheld = byId('withheld').checked;
        var matches = Array.from(futures.values()).filter(function (one) {
          return one.search.includes(search) && (!onlyWithheld || one.withheld !== null);
        }).sort(orders[byId('order').value]);
        matches.slice(0, limit).forEach(showRow);
        for (var index = Math.min(matches.length, limit); index < pool.length; index += 1) { pool[index].hidden = true; }
        setText(byId('summary'), futures.size + ' pending future' + (futures.size === 1 ? '' : 's') +
          (matches.length < futures.size ? ' (' + matches.length + ' match)' : ''));
        setText(byId('more'), matches.length > limit ? 'The first ' + limit + ' of ' + matches.length + '. Filter by name to see others.' : '');
        showDetail();
      }
      function showRow(one, index) {
        var row = pool[index];
        if (!row) {
          row = document.createElement('li');
          var button = document.createElement('button');
          ['name', 'state', 'age', 'consumers', 'request'].forEach(function (name) {
            button.appendChild(document.createElement('span')).className = name;
          });
          button.addEventListener('click', function () { select(row.number); });
          row.appendChild(button);
          pool.push(byId('futures').appendChild(row));
        }
        var cells = row.firstChild.children;
        row.hidden = false;
        row.number = one.number;
        row.firstChild.className = one.withheld === null ? 'row' : 'row withheld';
        row.firstChild.setAttribute('aria-pressed', String(one.number === selected));
        [one.name, one.state, age(one), String(one.consumers), requests(one)].forEach(function (text, cell) { setText(cells[cell], text); });
      }
      function names(numbers) {
        return numbers.map(function (number) { return futures.has(number) ? futures.get(number).name : '(completed)'; }).join(', ') || 'none';
      }
      function showDetail() {
        var one = futures.get(selected);
        byId('detail').hidden = selected === null;
        if (!one) { return setText(byId('facts'), 'It is no longer pending.'); }
        setText(byId('name'), one.name);
        setText(byId('facts'), one.state + ', ' + age(one) + (requests(one) ? ', ' + requests(one) : ''));
        setText(byId('waiters'), names(one.waiters) + (one.consumers > one.waiters.length ? ', and ' +
          (one.consumers - one.waiters.length) + ' tokens, tasks or threads' : ''));
        setText(byId('inputs'), names(one.inputs));
        byId('tree').href = 'futures/' + one.number + '/tree';
        byId('form').hidden = byId('form').dataset.allowed !== 'true';
      }
      function select(number) {
        selected = number;
        setText(byId('receipt'), '');
        preview();
        show();
      }
      function preview() {
        var number = selected;
        byId('previews').replaceChildren();
        ['', 'doNotForwardIfOthersWaiting', 'forceImmediately'].forEach(function (options) {
          var item = byId('previews').appendChild(document.createElement('li'));
          item.textContent = (options || 'no options') + ': …';
          fetch('futures/' + number + '/preview?options=' + options).then(function (response) {
            return response.text();
          }).then(function (text) { item.textContent = (options || 'no options') + ': ' + text; });
        });
      }
      byId('form').addEventListener('submit', function (event) {
        event.preventDefault();
        var query = new URLSearchParams({ options: byId('options').value, reason: byId('reason').value });
        fetch('futures/' + selected + '/cancel?' + query, { method: 'POST' }).then(function (response) { return response.text(); })
          .then(function (text) { setText(byId('receipt'), text); });
      });
      function showThrottles(throttles) {
        byId('throttles').replaceChildren.apply(byId('throttles'), throttles.map(function (one) {
          var item = document.createElement('li');
          item.textContent = label(one[0]) + ': ' + one[2] + ' of ' + one[1] + ' in flight, ' + one[3] + ' queued' +
            (one[4].length ? ': ' + one[4].map(label).join(', ') : '') + (one[3] > one[4].length ? ', …' : '');
          return item;
        }));
      }
      ['filter', 'order', 'withheld'].forEach(function (id) { byId(id).addEventListener('input', schedule); });
      var source = new EventSource('events');
      source.addEventListener('open', function () { futures.clear(); });
      source.addEventListener('message', function (event) {
        var update = JSON.parse(event.data);
        now = update.now;
        update.gone.forEach(function (number) { futures.delete(number); });
        update.rows.forEach(function (row) { futures.set(row[0], future(row)); });
        if (update.throttles) { showThrottles(update.throttles); }
        if (!byId('paused').checked) { schedule(); }
      });
      source.addEventListener('error', function () { setText(byId('summary'), 'Connection lost. Trying again.'); });
    })();
    """
}
