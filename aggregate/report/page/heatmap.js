/* The heat map: ranks down, steps across, one quantity as colour. Drawn by board.js in its rows and columns.
 * Ramp serves others too. */
'use strict';

const Ramp = {
  /* One hue, faint to strong, so that what is large stands out on either ground; and a diverging one around the middle. */
  stops() {
    const read = name => css(name).split(/\s+/).map(hex => [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16)));
    return {time: read('--ramp-time'), difference: read('--ramp-difference')};
  },
  mix(stops, t) {
    const x = Math.min(1, Math.max(0, t)) * (stops.length - 1), i = Math.min(stops.length - 2, Math.floor(x)), f = x - i;
    return stops[i].map((v, k) => Math.round(v + (stops[i + 1][k] - v) * f));
  },
  /* 256 colours, mixed once. */
  table(stops) {
    return Array.from({length: 256}, (unused, i) => Ramp.mix(stops, i / 255));
  },
};

/* The title of a vertical axis, at the left edge of a canvas. */
function sideTitle(c, text, middle) {
  c.save();
  c.translate(2, middle);
  c.rotate(-Math.PI / 2);
  c.textAlign = 'center';
  c.textBaseline = 'top';
  c.fillStyle = css('--soft');
  c.fillText(text, 0, 0);
  c.restore();
}

/* 1, 2, 5, 10 ...: marks that people count by. */
function roundUp(n) {
  for (let power = 1;; power *= 10)
    for (const m of [1, 2, 5])
      if (m * power >= n)
        return m * power;
}

/* What the heat map shows: for each row of the board a value per step, NaN where there is none. */
const Cells = {
  of(plane, difference) {
    const now = [plane.key, difference, Board.order.join()].join('|');
    if (Cells.now !== now) {
      Cells.now = now;
      Cells.middle = difference ? Cells.percentile(plane, 2) : null;
      Cells.rows =
          Board.rows.map(r => Cells.over(r.band === undefined ? Cells.ofRank(plane, r.worker) : Cells.percentile(plane, r.band)));
      Cells.usual = Cells.rows.map(Cells.usualOf);
      Cells.end = Cells.scaleEnd(plane, difference);
    }
    return Cells;
  },
  over(values) {
    return Cells.middle ? values.map((v, s) => v - Cells.middle[s]) : values;
  },
  ofRank(plane, w) {
    return Float64Array.from({length: Pod.cell.steps}, (unused, s) => Pod.has(plane, s, w) ? Pod.at(plane, s, w) : NaN);
  },
  /* band: 0 least to 4 most of the ranks without a name of their own. */
  percentile(plane, band) {
    const key = plane.key + band, {quantity, bins} = Pod.band || {}, given = quantity && quantity.find(q => q.key === plane.key);
    Cells.kept = Cells.kept || new Map();
    if (!Cells.kept.has(key)) {
      if (given && bins === Pod.step.n && band > 0 && band < 4)
        Cells.kept.set(key, Float64Array.from({length: Pod.cell.steps}, (unused, s) => given.q[band][s * Pod.cell.stride] ?? NaN));
      else if (given && bins === Pod.step.n)
        Cells.ends(plane).forEach((values, k) => Cells.kept.set(plane.key + 4 * k, values));
      else
        Cells.percentiles(plane).forEach((values, k) => Cells.kept.set(plane.key + k, values));
    }
    return Cells.kept.get(key);
  },
  /* Least and most of the ranks without a name of their own. Where the file knows the quartiles nothing is sorted. */
  ends(plane) {
    const least = new Float64Array(Pod.cell.steps).fill(NaN), most = least.slice(), {workers} = Pod, value = plane.data,
          here = Pod.plane.present.data, others = Int32Array.from(Board.byWork()), n = others.length;
    for (let s = 0; s < Pod.cell.steps; s++) {
      let low = Infinity, high = -Infinity;
      for (let i = 0, row = s * workers; i < n; i++) {
        const v = value[row + others[i]];
        if (v === null || here[row + others[i]] !== 1)
          continue;
        low = v < low ? v : low;
        high = v > high ? v : high;
      }
      if (low <= high) {
        least[s] = low;
        most[s] = high;
      }
    }
    return [least, most];
  },
  percentiles(plane) {
    const all = Array.from({length: 5}, () => new Float64Array(Pod.cell.steps)), room = new Float64Array(Pod.workers),
          late = Board.isLarge() ? Board.late : new Set();
    for (let s = 0; s < Pod.cell.steps; s++) {
      let n = 0;
      for (let w = 0; w < Pod.workers; w++)
        if (!late.has(w) && Pod.has(plane, s, w))
          room[n++] = Pod.at(plane, s, w);
      const of = room.subarray(0, n).sort();
      [0, (n - 1) >> 2, (n - 1) >> 1, n - 1 - ((n - 1) >> 2), n - 1].forEach((i, k) => all[k][s] = n ? of[i] : NaN);
    }
    return all;
  },
  usualOf(values) {
    const here = values.filter((v, s) => Board.isUsual(s) && !Number.isNaN(v)),
          of = here.length ? here : values.filter(v => !Number.isNaN(v));
    return of.length ? of.sort()[(of.length - 1) >> 1] : NaN;
  },
  /* The scale ends at the largest usual value of a row, at least 5 % of the step, so that noise stays pale; of values, not of
   * differences, nearly all have a colour of their own. */
  scaleEnd(plane, difference) {
    const known = v => !Number.isNaN(v), size = Cells.usual.filter(known).map(Math.abs), all = [];
    if (!difference)
      for (const row of Cells.rows)
        for (const v of row)
          if (known(v))
            all.push(v);
    const of = Float64Array.from(all).sort(), part = share => of[Math.floor(of.length * share)] || 0,
          floor = plane.unit === 'ns' ? 0.05 * Board.usual() : 0;
    const end = Math.max(floor, ...size, part(0.97) > floor ? part(0.97) : part(0.999)) || Cells.largest() || 1,
          tens = 10 ** Math.floor(Math.log10(end)) / 2;
    return Math.ceil(end / tens - 0.02) * tens;
  },
  largest() {
    return Cells.rows.reduce((most, row) => row.reduce((m, v) => Math.abs(v) > m ? Math.abs(v) : m, most), 0);
  },
};

