/* The first screen's charts of podprof diff: step times of each run on one scale, and what the usual step of each rank consists
 * of, the last run against A. Steps of two runs do not correspond, so columns are parts of the step. Data:
 * launchers/diff/board.c. */
'use strict';

const Runs = {
  left: 62,
  list: [], /* {run, steps, most_ns, regime, number, usual_ns, change, count} */

  start(data) {
    Runs.list = data.runs.map(r => ({...r, most_ns: Array.from(r.ns, v => v ?? -1)}));
    document.getElementById('strips').replaceChildren(...Runs.list.map(r => Runs.box(r)));
    document.getElementById('board').style.setProperty('--runs', Runs.list.length);
  },
  box(r) {
    const box = r.box = el('div', {class: 'plot run'});
    box.addEventListener('pointermove', e => Runs.say(r, Runs.under(r, e)));
    box.addEventListener('pointerleave', () => Grid.say());
    box.addEventListener('keydown', e => Runs.key(r, e));
    return box;
  },
  draw() {
    const usual = Math.max(...Runs.list.map(r => r.usual_ns)), most = Math.max(...Runs.list.map(r => Math.max(...r.most_ns)));
    /* As in report.html the axis ends where exceptional steps would make the usual ones flat. */
    const top = Math.max(1, Math.min(most, usual > 0 ? usual * Strip.reach : most) * 1.04);
    Runs.list.forEach(r => Runs.strip(r, top));
    Runs.legend();
  },
  /* Columns are equally wide in all strips, where the runs are not much longer than one another. */
  place(r, width) {
    const all = Math.max(40, width - Runs.left), longest = Math.max(...Runs.list.map(k => k.steps)),
          shortest = Math.min(...Runs.list.map(k => k.steps)), wide = shortest * 4 >= longest ? all * r.steps / longest : all;
    return {left: Runs.left, right: 0, wide, x: s => Runs.left + wide * s / r.most_ns.length};
  },
  strip(r, top) {
    const {c, width, height} = Board.canvas(r.box, Runs.label(r)), place = Runs.place(r, width), tall = height - Strip.head,
                     y = v => height - tall * Math.min(v, top) / top, cut = Strip.bars(c, place, y, top, height, r);
    if (r.usual_ns > 0)
      Strip.usual(c, place, y(r.usual_ns), r.usual_ns);
    if (r.change !== null)
      Strip.changeAt(c, place, height, Math.max(0, r.number.findIndex(n => n >= r.change)), r.change);
    Strip.values(c, cut);
    c.textAlign = 'left';
    c.fillStyle = css('--ink');
    c.font = '600 14px ' + css('--font');
    c.fillText(r.run, 0, 9);
  },
  kinds(r) {
    return ['s', 'b', 'u', 'p', 'o'].filter(k => r.count[k]).map(k => `${Format.count(r.count[k])} ${REGIME[k].name}`).join(', ');
  },
  label(r) {
    return `Step time of the slowest rank in ${r.run}, ${Format.count(r.steps)} steps: ${Runs.kinds(r)}; usual ${
        Format.time(r.usual_ns)}. Arrow keys read the steps.`;
  },
  legend() {
    const count = k => Runs.list.filter(r => r.count[k]).map(r => `${r.run} ${Format.count(r.count[k])}`).join(', '),
          kinds = ['s', 'b', 'u', 'p', 'o'].filter(k => Runs.list.some(r => r.count[k]));
    document.getElementById('strip-bar')
        .replaceChildren(el('b', {}, 'Step time'), ...kinds.map(k => Strip.key(k, `${REGIME[k].name}: ${count(k)}`)),
            Shown.runs_left ? el('span', {}, `${Shown.runs_left} sessions between are not drawn`) : '');
  },
  under(r, e) {
    const rect = r.box.getBoundingClientRect(), {left, wide} = Runs.place(r, rect.width),
          at = Math.floor((e.clientX - rect.left - left) / wide * r.most_ns.length);
    if (at < 0 || at >= r.most_ns.length)
      return -1;
    const [first, behind] = Board.columns(wide, r.most_ns.length).find(c => at >= c[0] && at < c[1]);
    return Strip.shown(first, behind, r);
  },
  say(r, s) {
    if (s < 0)
      return Grid.say();
    document.getElementById('say').replaceChildren(
        el('b', {}, `${r.run}, step ${r.number[s]} (${REGIME[r.regime[s]].name})`), ': ' + Format.time(r.ns[s]) + ', slowest rank');
  },
  key(r, e) {
    const by = {ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity}[e.key];
    if (!by || e.ctrlKey || e.metaKey || e.altKey)
      return;
    r.at = Math.max(0, Math.min(r.most_ns.length - 1, (r.at ?? -Math.sign(by)) + by));
    Runs.say(r, r.at);
    e.preventDefault();
  },
};

