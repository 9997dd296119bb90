/* Pointer and keys of the timeline: TraceMove is what the section and the board have in common. */
'use strict';

/* Of a view with from, to, drawing (a TraceDraw), pointer (null: it is elsewhere) and bounds(). */
const TraceMove = {
  show(from, to) {
    const [first, last] = this.bounds(), edge = 0.02 * (last - first) + 10, low = first - edge, high = last + edge,
                  wide = Math.max(20, Math.min(to - from, high - low)), middle = (from + to) / 2,
                  round = x => Math.round(x * 1000) / 1000, left = Math.max(low, Math.min(middle - wide / 2, high - wide));
    Trace.keep({from: round(left), to: round(left + wide)});
  },
  pan(part) {
    const by = part * (this.to - this.from);
    this.show(this.from + by, this.to + by);
  },
  /* `at`: the time that stays where it is. */
  zoom(factor, at) {
    const fixed = at ?? (this.from + this.to) / 2;
    this.show(fixed - (fixed - this.from) * factor, fixed + (this.to - fixed) * factor);
  },
  home() {
    Trace.keep({from: '', to: ''});
  },
  fitEvent() {
    const one = this.one(), shift = one ? this.shiftOf(one) : 0;
    if (one)
      this.show(one.begin - shift - 0.1 * one.length - 10, one.begin - shift + 1.1 * one.length + 10);
  },
  shiftOf(one) {
    return this.drawing.rowOf(one.trackNumber)?.shift || 0;
  },
  timeAt(x) {
    return this.from + (x - this.drawing.left) / this.drawing.scale;
  },
  one() {
    return Trace.selected === null ? null : TraceData.of(Trace.selected);
  },

  /* Selects an event; `reveal` brings it into view. Its chunk may have to come first. */
  select(number, reveal) {
    const chunk = number === null ? null : TraceData.chunkOf(number);
    if (chunk && !chunk.levels) {
      TraceData.get(chunk).then(() => {
        Trace.came();
        this.select(number, reveal);
      }, Trace.failed);
      return;
    }
    Trace.keep({sel: number});
    if (number !== null && reveal)
      this.reveal(TraceData.of(number));
  },
  revealTime(one) {
    const wide = this.to - this.from, begin = one.begin - this.shiftOf(one), end = begin + one.length;
    if (one.length > wide)
      this.fitEvent();
    else if (begin < this.from || end > this.to)
      this.show(begin + one.length / 2 - wide / 2, begin + one.length / 2 + wide / 2);
  },
  hit(by) {
    if (!TraceData.hits)
      return;
    const one = this.one(), next = TraceData.nextHit(one && one.number, one ? one.begin : by > 0 ? this.from - 1 : this.to + 1, by);
    if (next !== null)
      this.select(next, true);
  },
  /* To the sides and with ctrl: true. Down and up is the page's, or the section's. */
  wheeled(e) {
    const size = e.deltaMode === 1 ? 16 : e.deltaMode === 2 ? 400 : 1, dx = e.deltaX * size, dy = e.deltaY * size;
    if (e.ctrlKey || e.metaKey)
      this.zoom(Math.exp(Math.max(-200, Math.min(200, dy)) / 300), this.timeAt(Math.max(this.drawing.left, e.offsetX)));
    else if (e.shiftKey || Math.abs(dx) > Math.abs(dy)) {
      const by = (dx || dy) / this.drawing.scale;
      this.show(this.from + by, this.to + by);
    } else
      return dy;
    e.preventDefault();
    return 0;
  },
  keyed(e) {
    const at = this.pointer ? this.timeAt(Math.max(this.drawing.left, this.pointer.x)) : undefined;
    const does = {
      a: () => this.pan(-0.1),
      d: () => this.pan(0.1),
      w: () => this.zoom(1 / 1.25, at),
      s: () => this.zoom(1.25, at),
      f: () => this.fitEvent(),
      0: () => this.home(),
      m: () => this.mark(),
      n: () => this.hit(1),
      p: () => this.hit(-1),
      '/': () => this.search(),
      '?': () => this.help(),
      Escape: () => this.back(),
      Enter: () => this.enter(),
      ArrowLeft: () => this.beside(-1),
      ArrowRight: () => this.beside(1),
      ArrowUp: () => this.climb(-1),
      ArrowDown: () => this.climb(1)
    }[e.key.length === 1 ? e.key.toLowerCase() : e.key];
    if (!does || e.ctrlKey || e.metaKey || e.altKey)
      return;
    e.preventDefault();
    does();
  },
  mark() {
    const one = this.one();
    if (one && one.length > 0)
      Trace.keep({range: `${one.begin}-${one.begin + one.length}`});
  },
  first() {
    const rows = this.drawing.rows.filter(r => r.tracks.length), row = rows.find(r => r.rank === this.rank) || rows[0],
          number = row ? TraceData.nearest(row.tracks[0], 0, (this.from + this.to) / 2 + row.shift) : null;
    if (number !== null)
      this.select(number, true);
  },
  beside(by) {
    const one = this.one(), number = one && TraceData.beside(one.trackNumber, one.depth, one.begin, by);
    if (!one)
      this.first();
    else if (number !== null)
      this.select(number, true);
  },
  /* In an opened rank over the depths, then to the next row; in a closed one, which has one row for them, to the next rank. */
  climb(by) {
    const one = this.one(), d = this.drawing;
    if (!one) {
      this.first();
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
      const {tracks: [track], flat} = d.rows[k], time = one.begin - row.shift + d.rows[k].shift;
      if (track !== undefined)
        number = (flat ? TraceData.nearest(track, one.depth, time) : null) ?? TraceData.nearest(track, 0, time);
    }
    if (number !== null)
      this.select(number, true);
  },
  /* Where the middle of an event is on the screen. */
  middleOf(number) {
    const at = this.drawing.place(number), box = this.drawing.canvas.getBoundingClientRect();
    return at && {x: box.left + (at.begin + at.end) / 2, y: box.top + at.y};
  },
};

Object.assign(Trace, TraceMove, {
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
    const d = Trace.drawing, dy = Trace.wheeled(e);
    if (!dy)
      return;
    const scroll = Math.max(0, Math.min(d.scroll + dy, d.total + TRACE.head - d.height)); /* at the ends the page scrolls */
    if (scroll !== d.scroll) {
      e.preventDefault();
      d.scroll = scroll;
      Trace.later();
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
  search() {
    Trace.input.focus();
  },
  help() {
    Trace.keys.open = !Trace.keys.open;
  },
  back() {
    Trace.keep({sel: '', range: ''});
  },
  /* Without an event: the selected rank. */
  enter() {
    const one = Trace.one();
    Trace.toggle(one ? one.rank : Pod.worker.rank[Select.worker]);
  },
});