const Heat = {
  start() {
    const bar = document.getElementById('heat-bar');
    if (Board.isFew()) {
      bar.replaceChildren(el('b', {}, 'Time by category'));
      return;
    }
    const options = (list, scale) =>
              list.map(p => el('option', {value: p.key + '|' + scale}, Heat.name(p, scale === 'difference'))),
          list = Select.quantities();
    Heat.choice = el('select', {
      id: 'board-quantity',
      'aria-label': 'Quantity of the heat map',
      onchange: () => {
        const [colour, scale] = Heat.choice.value.split('|');
        Select.set({colour, scale});
      }
    },
        el('optgroup', {label: 'Over the median of the ranks'}, options(list, 'difference')),
        el('optgroup', {label: 'Value'}, options(list, 'value')));
    Heat.low = el('span');
    Heat.high = el('span');
    Heat.ramp = el('i', {class: 'ramp'});
    Heat.note = el('span', {class: 'r'});
    bar.replaceChildren(el('b', {}, 'Ranks \u00d7 steps'), el('label', {class: 'key'}, 'colour', Heat.choice),
        el('span', {class: 'key', id: 'heat-scale'}, Heat.low, Heat.ramp, Heat.high), Heat.note);
  },
  name(plane, difference) {
    return plane.name + (difference ? ', over median' : '');
  },
  /* Of several steps the one whose cell a column shows. */
  shown(row, first, behind) {
    return Cells.rows && Cells.rows[row] ? Heat.most(Cells.rows[row], first, behind) : first;
  },

  draw() {
    const {plane, difference} = Select, box = document.getElementById('heat');
    if (Board.isFew())
      return Few.draw(box);
    Heat.choice.value = plane.key + '|' + (difference ? 'difference' : 'value');
    if (!Pod.later([Pod.plane.present, plane], () => Board.draw()))
      return;
    const cells = Cells.of(plane, difference), {c, width, height} = Board.canvas(box, Heat.label(cells)),
          place = Board.place(width), columns = Board.columns(place.wide);
    Heat.cells(c, cells, place, columns, width, height);
    Heat.names(c, place);
    Heat.values(c, cells, place);
    Heat.axis(c, place, height);
    const bottom = height - Board.axis;
    Board.frame(c, place.x(Select.from), -2, place.x(Select.to + 1) - place.x(Select.from), bottom + 2);
    Heat.row(c, place.left, place.wide);
    Heat.legend(cells, columns);
  },
  label(cells) {
    const ranks =
        Board.isLarge() ? `${Format.count(Pod.workers)} ranks in ${Board.rows.length} rows` : `${Format.count(Pod.workers)} ranks`;
    return `Heat map: ${Heat.name(Select.plane, Select.difference)}, ${ranks} (down), ${
               Format.count(Pod.cell.steps)} steps (across), ` +
        `up to ${Format.by(Select.plane.unit, cells.end)}. Selected: ${Board.steps()}, ${Pod.workerName(Select.worker)}. ` +
        'Arrow keys move step and rank, with Shift they extend the steps; the table of the selection has the numbers.';
  },
  /* The frame of the selected row, here and in the timeline. */
  row(c, left, wide) {
    const r = Board.rowOf(Select.worker);
    if (r >= 0 && Board.rows.length > 2)
      Board.frame(c, left, Math.max(0, Board.y[r] - 0.5), wide, Math.max(3, Board.y[r + 1] - Board.y[r]));
  },
  /* Kept as a picture: a change of the selection draws only its frame again. */
  cells(c, cells, place, columns, width, height) {
    const now = [Cells.now, width, height, Board.y.join(), document.documentElement.dataset.theme, devicePixelRatio].join('|');
    if (Heat.now !== now) {
      const ratio = devicePixelRatio || 1;
      Heat.now = now;
      Heat.picture = el('canvas', {width: Math.round(width * ratio), height: Math.round(height * ratio)});
      const p = Heat.picture.getContext('2d');
      p.setTransform(ratio, 0, 0, ratio, 0, 0);
      p.font = c.font;
      p.textBaseline = 'middle';
      cells.rows.forEach((values, r) => Heat.cellsOf(p, cells, values, r, place, columns));
    }
    c.drawImage(Heat.picture, 0, 0, width, height);
  },
  cellsOf(c, cells, values, r, place, columns) {
    const ramp = Ramp.stops(), table = Ramp.table(Select.difference ? ramp.difference : ramp.time).map(k => `rgb(${k})`),
          tall = Board.y[r + 1] - Board.y[r], gap = tall > 8 ? 1 : 0, wide = place.wide / columns.length,
          between = wide > 5 ? 1 : 0, y = Board.y[r], worker = Board.rows[r].worker;
    let seen = 0;
    columns.forEach(([first, behind], i) => {
      const v = values[Heat.most(values, first, behind)] / cells.end, x = place.left + wide * i;
      if (Number.isNaN(v)) {
        Heat.absent(c, x, y, wide - between, tall - gap);
        return;
      }
      seen++;
      c.fillStyle = table[Math.max(0, Math.min(255, Math.round(255 * (Select.difference ? 0.5 + v / 2 : v))))];
      c.fillRect(x, y, wide - between, tall - gap);
    });
    if (!seen && tall > 11)
      Heat.missing(c, place, y + tall / 2, worker);
  },
  most(values, first, behind) {
    let best = first;
    for (let s = first + 1; s < behind; s++)
      if (Math.abs(values[s]) > Math.abs(values[best]) || Number.isNaN(values[best]))
        best = s;
    return best;
  },
  /* A crossed cell was not recorded. */
  absent(c, x, y, wide, tall) {
    c.strokeStyle = css('--rule');
    c.beginPath();
    c.moveTo(x, y + (wide > 5 && tall > 5 ? tall : tall / 2));
    c.lineTo(x + wide, y + (wide > 5 && tall > 5 ? 0 : tall / 2));
    c.stroke();
  },
  missing(c, place, y, worker) {
    const status = Pod.worker.status[worker], text = status.startsWith('missing') ? status : 'not recorded',
          wide = c.measureText(text).width;
    c.fillStyle = css('--ground');
    c.fillRect(place.left + 4, y - 7, wide + 8, 14);
    c.fillStyle = css('--soft');
    c.textAlign = 'left';
    c.fillText(text, place.left + 8, y);
  },
  /* Of narrow rows every eighth has its name, and each that is late or selected. */
  names(c, place) {
    const tall = r => Board.y[r + 1] - Board.y[r],
          marked = Board.rows.map((r, i) => r.late || r.worker === Select.worker ? i : -1).filter(i => i >= 0),
          isNear = r => marked.some(i => i !== r && Math.abs(Board.y[i] + tall(i) / 2 - Board.y[r] - tall(r) / 2) < 13);
    c.textAlign = 'right';
    let free = -1;
    Board.rows.forEach((row, r) => {
      const isMarked = marked.includes(r), middle = Board.y[r] + tall(r) / 2;
      if (!isMarked && tall(r) < 11 && (r % 8 || isNear(r)))
        return;
      if (isMarked && middle < free && row.worker !== Select.worker)
        return;
      free = isMarked ? middle + 12 : free;
      c.fillStyle = css(row.late ? '--attention' : isMarked ? '--ink' : '--soft');
      c.font = (isMarked ? '600 ' : '') + '11px ' + css('--font');
      c.fillText((row.late ? '\u25b8 ' : '') + row.name, place.left - 6,
          Math.max(6, Board.isFew() && tall(r) > 40 ? Board.y[r] + 10 : middle));
    });
    c.font = '11px ' + css('--font');
  },
  /* Right of the rows: the usual value of each; below 1 % of the step it is not written. */
  values(c, cells, place) {
    const {plane, difference} = Select, least = plane.unit === 'ns' ? 0.01 * Board.usual() : 0, x = place.left + place.wide + 8;
    cells.usual.forEach((v, r) => {
      const y = Board.y[r], tall = Board.y[r + 1] - y, isWide = tall > 12, isChosen = Board.rows[r].worker === Select.worker;
      if (Number.isNaN(v) || Math.abs(v) < least || (!difference && v === 0))
        return;
      c.fillStyle = css('--usual');
      c.globalAlpha = 0.45;
      c.fillRect(
          x, y + (isWide ? tall - 5 : 0), Math.max(0, v / cells.end * (place.right - 10)), isWide ? 3 : Math.max(1, tall - 1));
      c.globalAlpha = 1;
      if (!isWide && !isChosen)
        return;
      c.font = (isChosen ? '600 ' : '') + '11px ' + css('--font');
      const text = (difference && v > 0 ? '+' : '') + Format.by(plane.unit, v),
            middle = Math.max(7, y + tall / 2 - (isWide ? 2 : 0));
      c.textAlign = 'left';
      if (!isWide) {
        c.fillStyle = css('--ground');
        c.fillRect(x, middle - 7, c.measureText(text).width + 4, 14);
      }
      c.fillStyle = css('--ink');
      c.fillText(text, x, middle, place.right - 8);
    });
    c.font = '11px ' + css('--font');
  },
  axis(c, place, height) {
    const y = height - 7, numbers = Pod.stepShown, wide = c.measureText(String(numbers[numbers.length - 1])).width + 10,
          every = roundUp(Math.ceil(wide / (place.wide / numbers.length)));
    c.fillStyle = css('--soft');
    c.textAlign = 'center';
    let free = place.left - 4;
    numbers.forEach((n, s) => {
      const x = (place.x(s) + place.x(s + 1)) / 2, half = c.measureText(String(n)).width / 2;
      if (n % every || x - half < free || x + half > place.left + place.wide + place.right)
        return;
      free = x + half + 6;
      c.fillText(String(n), x, y);
    });
    c.textAlign = 'left';
    c.fillText('step', Board.isSmall() ? 0 : place.left - 36, y);
  },
  legend(cells, columns) {
    const {plane, difference} = Select,
                  say = v => Format.by(plane.unit, v).replace(/(\.\d*?)0+(?=\D|$)/, '$1').replace(/\.(?=\D|$)/, '');
    Heat.low.textContent = difference ? '\u2212' + say(cells.end).split(NB)[0] : '0';
    Heat.high.textContent = (difference ? '+' : '') + say(cells.end);
    Heat.ramp.style.background =
        `linear-gradient(90deg, ${css(difference ? '--ramp-difference' : '--ramp-time').split(/\s+/).join(', ')})`;
    Heat.note.textContent = columns.length < Pod.cell.steps ? `max of ${Math.ceil(Pod.cell.steps / columns.length)}` : 'usual step';
  },
  /* Of a row with a bar per step: which one is there. */
  fewStep(row, y) {
    const {top, bar} = Few.place(row);
    return Math.max(0, Math.min(Pod.cell.steps - 1, Math.floor((y - top) / bar)));
  },
};

