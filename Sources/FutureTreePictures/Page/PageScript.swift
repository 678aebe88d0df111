import FutureTree

extension TreePage {
  /// The script of a page. It shows a moment of the history, and the futures that match a filter. It changes classes and texts, and
  /// creates no elements.
  static let script = """
    (function () {
      'use strict';
      var byId = function (id) { return document.getElementById(id); };
      var data = JSON.parse(byId('data').textContent);
      byId('data').remove();
      var scrubber = byId('scrubber'), filter = byId('filter');
      var kinds = Array.from(document.querySelectorAll('input[name=kind]'));
      var events = Array.from(byId('events').children);
      var last = events.length;
      var current = last, search = '', shownEvent = null, shownEvents = new Set();
      // The maximum number of rows. A page with more elements than this is slow.
      var limit = 500;
      var futures = data.futures.map(function (entry, index) {
        return { number: entry[0], name: entry[1], search: entry[1].toLowerCase(), looks: entry[2], others: entry[3],
          row: byId('f' + entry[0]), box: byId('b' + index), edges: [], look: undefined, isMatching: true, isShown: false, isChanged: true };
      });
      var numbers = new Map(futures.map(function (future) { return [String(future.number), future]; }));
      var edges = data.edges.map(function (entry, index) {
        var edge = { from: futures[entry[0]], to: futures[entry[1]], changes: entry[2], line: byId('l' + index), state: '' };
        edge.from.edges.push(edge);
        edge.to.edges.push(edge);
        return edge;
      });
      // Without ids, so that the browser does not scroll to the event that the address names.
      events.forEach(function (row) { row.removeAttribute('id'); });

      // The last of some changes, at or before a moment.
      function at(changes, moment) {
        var low = 0, high = changes.length;
        while (low < high) {
          var middle = (low + high) >> 1;
          if (changes[middle][0] <= moment) { low = middle + 1; } else { high = middle; }
        }
        return low > 0 ? changes[low - 1] : null;
      }
      function names(future, end, other) {
        var list = future.edges.filter(function (edge) { return edge.state === 'wanted' && edge[end] === future; });
        var text = list.slice(0, 5).map(function (edge) { return edge[other].name; }).join(', ');
        return list.length > 5 ? text + ' and ' + (list.length - 5) + ' more' : text;
      }
      function isMatch(future, look, shownKinds) {
        return Boolean(look) && future.search.includes(search) &&
          (shownKinds.has(look[1]) || look[2] && shownKinds.has('withheld'));
      }
      // Elements are changed only if their content changes.
      function show() {
        var counts = {}, matches = 0, total = 0;
        search = filter.value.toLowerCase();
        var shownKinds = new Set(kinds.filter(function (box) { return box.checked; }).map(function (box) { return box.value; }));
        edges.forEach(function (edge) {
          var change = at(edge.changes, current), state = change ? change[1] : 'absent';
          if (edge.state === state) { return; }
          edge.state = state;
          edge.from.isChanged = edge.to.isChanged = true;
          if (edge.line) { edge.line.setAttribute('class', 'edge ' + state); }
        });
        futures.forEach(function (future) {
          var look = at(future.looks, current), isMatching = isMatch(future, look, shownKinds);
          if (look) {
            counts[look[1]] = (counts[look[1]] || 0) + 1;
            total += 1;
            matches += isMatching ? 1 : 0;
          }
          var isShown = isMatching && matches <= limit;
          if (future.look === look && future.isMatching === isMatching && future.isShown === isShown && !future.isChanged) {
            return;
          }
          future.look = look;
          future.isMatching = isMatching;
          future.isShown = isShown;
          future.isChanged = false;
          if (look) { showRow(future, look); }
          future.row.classList.toggle('shown', isShown);
          if (future.box) { showBox(future, look); }
        });
        byId('more').hidden = matches <= limit;
        byId('more').textContent = 'Show all ' + matches + ' futures';
        byId('summary').textContent = total + ' future' + (total === 1 ? '' : 's') + (total > 0 ? ': ' : '') +
          ['pending', 'succeeded', 'failed', 'cancelled'].filter(function (kind) { return counts[kind]; })
            .map(function (kind) { return counts[kind] + ' ' + kind; }).join(', ') +
          (matches < total ? ' (' + matches + ' match)' : '');
        if (last > 0) { showMoment(); }
      }
      function showRow(future, look) {
        var cells = future.row.children;
        future.row.setAttribute('class', 'future ' + look[1] + (look[2] ? ' withheld' : ''));
        cells[1].textContent = look[3];
        cells[2].textContent = [names(future, 'from', 'to'), future.others].filter(Boolean).join(', ');
        cells[3].textContent = names(future, 'to', 'from');
        cells[4].textContent = look[5];
      }
      function showBox(future, look) {
        var box = future.box, marked = box.classList.contains('marked') ? ' marked' : '';
        if (!look) { return box.setAttribute('class', 'future absent' + marked); }
        box.setAttribute('class',
          'future ' + look[1] + (look[2] ? ' withheld' : '') + (future.isMatching ? '' : ' unmatched') + marked);
        box.querySelector('.state').textContent = look[3];
        box.querySelector('.detail').textContent = look[4];
      }
      // Shows the matching events around the current one.
      function showEvents() {
        var matching = [], before = 0;
        events.forEach(function (row, index) {
          var future = numbers.get(row.dataset.future);
          if (!future || !future.search.includes(search)) { return; }
          matching.push(row);
          before += index < current ? 1 : 0;
        });
        var first = Math.max(0, Math.min(before - limit / 2, matching.length - limit));
        var shown = new Set(matching.slice(first, first + limit));
        shownEvents.forEach(function (row) { if (!shown.has(row)) { row.classList.remove('shown'); } });
        shown.forEach(function (row) { row.classList.add('shown'); });
        shownEvents = shown;
      }
      function showMoment() {
        var row = events[current - 1];
        showEvents();
        if (shownEvent) { shownEvent.classList.remove('current'); }
        row.classList.add('current');
        shownEvent = row;
        scrubber.value = current;
        byId('moment').textContent = 'Event ' + current + ' of ' + last + ', ' + row.textContent;
        byId('back').disabled = current <= 1;
        byId('next').disabled = current >= last;
      }
      function go(moment) {
        current = Math.min(Math.max(moment, 1), last);
        show();
        // Browsers refuse this in some frames, and if it is called often.
        try { history.replaceState(null, '', '#e' + current); } catch (error) { return; }
      }
      // Shows the moment or the future in the address.
      function follow() {
        var place = /^#([ef])([0-9]+)$/.exec(location.hash), future = place && place[1] === 'f' && numbers.get(place[2]);
        if (place && place[1] === 'e') { current = Math.min(Math.max(Number(place[2]), 1), last); }
        show();
        if (future && future.look && !future.isShown) {
          filter.value = '';
          kinds.forEach(function (box) { box.checked = true; });
          limit = Infinity;
          show();
        }
        if (future) { future.row.scrollIntoView({ block: 'nearest' }); }
      }

      byId('zoom').addEventListener('change', function () {
        var drawing = document.querySelector('figure > svg'), zoom = Number(byId('zoom').value);
        drawing.style.maxWidth = zoom ? 'none' : '';
        drawing.style.width = zoom ? drawing.viewBox.baseVal.width * zoom + 'px' : '';
      });
      byId('controls').hidden = false;
      filter.addEventListener('input', show);
      byId('more').addEventListener('click', function () { limit = Infinity; show(); });
      kinds.forEach(function (box) { box.addEventListener('change', show); });
      window.addEventListener('hashchange', follow);
      if (last > 0) {
        scrubber.addEventListener('input', function () { go(Number(scrubber.value)); });
        byId('back').addEventListener('click', function () { go(current - 1); });
        byId('next').addEventListener('click', function () { go(current + 1); });
      }
      document.addEventListener('keydown', function (event) {
        if (event.altKey || event.ctrlKey || event.metaKey) { return; }
        if (event.target === filter) {
          if (event.key !== 'Escape') { return; }
          filter.value = '';
          filter.blur();
          show();
        } else if (event.key === '/') { filter.focus(); }
        else if (last === 0 || event.target === scrubber) { return; }
        else if (event.key === 'ArrowRight') { go(current + 1); }
        else if (event.key === 'ArrowLeft') { go(current - 1); }
        else if (event.key === 'Home') { go(1); }
        else if (event.key === 'End') { go(last); }
        else { return; }
        event.preventDefault();
      });
      follow();
    })();
    """
}
