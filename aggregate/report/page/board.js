/* The first screen's charts: strip of steps, heat map and timeline, which share rows, columns and the selection (select.js).
 * Rows are ranks; of more than 64 the late ones by name, then percentiles over ranks. */
'use strict';

const REGIME = {
  u: {name: 'usual', colour: '--usual'},
  p: {name: 'periodic', colour: '--periodic'},
  o: {name: 'one-off', colour: '--attention'},
  s: {name: 'start-up', colour: '--usual'},
  b: {name: 'before the change', colour: '--before'}
};

const Board = {
  most: 64,  /* ranks with rows of their own */
  named: 8,  /* of more ranks */
  few: 4,    /* fewer steps have no heat map */
  column: 3, /* least width of a column */
  axis: 18,  /* height below the rows */
  bands: ['shortest', '25 % of ranks', 'median rank', '75 % of ranks', 'longest other'],
  rows: [],    /* {worker, name, late, weight}, of percentiles {band, worker} too; band: index into Board.bands */
  y: [],       /* edges of the rows in points, one more than rows */
  order: [],   /* workers of the rows */
  regime: [],  /* letter of each shown step */
  most_ns: [], /* slowest rank of each shown step */

  start() {
    const box = document.getElementById('board');
    if (!Pod.cell.steps || !Pod.workers) {
      box.replaceChildren(el('p', {class: 'missing', id: 'no-steps'}, 'No rank has a complete step: there is nothing to draw.'));
      box.classList.add('none');
      return;
    }
    Board.readSteps();
    Board.chooseRows();
    box.classList.toggle('alone', Pod.workers === 1);
    box.classList.toggle('short', Board.isFew());
    for (const id of ['strip', 'heat'])
      Board.listen(document.getElementById(id));
    Heat.start();
    Mix.start();
    Board.copies();
    Board.timeline()?.start(document.getElementById('lanes'));
    for (const d of document.querySelectorAll('details[data-find]'))
      d.addEventListener('toggle', () => Board.opened(d));
    document.addEventListener('keydown', e => {
      if (e.key !== 'Escape' || e.defaultPrevented || e.target.closest?.('input, select, textarea'))
        return;
      Mix.forgetBand();
      Select.open(0);
    });
    for (const name of ['pointerup', 'pointercancel'])
      document.addEventListener(name, () => Board.dropped());
    new ResizeObserver(() => Board.resized()).observe(Board.shared());
    Board.ready = true;
  },
  /* The box of the rows: they are as high as the window allows. */
  shared() {
    return document.getElementById(Pod.workers > 1 ? 'heat' : 'lanes');
  },
  resized() {
    if (Board.ready && Board.shared().clientHeight !== Board.tall && !Pod.printing)
      Board.draw();
  },
  /* A button beside each command. */
  copies() {
    for (const code of document.querySelectorAll('#next code')) {
      const button = el('button', {
        type: 'button',
        class: 'copy',
        onclick: () => navigator.clipboard?.writeText(code.textContent)
                           .then(() => button.textContent = 'Copied',
                               () => {
                                 getSelection().selectAllChildren(code); /* to be copied by hand */
                               })
      },
          'Copy');
      code.after(button);
    }
  },
  opened(d) {
    const n = +d.dataset.find;
    if (!Board.ready || Pod.printing || d.open === (n === Select.find))
      return;
    Select.open(d.open ? n : 0);
  },

  /* What draws the selected steps in the same rows. */
  timeline() {
    return typeof Tracks === 'undefined' ? null : Tracks;
  },
  isFew() {
    return Pod.cell.steps < Board.few;
  },
  isSmall() {
    return innerWidth < 761;
  },
  isLarge() {
    return Pod.workers > Board.most;
  },
  /* Of a step that is shown and of those behind it that are not, the rarest regime and the longest time. */
  readSteps() {
    const {stride} = Pod.cell, letters = Pod.step.regime || '', all = Pod.step.max_ns;
    for (let s = 0; s < Pod.cell.steps; s++) {
      const here = letters.slice(s * stride, (s + 1) * stride);
      Board.regime.push(Board.rarest(here) || 'u');
      let most = -1;
      for (let i = s * stride; i < Math.min((s + 1) * stride, Pod.step.n); i++)
        most = Math.max(most, all[i] ?? -1);
      Board.most_ns.push(most);
    }
  },
  rarest(letters) {
    return ['o', 'p', 's', 'b', 'u'].find(k => letters.includes(k));
  },
  isUsual(s) {
    return Board.regime[s] === 'u';
  },
  /* The usual step that the facts name; where none is known the median of all. */
  usual() {
    const {usual_ns} = Pod.finding[0] || Pod.answer;
    return usual_ns > 0 ? usual_ns : quartile([...Board.most_ns].filter(v => v >= 0).sort((a, b) => a - b), 2);
  },
  lateRanks() {
    const first = Pod.finding[0];
    return first ? first.ranks || [] : Pod.answer.gain_rank >= 0 ? [Pod.answer.gain_rank] : [];
  },
  chooseRows() {
    const late = new Set(Board.lateRanks().map(r => Pod.rank_of.get(r)).filter(w => w !== undefined)), plain = Pod.workers < 9;
    const row = w =>
        ({worker: w, name: (plain && !Board.isSmall() ? 'rank ' : '') + Pod.worker.rank[w], late: late.has(w), weight: 1});
    if (!Board.isLarge()) {
      Board.rows = Array.from({length: Pod.workers}, (unused, w) => row(w));
      for (const r of Board.rows)
        if (Pod.workers > 24 && r.late)
          r.weight = 3.4;
    } else {
      const others = Pod.finding.flatMap(f => f.ranks || []).map(r => Pod.rank_of.get(r)).filter(w => w !== undefined),
            list = [...new Set([...late, ...others])].slice(0, Board.named);
      Board.late = new Set(list);
      if (Select.worker >= 0 && !Board.late.has(Select.worker) && !Board.bandWorkers().includes(Select.worker))
        list.push(Select.worker);
      Board.rows = list.map(w => ({...row(w), name: 'rank ' + Pod.worker.rank[w], weight: 0.65}));
      for (let band = 4; band >= 0; band--)
        Board.rows.push({worker: Board.bandWorkers()[band], name: Board.bands[band], band, late: false, weight: 1});
    }
    Board.order = Board.rows.map(r => r.worker);
  },
  /* Of each percentile the real rank nearest to it, in what the ranks do themselves; the timeline draws it. */
  bandWorkers() {
    const given = Pod.board && Pod.board.band_rank;
    if (!Board.near) {
      const n = Board.byWork().length,
            own = [0, (n - 1) >> 2, (n - 1) >> 1, n - 1 - ((n - 1) >> 2), n - 1].map(i => Board.byWork()[i]),
            isOther = w => w !== undefined && !Board.late.has(w);
      Board.near = own.map((w, k) => given && isOther(Pod.rank_of.get(given[k])) ? Pod.rank_of.get(given[k]) : w);
    }
    return Board.near;
  },
  /* Ranks without a name of their own, by their time without waiting. */
  byWork() {
    if (!Board.sorted) {
      const own = w => (Pod.worker.step_ns[w] - (Pod.worker.wait_ns[w] || 0)) / Math.max(1, Pod.worker.steps[w]);
      Board.sorted = Array.from({length: Pod.workers}, (unused, w) => w)
                         .filter(w => !Board.late.has(w) && Pod.worker.steps[w] > 0)
                         .map(w => [own(w), w])
                         .sort((a, b) => a[0] - b[0] || a[1] - b[1])
                         .map(p => p[1]);
    }
    return Board.sorted;
  },
  rowOf(worker) {
    return Board.rows.findIndex(r => r.worker === worker);
  },
  /* How many rows the board has room for; of a single rank by its threads and streams, two to a row. */
  room() {
    if (Pod.workers === 1)
      return Math.max(1, Math.min(10, Pod.timeline ? Pod.timeline.track.length : 1) / 2);
    return Board.isTall() ? 99 : Board.rows.length;
  },
  isTall() {
    return Board.isLarge() || Board.isFew() || Array.from(Pod.worker.devices || []).some(n => n > 0);
  },

  /* Where the columns are: the same in the strip and the heat map. */
  place(width) {
    const left = Board.isLarge() ? (Board.isSmall() ? 88 : 112)
        : Board.isSmall()        ? 34
                                 : 62,
          right = Board.isFew() ? 0
        : Board.isSmall()       ? 68
                                : 80,
          all = Math.max(40, width - left - right), wide = Board.isFew() ? Math.min(all, 64 * Pod.cell.steps) : all;
    return {left, right, wide, x: s => left + wide * s / Pod.cell.steps};
  },
  placeRows(height) {
    const sum = Board.rows.reduce((n, r) => n + r.weight, 0), tall = Math.max(1, height - Board.axis);
    Board.y = [0];
    for (const r of Board.rows)
      Board.y.push(Board.y[Board.y.length - 1] + tall * r.weight / sum);
  },
  /* Columns of a chart: [first, behind the last] step. One step each, or several where a step would be too narrow. */
  columns(wide, steps = Pod.cell.steps) {
    const n = Math.min(steps, Math.max(1, Math.floor(wide / Board.column)));
    return Array.from({length: n}, (unused, i) => [Math.floor(steps * i / n), Math.floor(steps * (i + 1) / n)]);
  },
  canvas(box, label) {
    let canvas = box.querySelector('canvas');
    if (!canvas)
      box.replaceChildren(canvas = el('canvas', {tabindex: '0', role: 'application', 'aria-roledescription': 'chart'}));
    canvas.setAttribute('aria-label', label);
    const ratio = devicePixelRatio || 1, width = box.clientWidth, height = box.clientHeight, c = canvas.getContext('2d');
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.font = '11px ' + css('--font');
    c.textBaseline = 'middle';
    return {c, width, height};
  },
  frame(c, x, y, width, height) {
    const wide = Math.max(4, width), left = x - (wide - width) / 2;
    c.strokeStyle = css('--accent');
    c.lineWidth = 1.5;
    c.strokeRect(left + 0.75, y + 0.75, wide - 1.5, height - 1.5);
    c.lineWidth = 1;
  },
  hatch(c, colour) {
    const size = 6, tile = el('canvas', {width: size, height: size}), t = tile.getContext('2d');
    t.fillStyle = colour;
    t.fillRect(0, 0, size, size);
    t.strokeStyle = css('--ground');
    t.lineWidth = 1.6;
    t.beginPath();
    for (const shift of [-size, 0, size]) {
      t.moveTo(shift, size);
      t.lineTo(shift + size, 0);
    }
    t.stroke();
    return c.createPattern(tile, 'repeat');
  },

  draw() {
    if (!Board.ready)
      return;
    Board.chooseRows();
    const box = document.getElementById('board');
    box.style.setProperty('--rows', Board.room());
    Board.tall = Board.shared().clientHeight;
    Board.placeRows(Board.tall);
    Board.title();
    Strip.draw();
    if (Pod.workers > 1)
      Heat.draw();
    Mix.draw();
    Board.say(Select.from, Select.worker);
    Board.timeline()?.draw();
    Board.timeline()?.legend(document.getElementById('lanes-legend'));
    for (const d of document.querySelectorAll('details[data-find]'))
      if (Pod.printing) {
        d.removeAttribute('name');
        d.open = true;
      } else {
        d.setAttribute('name', 'find');
        d.open = +d.dataset.find === Select.find;
      }
  },
  steps() {
    const [a, b] = [Pod.stepShown[Select.from], Pod.stepShown[Select.to]];
    return a === b ? `step ${a}` : `steps ${a}\u2013${b}`;
  },
  title() {
    const kinds = [...new Set(Board.regime.slice(Select.from, Select.to + 1))].map(k => REGIME[k].name).join(', '),
          chosen = Pod.workers > 2 ? `${Pod.workerName(Select.worker)} selected` : '',
          isApart = Pod.workers > 1 && new Set(Pod.worker.domain).size > 1,
          bands = Board.rows.filter(r => r.band !== undefined).map(r => Format.count(Pod.worker.rank[r.worker]));
    document.getElementById('lanes-bar')
        .replaceChildren(
            el('b', {}, (Pod.timeline ? 'Timeline of ' : 'S') + (Pod.timeline ? Board.steps() : Board.steps().slice(1))),
            el('span', {}, [Pod.step.regime && !Board.isFew() ? kinds : '', chosen].filter(t => t).join(', ')),
            isApart ? el('span', {class: 'warn'}, 'no common clock: do not compare times of two ranks')
                : !Pod.timeline || Pod.workers < 2 ? ''
                : bands.length                     ? el('span', {class: 'wide'}, 'bands: ranks ' + bands.join(', '))
                                                   : el('span', {class: 'wide'}, 'ranks in the order of the heat map'));
  },
  /* The fixed line: values of one step of one rank. */
  say(s, w) {
    const row = Board.rows[Board.rowOf(w)], band = row && row.band !== undefined ? ` (nearest to: ${row.name})` : '',
          kind = Pod.step.regime && !Board.isFew() ? ` (${REGIME[Board.regime[s]].name})` : '',
          head = el('b', {}, `step ${Pod.stepShown[s]}${kind}, ${Pod.workerName(w)}`), line = document.getElementById('say');
    line.replaceChildren(head, band + ': ' + Mix.words(s, w));
  },

  /* Pointer and keys: the same in the strip and the heat map. */
  listen(box) {
    box.addEventListener('pointerdown', e => {
      const at = Board.under(box, e);
      if (!at || e.button)
        return;
      if (at.isName) {
        Select.set({worker: Board.rows[at.row].worker});
      } else {
        Board.drag = {...at, moved: false};
        box.setPointerCapture(e.pointerId);
        Board.choose({
          from: at.step,
          to: at.step,
          ...at.row >= 0 &&
              {
                worker: Board.rows[at.row].worker
              }
        });
      }
      if (at.row >= 0 && Board.rows[at.row].band !== undefined)
        Mix.listBand(Board.rows[at.row].band);
    });
    box.addEventListener('pointermove', e => {
      const at = Board.under(box, e), drag = Board.drag;
      if (!at)
        return;
      if (drag && e.buttons && (drag.moved || at.first !== drag.first)) {
        drag.moved = true;
        Board.choose({from: Math.min(at.first, drag.first), to: Math.max(at.last, drag.last)});
      } else {
        Board.say(at.step, at.row >= 0 ? Board.rows[at.row].worker : Select.worker);
      }
    });
    box.addEventListener('pointerleave', () => Board.say(Select.from, Select.worker));
    box.addEventListener('keydown', e => Board.key(e, box));
  },
  /* What is under the pointer: a column with its first and last step, the step that it shows, and of the heat map the row. Beside
   * the columns is the row's name; a drag that leaves them stays at their end. */
  under(box, event) {
    const rect = box.getBoundingClientRect(), {left, wide} = Board.place(rect.width), last = Pod.cell.steps - 1,
          isHeat = box.id === 'heat', y = event.clientY - rect.top,
          row = isHeat ? Board.rows.findIndex((r, i) => y >= Board.y[i] && y < Board.y[i + 1]) : -1,
          found = Math.floor((event.clientX - rect.left - left) / wide * Pod.cell.steps),
          at = Board.drag ? Math.max(0, Math.min(last, found)) : found, isBeside = at < 0 || at > last;
    if (isHeat && row < 0 && !Board.drag)
      return null;
    if (isHeat && (isBeside || Board.isFew()))
      return {
        step: Board.isFew() ? Heat.fewStep(Math.max(0, row), y) : Select.from,
        first: Select.from,
        last: Select.to,
        row,
        isName: isBeside && !Board.isFew()
      };
    if (isBeside)
      return null;
    const [first, behind] = Board.columns(wide).find(c => at >= c[0] && at < c[1]);
    return {first, last: behind - 1, step: row >= 0 ? Heat.shown(row, first, behind) : Strip.shown(first, behind), row};
  },
  /* While a pointer drags, only the board is drawn again. */
  choose(change) {
    if (Board.drag) {
      Object.assign(Select, change);
      Board.change = {...Board.change, ...change};
      Board.soon = Board.soon || requestAnimationFrame(() => {
        Board.soon = 0;
        Board.draw();
      });
    } else {
      Select.set(change);
    }
  },
  dropped() {
    const change = Board.change;
    Board.drag = Board.change = null;
    if (change)
      Select.set(change);
  },
  key(event, box) {
    if (event.ctrlKey || event.metaKey || event.altKey)
      return;
    const last = Pod.cell.steps - 1, {from, to} = Select, size = to - from, key = event.key,
          by = {ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -last, End: last}[key],
          down = {ArrowUp: -1, ArrowDown: 1}[key];
    const clip = (v, low, high) => Math.max(low, Math.min(high, v));
    if (by && event.shiftKey)
      Select.set({from, to: clip(to + by, from, last)});
    else if (by)
      Select.set({from: clip(from + by, 0, last - size), to: clip(from + by, 0, last - size) + size});
    else if (down && box.id)
      Select.set({worker: Board.rows[clip(Board.rowOf(Select.worker) + down, 0, Board.rows.length - 1)].worker});
    else
      return;
    event.preventDefault();
  },
};