/* Ranks down, parts of the usual step across. */
const Grid = {
  most: 64, /* ranks with a row */
  foot: 4,
  rows: [], /* indexes into the ranks of the data, in order of their numbers */
  row: 0,
  column: 0,

  start(data) {
    const {rank, column} = data;
    Grid.rows = Array.from({length: Math.min(Grid.most, rank.length)}, (unused, i) => i).sort((a, b) => rank[a] - rank[b]);
    Grid.choose(column);
    Grid.end = Grid.scaleEnd();
    document.getElementById('board').style.setProperty('--rows', Grid.rows.length);
    const box = document.getElementById('heat');
    if (!Grid.rows.length) {
      box.replaceWith(el('p', {class: 'missing'}, 'No rank is in all sessions: ranks cannot be compared one by one.'));
      return;
    }
    box.addEventListener('pointermove', e => Grid.say(...Grid.under(e)));
    box.addEventListener('pointerleave', () => Grid.say());
    box.addEventListener('pointerdown', e => Grid.select(...Grid.under(e)));
    box.addEventListener('keydown', e => Grid.key(e));
    Grid.about();
  },
  /* The rank that changed other than the others, else the one that changed most; waiting counts less, as others cause it. */
  choose(columns) {
    const named = Grid.rows.findIndex(r => Diff.ranks_changed[0] && Shown.rank[r] === Diff.ranks_changed[0].rank),
          size = (i, r) => Grid.change(i, r) ? Math.abs(Grid.change(i, r)) * (columns[i].name === 'waiting' ? 0.5 : 1) : 0;
    Grid.row = Math.max(0, named < 0 ? Grid.rows.indexOf(0) : named);
    const rank = Grid.rows[Grid.row] ?? 0;
    Grid.column = columns.reduce((best, k, i) => i && size(i, rank) > (best ? size(best, rank) : 0) ? i : best, 0);
  },
  /* NaN: unknown in one of the two. */
  change(column, rank) {
    const {a_ns, b_ns} = Shown.column[column];
    return a_ns[rank] === null || b_ns[rank] === null ? NaN : b_ns[rank] - a_ns[rank];
  },
  isNoise(column, rank) {
    const noise = Shown.column[column].noise_ns[rank];
    return noise === null || !(Math.abs(Grid.change(column, rank)) > noise);
  },
  /* The strongest colour: the largest change, at least 5 % of the step. */
  scaleEnd() {
    const all = Shown.column.flatMap((k, i) => Grid.rows.map(r => Math.abs(Grid.change(i, r)))).filter(v => v >= 0),
          end = Math.max(1, 0.05 * Runs.list[0].usual_ns, ...all), tens = 10 ** Math.floor(Math.log10(end)) / 2;
    return Math.ceil(end / tens - 0.02) * tens;
  },
  /* Inside the noise pale, outside never. */
  part(column, rank) {
    const v = Math.max(-1, Math.min(1, Grid.change(column, rank) / Grid.end));
    return Grid.isNoise(column, rank) ? v * 0.2 : Math.sign(v) * Math.max(0.3, Math.abs(v));
  },
  name(rank) {
    const other = Shown.other_rank[rank];
    return 'rank ' + Shown.rank[rank] + (other === Shown.rank[rank] ? '' : ` (in ${LAST} ${other})`);
  },
  words(column, rank) {
    const k = Shown.column[column], change = Grid.change(column, rank), noise = k.noise_ns[rank],
          time = v => v === null ? 'unknown' : Format.time(v);
    return `${time(k.a_ns[rank])} in A, ${time(k.b_ns[rank])} in ${LAST}` +
        (Number.isNaN(change) ? '' : `: ${signed(change)} per usual step, `) +
        (Number.isNaN(change)    ? ''
                : noise === null ? 'too few steps to know the noise'
                                 : `${Grid.isNoise(column, rank) ? 'inside' : 'outside'} the noise of ${Format.time(noise)}`);
  },
  say(row = Grid.row, column = Grid.column) {
    if (!Grid.rows.length)
      return;
    const rank = Grid.rows[row];
    document.getElementById('say').replaceChildren(
        el('b', {}, `${Grid.name(rank)}, ${Shown.column[column].name}`), ': ' + Grid.words(column, rank));
  },
  about() {
    const left = Shown.ranks - Grid.rows.length, only = (ranks, run) => ranks ? `ranks ${ranks} of ${run}` : '',
          lone = [only(Diff.only_in_first, 'A'), only(Diff.only_in_last, LAST)].filter(t => t).join(' and ');
    document.getElementById('about').textContent = 'Columns are parts of the usual step, not steps: a step of one session has no ' +
        'counterpart in another.' +
        (left > 0 ? ` The ${Grid.rows.length} most changed ranks; ${Format.count(left)} are not drawn.` : '') +
        (lone ? ` Not compared one by one: ${lone}.` : '');
  },
  place(width, height) {
    const left = Runs.left, n = Shown.column.length, gap = 6, wide = Math.max(8, (width - left - gap) / n);
    return {
      left,
      wide,
      head: Grid.head,
      gap,
      x: i => left + wide * i + (i ? gap : 0),
      tall: (height - Grid.head - Grid.foot) / Grid.rows.length
    };
  },
  under(e) {
    const rect = document.getElementById('heat').getBoundingClientRect(),
          {left, wide, head, gap, tall} = Grid.place(rect.width, rect.height), x = e.clientX - rect.left - left,
          clip = (v, n) => Math.max(0, Math.min(n - 1, Math.floor(v)));
    return [
      clip((e.clientY - rect.top - head) / tall, Grid.rows.length), clip(x < wide ? 0 : (x - gap) / wide, Shown.column.length)
    ];
  },
  select(row, column) {
    Grid.row = row;
    Grid.column = column;
    Grid.draw();
  },
  key(e) {
    const [down, right] = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]}[e.key] || [];
    if (down === undefined || e.ctrlKey || e.metaKey || e.altKey)
      return;
    const clip = (v, n) => Math.max(0, Math.min(n - 1, v));
    Grid.select(clip(Grid.row + down, Grid.rows.length), clip(Grid.column + right, Shown.column.length));
    e.preventDefault();
  },

  draw() {
    if (!Grid.rows.length)
      return;
    const box = document.getElementById('heat'), {c, width, height} = Board.canvas(box, Grid.label());
    Grid.heads(c, width);
    const place = Grid.place(width, height), table = Ramp.table(Ramp.stops().difference);
    const texts = Grid.rows.flatMap(rank => Shown.column.map((k, i) => signed(Grid.change(i, rank))));
    Grid.isWritten = place.tall > 13 && texts.every(t => c.measureText(t).width < place.wide - 6);
    Grid.rows.forEach((rank, r) => Shown.column.forEach((k, i) => Grid.cell(c, place, table, rank, r, i)));
    Grid.names(c, place);
    Board.frame(c, place.x(Grid.column), place.head + place.tall * Grid.row - 0.5, place.wide, Math.max(4, place.tall));
    Grid.legend();
    Grid.say();
  },
  label() {
    return `Heat map: ${Grid.rows.length} ranks (down), ${
               Shown.column.map(k => k.name).join(', ')} (across); colour is the change of ` +
        `the usual step from A to ${LAST}, up to ${
            Format.time(Grid.end)}. Arrow keys move; the table of the differences has the numbers.`;
  },
  /* Names of columns in lines of words; upright where a word is wider than its column. */
  heads(c, width) {
    const names = Shown.column.map(k => k.name.split(' ')), wide = Grid.place(width, 0).wide - 6,
          isUpright = names.flat().some(word => c.measureText(word).width > wide),
          tall = isUpright ? Math.max(...names.map(n => c.measureText(n.join(' ')).width))
                           : 13 * Math.max(...names.map(n => n.length));
    Grid.head = Math.min(130, tall + 12);
    const place = Grid.place(width, 0);
    c.fillStyle = css('--soft');
    names.forEach((words, i) => {
      const x = place.x(i) + place.wide / 2;
      if (isUpright) {
        c.save();
        c.translate(x, Grid.head - 5);
        c.rotate(-Math.PI / 2);
        c.textAlign = 'left';
        c.fillText(words.join(' '), 0, 0, Grid.head - 8);
        c.restore();
      } else {
        c.textAlign = 'center';
        words.forEach((word, k) => c.fillText(word, x, Grid.head - 10 - 13 * (words.length - 1 - k)));
      }
    });
  },
  cell(c, place, table, rank, r, i) {
    const x = place.x(i), y = place.head + place.tall * r, wide = place.wide - 1, tall = place.tall - (place.tall > 8 ? 1 : 0),
          part = Grid.part(i, rank);
    if (Number.isNaN(part)) {
      Heat.absent(c, x, y, wide, tall);
      return;
    }
    const colour = table[Math.round(255 * (0.5 + part / 2))];
    c.fillStyle = `rgb(${colour})`;
    c.fillRect(x, y, wide, tall);
    if (!Grid.isWritten || Grid.change(i, rank) === 0)
      return;
    c.fillStyle = Grid.isNoise(i, rank) ? css('--soft') : Grid.ink(colour);
    c.textAlign = 'center';
    c.fillText(signed(Grid.change(i, rank)), x + wide / 2, y + tall / 2);
  },
  /* White or dark on a colour, what is read better. */
  ink(colour) {
    const [r, g, b] = colour.map(v => ((v / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18 ? '#16191d' : '#ffffff';
  },
  names(c, place) {
    const every = Math.max(1, Math.ceil(12 / place.tall)), changed = new Set(Diff.ranks_changed.map(k => k.rank));
    c.textAlign = 'right';
    let free = -Infinity;
    Grid.rows.forEach((rank, r) => {
      const y = place.head + place.tall * (r + 0.5), isChanged = changed.has(Shown.rank[rank]), isMarked = r === Grid.row;
      if (!isMarked && (r % every || y < free || (Math.abs(r - Grid.row) * place.tall < 12)))
        return;
      free = y + 12;
      if (isMarked) {
        c.fillStyle = css('--ground');
        c.fillRect(0, y - 7, place.left - 3, 14);
      }
      c.fillStyle = css(isChanged ? '--attention' : isMarked ? '--ink' : '--soft');
      c.font = (isMarked || isChanged ? '600 ' : '') + '11px ' + css('--font');
      c.fillText((isChanged ? '\u25b8 ' : '') + (Grid.rows.length < 9 && !Board.isSmall() ? 'rank ' : '') + Shown.rank[rank],
          place.left - 6, Math.max(6, y));
    });
    c.font = '11px ' + css('--font');
  },
  legend() {
    const say = Format.time(Grid.end).replace(/(\.\d*?)0+(?=\D|$)/, '$1').replace(/\.(?=\D|$)/, ''),
          ramp = el('i', {class: 'ramp'});
    ramp.style.background = `linear-gradient(90deg, ${css('--ramp-difference').split(/\s+/).join(', ')})`;
    document.getElementById('heat-bar')
        .replaceChildren(el('b', {}, `Ranks \u00d7 parts of the usual step, ${LAST} against A`),
            el('span', {class: 'key', id: 'heat-scale'}, '\u2212' + say.split(NB)[0], ramp, '+' + say),
            el('span', {class: 'r'}, 'pale: inside the noise'));
  },

  /* The same as numbers, of all ranks that the page has. */
  table() {
    const rank = Shown.rank, n = rank.length,
          part = (k, i) => [{
            name: k.name,
            unit: 'ns',
            what: `Change of ${k.name} of the usual step from A to ${LAST}`,
            get: r => Number.isNaN(Grid.change(i, r)) ? null : Grid.change(i, r),
            show: (r, v) => v === null ? '\u2013'
                : Grid.isNoise(i, r)   ? el('span', {class: 'n'}, signed(v))
                                       : signed(v)
          },
              {...column(`${k.name} A`, 'ns', null, r => k.a_ns[r]), minor: true},
              {...column(`${k.name} ${LAST}`, 'ns', null, r => k.b_ns[r]), minor: true},
              {...column(`${k.name} noise`, 'ns', 'A change of less does not count', r => k.noise_ns[r]), minor: true}];
    return new Table({
      id: 'difference',
      first: 20,
      title: 'Differences of the ranks',
      rows: n,
      columns: [
        column('rank', '', null, r => rank[r]),
        ...(Shown.other_rank.some((o, r) => o !== rank[r])
                ? [column('in ' + LAST, '', 'Its number there', r => Shown.other_rank[r])]
                : []),
        ...Shown.column.map(part).flat()
      ]
    });
  },
};

let Shown = null; /* the board's data, unpacked */
