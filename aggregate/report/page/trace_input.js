/* Pointer and keys of the timeline. */
'use strict';

Object.assign(Trace, {
  press(e) {
    if (e.button !== 0)
      return;
    const x = e.offsetX, y = e.offsetY, inside = x >= TRACE.label && y >= TRACE.head;
    Trace.drawing.canvas.setPointerCapture(e.pointerId);
    Trace.drag = {x, y, moved: false, from: Trace.from, to: Trace.to, scroll: Trace.drawing.scroll, inside};
    Trace.drag.range = inside && (e.shiftKey || Trace.tool === 'select');
    Card.hide();
  },
  point(e) {
    const x = e.offsetX, y = e.offsetY, drag = Trace.drag;
    Trace.pointer = {x, y};
    if (!drag) {
      TracePanes.hover(x, y, e);
      return;
    }
    drag.moved = drag.moved || Math.abs(x - drag.x) > 3 || Math.abs(y - drag.y) > 3;
    if (!drag.moved || !drag.inside)
      return;
    if (drag.range) {
      const ends = [drag.x, x].map(at => Math.round(Trace.timeAt(Math.max(TRACE.label, at)))).sort((a, b) => a - b);
      Trace.keep({range: ends[1] > ends[0] ? ends.join('-') : ''});
      return;
    }
    const by = (drag.x - x) / Trace.drawing.scale;
    Trace.drawing.scroll = drag.scroll + drag.y - y;
    Trace.show(drag.from + by, drag.to + by);
  },
  release(e) {
    const drag = Trace.drag;
    Trace.drag = null;
    TracePanes.changed = true;
    Trace.later();
    if (drag && !drag.moved)
      Trace.click(e.offsetX, e.offsetY);
  },
  click(x, y) {
    const d = Trace.drawing, box = d.at(x, y), t = Pod.timeline;
    if (y < TRACE.head) {
      const time = Trace.timeAt(x), step = t.step.find(s => time >= s.begin && time <= s.end);
      if (x >= TRACE.label && step)
        Select.set({from: Select.nearest(step.number)});
    } else if (x < TRACE.label) {
      const row = d.rowAt(y);
      if (row)
        Trace.toggle(t.rank[row.rank].rank);
    } else if (box && box.merged > 1)
      Trace.zoom(1 / 20, Trace.timeAt(x));
    else
      Trace.select(box ? box.number : null);
  },
  wheel(e) {
    const size = e.deltaMode === 1 ? 16
        : e.deltaMode === 2        ? 400
                                   : 1,
          dx = e.deltaX * size, dy = e.deltaY * size, d = Trace.drawing;
    if (e.ctrlKey || e.metaKey) {
      e.preventDefault();
      Trace.zoom(Math.exp(Math.max(-200, Math.min(200, dy)) / 300), Trace.timeAt(Math.max(TRACE.label, e.offsetX)));
    } else if (e.shiftKey || Math.abs(dx) > Math.abs(dy)) {
      e.preventDefault();
      const by = (dx || dy) / d.scale;
      Trace.show(Trace.from + by, Trace.to + by);
    } else { /* at the ends the page scrolls */
      const scroll = Math.max(0, Math.min(d.scroll + dy, d.total + TRACE.head - d.height));
      if (scroll !== d.scroll) {
        e.preventDefault();
        d.scroll = scroll;
        Trace.later();
      }
    }
  },

  searching(e) {
    if (e.key === 'Enter')
      Trace.hit(e.shiftKey ? -1 : 1);
    else if (e.key === 'Escape') {
      e.preventDefault();
      Trace.keep({q: ''});
      Trace.drawing.canvas.focus();
    }
  },
  key(e) {
    const at = Trace.pointer ? Trace.timeAt(Math.max(TRACE.label, Trace.pointer.x)) : undefined;
    const does = {
      a: () => Trace.pan(-0.1),
      d: () => Trace.pan(0.1),
      w: () => Trace.zoom(1 / 1.25, at),
      s: () => Trace.zoom(1.25, at),
      f: () => Trace.fitEvent(),
      0: () => Trace.home(),
      m: () => Trace.mark(),
      n: () => Trace.hit(1),
      p: () => Trace.hit(-1),
      '/': () => Trace.input.focus(),
      '?': () => Trace.keys.open = !Trace.keys.open,
      Escape: () => Trace.keep({sel: '', range: ''}),
      Enter: () => Trace.enter(),
      ArrowLeft: () => Trace.beside(-1),
      ArrowRight: () => Trace.beside(1),
      ArrowUp: () => Trace.climb(-1),
      ArrowDown: () => Trace.climb(1)
    }[e.key.length === 1 ? e.key.toLowerCase() : e.key];
    if (!does || e.ctrlKey || e.metaKey || e.altKey)
      return;
    e.preventDefault();
    does();
  },
  one() {
    return Trace.selected === null ? null : TraceData.of(Trace.selected);
  },
  mark() {
    const one = Trace.one();
    if (one && one.length > 0)
      Trace.keep({range: `${one.begin}-${one.begin + one.length}`});
  },
  /* Without an event: the pinned rank. */
  enter() {
    const one = Trace.one();
    if (one)
      Trace.toggle(one.rank);
    else if (Viewer.heat)
      Trace.toggle(Pod.worker.rank[Select.worker]);
  },
  first() {
    const row = Trace.drawing.rows.find(r => r.track !== null && r.track !== undefined),
          number = row ? TraceData.nearest(row.track, 0, (Trace.from + Trace.to) / 2) : null;
    if (number !== null)
      Trace.select(number, true);
  },
  beside(by) {
    const one = Trace.one(), number = one && TraceData.beside(one.trackNumber, one.depth, one.begin, by);
    if (!one)
      Trace.first();
    else if (number !== null)
      Trace.select(number, true);
  },
  /* In an opened rank over the depths, then to the next row; in a closed one, which has one row for them, to the next rank. */
  climb(by) {
    const one = Trace.one(), d = Trace.drawing;
    if (!one) {
      Trace.first();
      return;
    }
    const row = d.rowOf(one.trackNumber);
    let number = null;
    if (!row.flat && one.depth + by >= 0) {
      number = by < 0 ? TraceData.nearest(one.trackNumber, one.depth - 1, one.begin)
                      : TraceData.beside(one.trackNumber, one.depth + 1, one.begin - 0.5, 1);
      const inner = number !== null && by > 0 ? TraceData.of(number) : null;
      if (inner && inner.begin >= one.begin + one.length)
        number = null;
    }
    for (let k = d.rows.indexOf(row) + by; number === null && k >= 0 && k < d.rows.length; k += by) {
      const {track, flat} = d.rows[k];
      if (track !== null && track !== undefined)
        number = (flat ? TraceData.nearest(track, one.depth, one.begin) : null) ?? TraceData.nearest(track, 0, one.begin);
    }
    if (number !== null)
      Trace.select(number, true);
  },
});