/* Fewer steps than a heat map needs: a row has one bar per step, stacked of its parts; a percentile has those of the rank nearest
 * to it, as parts of several ranks are no step. */
const Few = {
  place(row) {
    const tall = Board.y[row + 1] - Board.y[row], head = tall > 40 ? 20 : 0;
    return {top: Board.y[row] + head, bar: (tall - head - (tall > 40 ? 6 : 0)) / Pod.cell.steps};
  },
  draw(box) {
    if (!Pod.later(Pod.stack(), () => Board.draw()))
      return;
    const label = `Time by category of ${Format.count(Board.rows.length)} rows and ${Pod.cell.steps} steps. ` +
        'Arrow keys move step and rank; the table of the selection has the numbers.';
    const {c, width, height} = Board.canvas(box, label), place = Board.place(width), wide = width - place.left - 42,
                     parts = Board.rows.map(r => Pod.stepShown.map((n, s) => Mix.ofRank(r.worker, s, s))),
                     most = Math.max(1, ...parts.flat().map(list => list.reduce((sum, p) => sum + p.ns, 0)));
    Board.rows.forEach((row, r) => parts[r].forEach((list, s) => Few.bar(c, list, s, r, place.left, wide / most)));
    Heat.names(c, place);
    c.textAlign = 'left';
    c.fillStyle = css('--soft');
    c.fillText('time per step; at the end: the step', place.left, height - 7);
    Heat.row(c, place.left, width - place.left);
  },
  bar(c, list, s, r, left, scale) {
    const {top, bar} = Few.place(r), y = top + s * bar, tall = Math.max(1, bar - (bar > 14 ? 6 : bar > 4 ? 1 : 0));
    let x = left;
    for (const p of list) {
      const wide = p.ns * scale, colour = Pod.colour(p.id), text = Format.time(p.ns);
      c.fillStyle = p.hatched ? Board.hatch(c, colour) : colour;
      c.fillRect(x, y, Math.max(0.5, wide - 1), tall);
      c.fillStyle = css('--edge');
      if (tall > 8)
        c.fillRect(x, y + tall - 1, Math.max(0.5, wide - 1), 1);
      c.textAlign = 'left';
      if (tall > 13 && !p.hatched && wide > c.measureText(text).width + 10) {
        c.fillStyle = Mix.ink(colour);
        c.fillText(text, x + 5, y + tall / 2);
      }
      x += wide;
    }
    c.fillStyle = css(s >= Select.from && s <= Select.to ? '--ink' : '--soft');
    c.font = (s >= Select.from && s <= Select.to ? '600 ' : '') + '11px ' + css('--font');
    c.textAlign = 'left';
    if (tall > 9 && list.length)
      c.fillText(String(Pod.stepShown[s]), x + 8, Math.max(7, y + tall / 2));
    c.font = '11px ' + css('--font');
  },
};
